#include "backends/tile_machine/report/svg_canvas.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace emulsion {
namespace {

// How many bytes the UTF-8 character at `at` has; 0 when there is none that XML allows.
size_t utf8_length(const std::string& text, size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  size_t length = 0;
  uint32_t code = 0;
  if (lead < 0x80) {
    length = 1;
    code = lead;
  } else if (lead >= 0xC2 && lead < 0xE0) {
    length = 2;
    code = lead & 0x1Fu;
  } else if (lead >= 0xE0 && lead < 0xF0) {
    length = 3;
    code = lead & 0x0Fu;
  } else if (lead >= 0xF0 && lead < 0xF5) {
    length = 4;
    code = lead & 0x07u;
  }
  if (length == 0 || at + length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[at + i]);
    if ((next & 0xC0u) != 0x80u) return 0;
    code = code << 6u | (next & 0x3Fu);
  }
  constexpr uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code < 0xE000;
  const bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
  if (code < least[length] || code > 0x10FFFF || surrogate || control || code == 0xFFFE ||
      code == 0xFFFF) {
    return 0;
  }
  return length;
}

}  // namespace

std::string escape_xml(const std::string& text) {
  std::string escaped;
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8_length(text, at);
    if (length == 0) {
      escaped += '?';
    } else if (text[at] == '&') {
      escaped += "&amp;";
    } else if (text[at] == '<') {
      escaped += "&lt;";
    } else if (text[at] == '>') {
      escaped += "&gt;";
    } else if (text[at] == '"') {
      escaped += "&quot;";
    } else if (text[at] == '\'') {
      escaped += "&#39;";
    } else {
      escaped += text.substr(at, length);
    }
    at += std::max<size_t>(1, length);
  }
  return escaped;
}

SvgCanvas::SvgCanvas(double width, double height, const std::string& style) {
  body_ = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\">\n<style>{2}</style>\n",
      width, height, style);
}

void SvgCanvas::rect(double x, double y, double width, double height, const std::string& attributes,
                     const std::string& title) {
  body_ += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" {}", x,
                       y, width, height, attributes);
  body_ += title.empty() ? "/>\n" : "><title>" + escape_xml(title) + "</title></rect>\n";
}

void SvgCanvas::line(double x1, double y1, double x2, double y2, const std::string& attributes) {
  body_ += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1,
                       y1, x2, y2, attributes);
}

void SvgCanvas::text(double x, double y, const std::string& text, const std::string& attributes) {
  body_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, attributes,
                       escape_xml(text));
}

void SvgCanvas::path(const std::string& path, const std::string& attributes) {
  body_ += fmt::format("<path d=\"{}\" {}/>\n", path, attributes);
}

std::string SvgCanvas::finish() const { return body_ + "</svg>\n"; }

}  // namespace emulsion
