// Sums whose operands lie across the rows of the result: which axis vectors go along, their loops,
// and that the kernels of derived schedules compute the same.

#include "passes/derive/sums_across.h"

#include <gtest/gtest.h>

#include <string>

#include "dsl/graph_text.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

Graph graph_of(const std::string& lines) {
  const bool has_size =
      lines.find("M,") != std::string::npos || lines.find("M]") != std::string::npos;
  return parse_graph(std::string("emulsion graph 1\n") + (has_size ? "size M\n" : "") + lines +
                     "\noutput y\n");
}

// The axis's name; "" where there is none.
std::string across(const std::string& lines, const std::string& level = "x86-64-v4") {
  const Graph graph = graph_of(lines);
  const Op& op = **graph.find("y");
  const auto found = lies_across(op, target_of(level, 1));
  return found ? op.axes[*found].name() : "";
}

TEST(SumsAcross, GoAlongTheAxisThatOperandsLieAlong) {
  for (const char* const level : kLevels) {
    EXPECT_EQ(across("input x: f32[6, 4, 300]\ny[k: 300, i: 6] = sum(j: 4) x[i, j, k]", level),
              "k");
    EXPECT_EQ(across("input x: f32[6, 4, 9, 300]\n"
                     "y[k: 300, i: 6, m: 9] = max(j: 4) x[i, j, m, k]",
                     level),
              "k");
  }
  EXPECT_EQ(across("input x: f32[6, 40, 300]\ninput w: f32[300]\ninput b: f32[40]\n"
                   "y[k: 300, i: 6] = sum(j: 40) x[i, j, k] * w[k] * b[j]"),
            "k")
      << "others lie so, or not along it at all";
}

// Whose rows are transposed when they are loaded.
TEST(SumsAcross, GoAlongWhatIsNear) {
  EXPECT_EQ(across("input x: f32[6, 300, 5]\ny[k: 300, i: 6] = sum(j: 5) x[i, k, j]"), "k");
  EXPECT_EQ(across("input x: f32[6, 300, 9]\ny[k: 300, i: 6] = sum(j: 9) x[i, k, j]"), "");
  EXPECT_EQ(across("input x: f32[6, 40, 300, 5]\n"
                   "y[k: 300, m: 40, i: 6] = sum(j: 5) x[i, m, k, j]"),
            "k");
}

TEST(SumsAcross, NotWhereARowIsNear) {
  EXPECT_EQ(across("input x: f32[4, 300, 6]\ny[k: 300, i: 6] = sum(j: 4) x[j, k, i]"), "");
  EXPECT_EQ(across("input x: f32[300, 6, 4]\ny[k: 300, i: 6] = sum(j: 4) x[k, i, j]"), "");
  EXPECT_EQ(across("input x: f32[4, 300]\ny[k: 300] = sum(j: 4) x[j, k]"), "") << "one axis";
}

TEST(SumsAcross, NotOfAShortAxisOrOneOfARunTimeLength) {
  EXPECT_EQ(across("input x: f32[6, 4, 15]\ny[k: 15, i: 6] = sum(j: 4) x[i, j, k]"), "");
  EXPECT_EQ(across("input x: f32[6, 4, 16]\ny[k: 16, i: 6] = sum(j: 4) x[i, j, k]"), "k");
  EXPECT_EQ(across("input x: f32[6, 4, M]\ny[k: M, i: 6] = sum(j: 4) x[i, j, k]"), "");
}

TEST(SumsAcross, NotWhereAnotherOperandIsFar) {
  EXPECT_EQ(across("input x: f32[6, 4, 300]\ninput w: f32[300, 40]\n"
                   "y[k: 300, i: 6] = sum(j: 4) x[i, j, k] * w[k, j]"),
            "");
  EXPECT_EQ(across("input x: f32[6, 4, 300]\ninput d: i32[300]\n"
                   "y[k: 300, i: 6] = sum(j: 4) x[i, j, max(min(d[k], 299), 0)]"),
            "")
      << "data say where it reads";
}

