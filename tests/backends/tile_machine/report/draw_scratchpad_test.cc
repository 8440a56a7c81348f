#include "backends/tile_machine/report/draw_scratchpad.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/backends/tile_machine/plan/test_programs.h"
#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

ScratchpadReport report_of(int64_t m, int64_t n, int64_t k) {
  return report_scratchpad("y", matmul_program(m, n, k, 32), machine_with(8 * 4096, true));
}

// Whether it is there, without a failure that prints the whole picture.
bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(DrawScratchpad, NamesWhatItShows) {
  const std::string svg = draw_scratchpad(report_of(64, 64, 64));
  EXPECT_TRUE(has(svg, "Scratchpad plan of y"));
  EXPECT_TRUE(has(svg, "<title>load x[0:32, 0:32] at 4096 (first), cycles 0 to 64</title>"));
  EXPECT_TRUE(has(svg, "execute mm: mm[0:32, 0:32] at 0 from x[0:32, 0:32] at 4096"));
  EXPECT_TRUE(has(svg, "waiting for a load"));
}

TEST(DrawScratchpad, EveryUopOfAShortRunIsThere) {
  const ScratchpadReport report = report_of(64, 64, 64);
  const std::string svg = draw_scratchpad(report);
  EXPECT_EQ(count(svg, "<title>load "), static_cast<size_t>(report.plan.counts.loads));
  EXPECT_EQ(count(svg, "<title>execute "), static_cast<size_t>(report.plan.counts.executes));
  EXPECT_EQ(count(svg, "<title>store "), static_cast<size_t>(report.plan.counts.stores));
}

TEST(DrawScratchpad, NeedsNothingElse) {
  const std::string svg = draw_scratchpad(report_of(64, 64, 64));
  for (const char* part : {"href", "<script", "url(", "@import", "<image", "<foreignObject"}) {
    EXPECT_FALSE(has(svg, part)) << part;
  }
  EXPECT_EQ(count(svg, "http"), 1U);  // the name of the format
}

TEST(DrawScratchpad, ALongRunIsASmallFile) {
  const ScratchpadReport report = report_of(512, 512, 512);
  EXPECT_GT(report.plan.uops.size(), 10000U);
  EXPECT_LT(draw_scratchpad(report).size(), 300000U);
}

TEST(DrawScratchpad, ShowsAnotherPart) {
  const ScratchpadReport report = report_of(128, 128, 128);
  const std::string svg = draw_scratchpad(report, {report.timing.total / 2, 10});
  EXPECT_TRUE(has(svg, "In detail: 10 uOps, cycles 3,040 to 3,424"));
  EXPECT_FALSE(has(svg, "<title>load x[0:32, 0:32]"));
}

TEST(DrawScratchpad, ANameIsNeverMarkup) {
  const std::string hostile = "</text><script>x</script>&\"'";
  TileProgramBuilder builder;
  const BufferId x = builder.add_buffer(hostile, 4);
  const BufferId y = builder.add_buffer("y\xFF\x01", 4, true);
  builder.add_execute(hostile, {builder.add_tile(x, {0}, {64})}, builder.add_tile(y, {0}, {64}),
                      false, 0);
  const std::string svg =
      draw_scratchpad(report_scratchpad(hostile, builder.take(), machine_with(4096)));
  EXPECT_FALSE(has(svg, "<script"));
  EXPECT_TRUE(has(svg, "&lt;script&gt;"));
  EXPECT_TRUE(has(svg, "y??"));
}

TEST(DrawScratchpad, ManyBuffersShareAColour) {
  TileProgramBuilder builder;
  const TileId y = builder.add_tile(builder.add_buffer("y", 4, true), {0}, {64});
  for (int i = 0; i < 12; ++i) {
    const BufferId x = builder.add_buffer("x" + std::to_string(i), 4);
    builder.add_execute("f", {builder.add_tile(x, {0}, {64})}, y, i > 0, 1);
  }
  const std::string svg =
      draw_scratchpad(report_scratchpad("y", builder.take(), machine_with(4096)));
  EXPECT_TRUE(has(svg, ">4 others<"));
}

TEST(DrawScratchpad, OfNothingSaysSo) {
  EXPECT_TRUE(has(draw_scratchpad(report_scratchpad("y", {}, machine_with(4096))),
                  "there is nothing to plan"));
}

TEST(DrawScratchpad, RefusesAPartThatIsNotThere) {
  const ScratchpadReport report = report_of(32, 32, 32);
  const std::string last = std::to_string(report.timing.total - 1);
  EXPECT_ERROR(draw_scratchpad(report, {report.timing.total, 10}),
               "first_cycle of a picture: expected from 0 to " + last);
  EXPECT_ERROR(draw_scratchpad(report, {-1, 10}), "got -1");
  EXPECT_ERROR(draw_scratchpad(report, {0, 0}),
               "uops of a picture: expected from 1 to 2000, got 0");
  EXPECT_ERROR(draw_scratchpad(report, {0, 2001}), "got 2001");
}

}  // namespace
}  // namespace emulsion
