#include "backends/tile_machine/report/svg_canvas.h"

#include <gtest/gtest.h>

namespace emulsion {
namespace {

TEST(EscapeXml, MarkupBecomesText) {
  EXPECT_EQ(escape_xml("<script>alert(\"1\" & '2')</script>"),
            "&lt;script&gt;alert(&quot;1&quot; &amp; &#39;2&#39;)&lt;/script&gt;");
  EXPECT_EQ(escape_xml("x[0:32]"), "x[0:32]");
  EXPECT_EQ(escape_xml(""), "");
}

TEST(EscapeXml, ControlCharactersAreNoXml) {
  EXPECT_EQ(escape_xml(std::string("a\0b\n\x1b\x7f", 6)), "a?b???");
  EXPECT_EQ(escape_xml("\xC2\x85"), "??");  // a control character in two bytes
}

TEST(EscapeXml, Utf8Stays) {
  EXPECT_EQ(escape_xml("\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"),
            "\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80");
}

TEST(EscapeXml, WhatIsNoUtf8Goes) {
  EXPECT_EQ(escape_xml("\xFF"), "?");
  EXPECT_EQ(escape_xml("\xC3"), "?");                 // cut short
  EXPECT_EQ(escape_xml("\xC3<"), "?&lt;");            // and does not swallow what follows
  EXPECT_EQ(escape_xml("\xC0\xBC"), "??");            // '<' in two bytes
  EXPECT_EQ(escape_xml("\xE0\x80\xBC"), "???");       // in three
  EXPECT_EQ(escape_xml("\xED\xA0\x80"), "???");       // half of a surrogate pair
  EXPECT_EQ(escape_xml("\xEF\xBF\xBF"), "???");       // U+FFFF
  EXPECT_EQ(escape_xml("\xF4\x90\x80\x80"), "????");  // beyond U+10FFFF
}

TEST(SvgCanvas, IsOneFile) {
  SvgCanvas canvas(100, 50, ".a{fill:#fff}");
  canvas.rect(1, 2, 3, 4.25, "class=\"a\"", "<b>");
  canvas.rect(1, 2, 3, 4, "class=\"a\"");
  canvas.line(0, 0, 10, 10, "class=\"a\"");
  canvas.text(5, 6, "a < b");
  canvas.path("M0 0Z", "fill=\"#123456\"");
  EXPECT_EQ(canvas.finish(),
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100\" height=\"50\" "
            "viewBox=\"0 0 100 50\">\n<style>.a{fill:#fff}</style>\n"
            "<rect x=\"1.0\" y=\"2.0\" width=\"3.0\" height=\"4.2\" "
            "class=\"a\"><title>&lt;b&gt;</title></rect>\n"
            "<rect x=\"1.0\" y=\"2.0\" width=\"3.0\" height=\"4.0\" class=\"a\"/>\n"
            "<line x1=\"0.0\" y1=\"0.0\" x2=\"10.0\" y2=\"10.0\" class=\"a\"/>\n"
            "<text x=\"5.0\" y=\"6.0\" >a &lt; b</text>\n"
            "<path d=\"M0 0Z\" fill=\"#123456\"/>\n"
            "</svg>\n");
}

}  // namespace
}  // namespace emulsion
