// Sums of columns whose vectors would leave a part empty: the axes before the last one are one with
// it. That the loops are those of the longer rows, and that the same is computed.

#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "dsl/graph_text.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

Graph graph_of(const std::string& lines) {
  const bool has_size = lines.find('B') != std::string::npos;
  return parse_graph(std::string("emulsion graph 1\n") + (has_size ? "size B\n" : "") + lines +
                     "\noutput y\n");
}

std::string derived_from(const std::string& lines, const std::string& level = "x86-64-v4") {
  return derived(graph_of(lines), target_of(level, 1));
}

// What is fused of y: "i j"; "" where nothing is.
std::string fused(const std::string& lines) {
  std::smatch found;
  const std::string schedule = derived_from(lines);
  const std::regex fuse("y\\.fuse\\((\\w+), (\\w+), \\w+\\)");
  return std::regex_search(schedule, found, fuse) ? found[1].str() + " " + found[2].str() : "";
}

TEST(ColumnsAsOne, LoopsAreThoseOfLongerRows) {
  const std::string merged = derived_from(
      "input x: f32[807, 20, 3]\ny[n: 400, i: 20, j: 3] = sum(a: 7) x[2 * n + a, i, j]");
  std::string longer =
      derived_from("input x: f32[807, 60]\ny[n: 400, rows: 60] = sum(a: 7) x[2 * n + a, rows]");
  EXPECT_TRUE(has(merged, "y.fuse(i, j, rows)\n")) << merged;
  EXPECT_TRUE(has(merged, "y_acc.fuse(i, j, rows)\n")) << merged;
  EXPECT_EQ(std::regex_replace(merged, std::regex("y\\w*\\.fuse[^\n]*\n"), ""), longer);
}

TEST(ColumnsAsOne, OfSumsThatHaveNoOtherAxes) {
  EXPECT_EQ(fused("input x: i32[300, 13, 12]\ninput s: i32[300]\n"
                  "y[i: 13, j: 12] = sum(n: 300) (x[n, i, j] - s[n])"),
            "i j");
  EXPECT_EQ(fused("input x: f32[200, B, 3, 3]\ny[i: B, j: 3, k: 3] = max(n: 200) x[n, i, j, k]"),
            "j k");
}

// max(k: 4) x[i, j, k] takes every fourth element.
TEST(ColumnsAsOne, OfElementsThatAreALittleApart) {
  EXPECT_EQ(fused("input x: f32[961, 13, 4]\ninput s: f32[4]\n"
                  "y[i: 961, j: 13] = max(k: 4) (x[i, j, k] * s[k])"),
            "i j");
}

TEST(ColumnsAsOne, NotWhereVectorsAreFull) {
  const auto columns = [](const std::string& count) {
    return fused("input x: f32[807, 20, " + count + "]\ny[n: 400, i: 20, j: " + count +
                 "] = sum(a: 7) x[2 * n + a, i, j]");
  };
  EXPECT_EQ(columns("12"), "i j");
  EXPECT_EQ(columns("15"), "") << "of 16";
  EXPECT_EQ(columns("32"), "");
}

TEST(ColumnsAsOne, NotWhereColumnsLieOtherwise) {
  EXPECT_EQ(fused("input x: f32[807, 20, 3]\ninput b: f32[20]\n"
                  "y[n: 400, i: 20, j: 3] = sum(a: 7) x[2 * n + a, i, j] * b[i]"),
            "");
  EXPECT_EQ(fused("input x: f32[807, 42, 3]\n"
                  "y[n: 400, i: 20, j: 3] = sum(a: 7, b: 3) x[2 * n + a, 2 * i + b, j]"),
            "")
      << "not the next row";
  EXPECT_EQ(fused("input x: f32[807, 20, 5]\n"
                  "y[n: 400, i: 20, j: 3] = sum(a: 7, b: 3) x[2 * n + a, i, j + b]"),
            "")
      << "a part of each row";
}

// The pixels of a picture are one row, in which a colour steps over the others.
TEST(ColumnsAsOne, OfWindowsOfWholeRows) {
  EXPECT_EQ(fused("input x: f32[807, 22, 3]\n"
                  "y[n: 400, i: 20, j: 3] = sum(a: 7, b: 3) x[2 * n + a, i + b, j]"),
            "i j");
  for (const std::string colours : {"2", "3", "4"}) {
    EXPECT_EQ(fused("input x: f32[42, 102, " + colours +
                    "]\ninput w: f32[3, 3]\ny[i: 40, j: 100, c: " + colours +
                    "] = sum(a: 3, b: 3) x[i + a, j + b, c] * w[a, b]"),
              "j c");
  }
}