TEST(SumsAcross, EachElementOfARowHasItsSum) {
  EXPECT_EQ(derived(graph_of("input x: f32[6, 4, 300]\ny[k: 300, i: 6] = sum(j: 4) x[i, j, k]"),
                    target_of("x86-64-v4", 1)),
            "emulsion schedule 1\ny.cache_write(y_acc)\n"
            "y.split(k, k, lane, 16, shift_inwards)\ny.reorder(lane, i, k)\ny.vectorize(lane)\n"
            "y.unroll(i)\ny_acc.compute_at(y, k)\ny_acc.store_in(registers)\n"
            "y_acc.reorder(k, i, j)\ny_acc.vectorize(k)\ny_acc.unroll(i)\ny_acc.unroll(j)\n"
            "y_acc.reorder_storage(k, i)\n");
  // More than sixteen are a loop around, and so are many steps.
  const std::string text = derived(graph_of("input x: f32[9, 40, 6, 300]\n"
                                            "y[k: 300, i: 9, m: 6] = sum(j: 40) x[i, j, m, k]"),
                                   target_of("x86-64-v4", 1));
  EXPECT_TRUE(has(text, "y_acc.compute_at(y, i)\n")) << text;
  EXPECT_TRUE(has(text, "y_acc.unroll(m)\n")) << text;
  EXPECT_FALSE(has(text, "unroll(i)")) << text;
  EXPECT_FALSE(has(text, "unroll(j)")) << text;
}

// Whatever else lies along the rows: each vector of these would gather the operand that does not.
TEST(SumsAcross, OperandsThatLieAlongTheRowsBesideThoseAcross) {
  for (const std::string lines : {"input x: f32[6, 5, 300]\ninput w: f32[6, 5]\ny[k: 300, i: 5] = "
                                  "sum(j: 6) x[j, i, k] * w[j, i]",
                                  "input x: f32[7, 4, 300]\ninput w: f32[7, 4]\ny[k: 300, i: 4] = "
                                  "max(j: 7) x[j, i, k] * w[j, i]",
                                  "input x: f32[7, 3, 300]\ninput w: f32[3]\ny[k: 300, i: 3] = "
                                  "sum(j: 7) x[j, i, k] * w[i]"}) {
    const std::string text = derived(graph_of(lines), target_of("x86-64-v4", 1));
    EXPECT_TRUE(has(text, "y_acc.reorder_storage(k, i)\n")) << text;
    EXPECT_TRUE(derives_on_all(graph_of(lines), {1})) << lines;
  }
}

// What reads them would have them wait in vectors along its rows.
TEST(SumsAcross, DoNotWaitForTheirReader) {
  const Graph graph = graph_of(
      "input x: f32[7, 5, 300]\ninput w: f32[7, 5]\n"
      "s[k: 300, i: 5] = sum(j: 7) x[j, i, k] * w[j, i]\ny[k: 300, i: 5] = max(s[k, i], 0f)");
  const std::string text = derived(graph, target_of("x86-64-v4", 1));
  EXPECT_TRUE(has(text, "s_acc.reorder_storage(k, i)\n")) << text;
  EXPECT_TRUE(derives_on_all(graph, {1}));
}

TEST(SumsAcross, ThreadsShareThem) {
  const std::string text =
      derived(graph_of("input x: f32[6, 40, 30000]\ny[k: 30000, i: 6] = sum(j: 40) x[i, j, k]"),
              target_of("x86-64-v4", 2));
  EXPECT_TRUE(has(text, "y.parallel(k)\n")) << text;
}

TEST(SumsAcross, ComputeTheSame) {
  for (const std::string lines : {
           "input x: f32[6, 4, 300]\ny[k: 300, i: 6] = sum(j: 4) x[i, j, k]",
           "input x: f64[20, 3, 33]\ny[k: 33, i: 20] = max(j: 3) x[i, j, k]",
           "input x: u8[5, 70, 100]\ninput w: u8[70]\n"
           "y[k: 100, i: 5] = sum(j: 70) i32(x[i, j, k]) * i32(w[j])",
           "input x: f32[6, 7, 41, 5]\ny[j: 7, k: 41, i: 6] = sum(l: 5) x[i, j, k, l]",
           "input x: f32[9, 40, 6, 30]\ny[k: 30, i: 9, m: 6] = min(j: 40) x[i, j, m, k]",
           "input x: f32[M, 4, 50]\ny[k: 50, i: M] = sum(j: 4) x[i, j, k]",
           "input x: f32[6, M, 50]\ny[k: 50, i: 6] = sum(j: M) x[i, j, k]",
           "input x: f32[6, 40, 30000]\ny[k: 30000, i: 6] = sum(j: 40) x[i, j, k]",
       }) {
    EXPECT_TRUE(derives_on_all(graph_of(lines), {0, 1, 5, 17})) << lines;
  }
}

}  // namespace
}  // namespace emulsion