TEST(ColumnsAsOne, WindowsOfWholeRowsComputeTheSame) {
  for (const std::string lines :
       {"input x: u8[9, 72, 3]\ny[i: 7, j: 70, c: 3] = sum(a: 3, b: 3) i32(x[i + a, j + b, c])\n",
        "input x: f32[9, 72, 4]\ny[i: 7, j: 70, c: 4] = max(a: 3, b: 3) x[i + a, j + 2 - b, c]\n",
        "size M\ninput x: f32[9, M + 2, 3]\ninput w: f32[3]\n"
        "y[i: 9, j: M, c: 3] = sum(b: 3) x[i, j + b, c] * w[b]\n",
        "size M\ninput x: u8[9, M + 2, 2]\n"
        "y[i: 9, j: M, c: 2] = sum(b: 3) x[i, j + b, c]\n"}) {
    const Graph graph = parse_graph("emulsion graph 1\n" + lines + "output y\n");
    EXPECT_TRUE(derives_on_all(graph, {0, 1, 5, 16, 37})) << lines;
  }
}

// Its layout is told by its axes.
TEST(ColumnsAsOne, NotOfWhatMayBePacked) {
  const auto product = [](const std::string& kind) {
    return fused("input x: f32[300]\n" + kind +
                 " w: f32[300, 13, 12]\ny[i: 13, j: 12] = sum(n: 300) x[n] * w[n, i, j]");
  };
  EXPECT_EQ(product("input"), "i j");
  EXPECT_EQ(product("weight"), "");
}

// Where run-time sizes choose between these loops and windows that slide.
TEST(ColumnsAsOne, OfOneOfTwoWays) {
  const std::string lines =
      "input x: f32[B, 2, 2]\n"
      "a[i: B, j: 2, k: 2] = sum(r: 3) x[max(min(i + r - 1, B - 1), 0), j, k]\n"
      "y[i: B, j: 2, k: 2] = sum(r: 2) select(i + r < B, a[min(i + r, B - 1), j, k], 0f)";
  const std::string schedule = derived(graph_of(lines), target_of("x86-64-v4", 2));
  EXPECT_TRUE(has(schedule, "y_long.fuse(j, k, rows)\n")) << schedule;
  EXPECT_TRUE(has(schedule, "y_sliding")) << schedule;
  EXPECT_TRUE(derives(graph_of(lines), target_of("x86-64-v4", 2), {0, 1, 5, 33}));
}

// Their fuses come before the loops of one step that the result has besides: what is stored of a
// tile has one axis then.
TEST(ColumnsAsOne, WithAnAxisOfOneStep) {
  const std::string lines =
      "input x: u8[33, 8, 3, 1, 1]\n"
      "y[a: 33, b: 8, c: 3, d: 1] = sum(e: 1) x[a, b, c, d, e]";
  const std::string schedule = derived_from(lines);
  EXPECT_TRUE(has(schedule, "y.fuse(a, rows2, rows)\ny.reorder(rows, d)\n")) << schedule;
  for (const char* const level : kLevels) {
    EXPECT_TRUE(derives(graph_of(lines), target_of(level, 1), {1}));
  }
}

TEST(ColumnsAsOne, ComputeTheSame) {
  const char* const graphs[] = {
      "input x: f32[81, 20, 3]\ny[n: 40, i: 20, j: 3] = sum(a: 2) x[2 * n + a, i, j]",
      "input x: i32[B, 5, 3]\ny[i: 5, j: 3] = sum(n: B) x[n, i, j]",
      "input x: f32[9, B, 3, 3]\ny[i: B, j: 3, k: 3] = max(n: 9) x[n, i, j, k]",
      "input x: f64[B, 13, 4]\ny[i: B, j: 13] = max(k: 4) x[i, j, k]",
  };
  for (const char* const lines : graphs) {
    EXPECT_TRUE(derives_on_all(graph_of(lines), {0, 1, 5, 33})) << lines;
  }
}

}  // namespace
}  // namespace emulsion
