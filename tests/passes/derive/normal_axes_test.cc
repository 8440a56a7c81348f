// The normal form of axes: which graphs are derived in it, that the loops are those of the graph
// that is written so, and that what is computed is the same.

#include "passes/derive/normal_axes.h"

#include <gtest/gtest.h>

#include <optional>
#include <regex>
#include <string>

#include "dsl/graph_text.h"
#include "dsl/schedule_text.h"
#include "passes/derive/derive_schedule.h"
#include "passes/derive/share_loops.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

Graph graph_of(const std::string& lines) { return parse_graph("emulsion graph 1\n" + lines); }

// "" where the graph is derived as it is.
std::string normal(const std::string& lines) {
  const std::optional<Graph> found = with_normal_axes(graph_of(lines));
  return found ? to_string(*found) : "";
}

std::string derived_from(const std::string& lines, int cores = 1) {
  return derived(graph_of(lines), target_of("x86-64-v4", cores));
}

// But for the order of loops, which some stages have besides.
std::string unordered(const std::string& schedule) {
  return std::regex_replace(schedule, std::regex("[^\n]*reorder\\([^\n]*\n"), "");
}

const char* const kPicture =
    "input x: f32[1, 66, 130, 1]\n"
    "weight w: f32[3, 3, 1, 1]\n"
    "y[n: 1, i: 64, j: 128, o: 1] = "
    "sum(a: 3, b: 3, c: 1) x[n, i + a, j + b, c] * w[a, b, c, o]\n"
    "output y\n";

const char* const kPictureWithout =
    "input x: f32[1, 66, 130]\n"
    "weight w: f32[3, 3]\n"
    "y[n: 1, i: 64, j: 128] = sum(a: 3, b: 3) x[n, i + a, j + b] * w[a, b]\n"
    "output y\n";

const char* const kSoftmax =
    "input x: f32[30, 500, 1]\n"
    "m[i: 30, u: 1] = max(k: 500) x[i, k, u]\n"
    "e[i: 30, j: 500, u: 1] = exp(x[i, j, u] - m[i, u])\n"
    "s[i: 30, u: 1] = sum(k: 500) e[i, k, u]\n"
    "y[i: 30, j: 500, u: 1] = e[i, j, u] / s[i, u]\n"
    "output y\n";

const char* const kSoftmaxWithout =
    "input x: f32[30, 500]\n"
    "m[i: 30] = max(k: 500) x[i, k]\n"
    "e[i: 30, j: 500] = exp(x[i, j] - m[i])\n"
    "s[i: 30] = sum(k: 500) e[i, k]\n"
    "y[i: 30, j: 500] = e[i, j] / s[i]\n"
    "output y\n";

TEST(NormalAxes, ThoseOfTensorsAndOfSums) {
  EXPECT_EQ(normal(kPicture), std::string("emulsion graph 1\n") + kPictureWithout);
  EXPECT_EQ(normal(kSoftmax), std::string("emulsion graph 1\n") + kSoftmaxWithout);
}

TEST(NormalAxes, AreAtZeroWhereTheyAreRead) {
  EXPECT_TRUE(has(normal("input x: f32[40, 5]\ninput z: f32[40, 1]\n"
                         "y[i: 40, u: 1] = x[i, u + 2] * z[i, u] + f32(u)\noutput y\n"),
                  "y[i: 40] = x[i, 2] * z[i] + f32(0)\n"));
}

// x[i, j, k] is summed up along k, whatever comes first in the sum.
TEST(NormalAxes, SumsGoAlongMemory) {
  const auto summed = [](const std::string& axes, const std::string& body) {
    const std::string text =
        normal("input x: f32[9, 20, 30]\ninput z: f32[30, 20]\ny[i: 9] = sum(" + axes + ") " +
               body + "\noutput y\n");
    return text.substr(std::min(text.find("sum("), text.size()),
                       text.find(") ") + 1 - text.find("sum("));
  };
  EXPECT_EQ(summed("k: 30, j: 20", "x[i, j, k]"), "sum(j: 20, k: 30)");
  EXPECT_EQ(summed("k: 27, j: 20", "max(x[i, j, k + 3], 0f)"), "sum(j: 20, k: 27)");
  EXPECT_EQ(summed("k: 30, u: 1, j: 20", "x[i, j, k + u]"), "sum(j: 20, k: 30)");
  EXPECT_EQ(summed("j: 20, k: 30, u: 1", "x[i, j, k]"), "sum(j: 20, k: 30)");
}

TEST(NormalAxes, NotSumsThatDo) {
  const auto is_normal = [](const std::string& axes, const std::string& body) {
    return normal(
               "input x: f32[9, 20, 30]\ninput v: f32[9, 30, 20]\ninput z: f32[30, 20]\ny[i: 9] = "
               "sum(" +
               axes + ") " + body + "\noutput y\n")
        .empty();
  };
  EXPECT_TRUE(is_normal("j: 20, k: 30", "x[i, j, k]"));
  EXPECT_TRUE(is_normal("u: 1, k: 30", "x[i, u, k]"));
  EXPECT_TRUE(is_normal("k: 30", "x[i, 3, k]"));
  EXPECT_TRUE(is_normal("k: 30, j: 20", "(x[i, j, k] - z[k, j])")) << "one operand is";
  EXPECT_TRUE(is_normal("k: 30, j: 20", "x[i, j, k] * v[i, k, j]")) << "one operand is";
  EXPECT_TRUE(is_normal("k: 30, j: 20", "x[i, 3, k] + z[3, j]")) << "no operand has both";
  EXPECT_TRUE(is_normal("k: 10, j: 20", "x[i, j, k + j]")) << "j is in two indices";
}

// Products of matrices pack their operands.
TEST(NormalAxes, NotSumsOfAContraction) {
  EXPECT_EQ(normal("input x: f32[9, 20, 30]\nweight w: f32[20, 30, 64]\n"
                   "y[i: 9, n: 64] = sum(k: 30, j: 20) x[i, j, k] * w[j, k, n]\noutput y\n"),
            "");
  // Nor beside an operation that is not in normal form.
  EXPECT_TRUE(has(normal("input x: f32[9, 20, 30]\nweight w: f32[20, 30, 64]\n"
                         "s[i: 9] = sum(k: 30, j: 20) x[i, j, k]\n"
                         "y[i: 9, n: 64] = sum(k: 30, j: 20) x[i, j, k] * w[j, k, n]\n"
                         "output y\noutput s\n"),
                  "y[i: 9, n: 64] = sum(k: 30, j: 20) "));
}

TEST(NormalAxes, LoopsOfSumsGoAlongMemory) {
  const auto lines = [](const std::string& axes) {
    return "input x: f32[200, 20, 300]\ny[i: 200] = sum(" + axes + ") x[i, j, k]\noutput y\n";
  };
  for (const int cores : {1, 2}) {
    EXPECT_EQ(unordered(derived_from(lines("k: 300, j: 20"), cores)),
              unordered(derived_from(lines("j: 20, k: 300"), cores)));
  }
}

TEST(NormalAxes, ASumKeepsOne) {
  EXPECT_TRUE(has(normal("input x: f32[40, 1, 1]\n"
                         "y[i: 40, u: 1] = sum(r: 1, s: 1) x[i, r, s]\noutput y\n"),
                  "y[i: 40] = sum(r: 1) x[i]\n"));
}

// What one member of a group reads with such an axis is read so by the group.
TEST(NormalAxes, OfMembersOfAGroup) {
  const Graph graph = graph_of(
      "input x: f32[4, 50, 1]\n"
      "fused y {\n  a[i: 4, j: 50, u: 1] = x[i, j, u] * 2f\n"
      "  y[i: 4, j: 50, u: 1] = max(a[i, j, u], 0f)\n}\noutput y\n");
  const std::optional<Graph> found = with_normal_axes(graph);
  ASSERT_TRUE(found);
  EXPECT_TRUE(has(to_string(*found), "y[i: 4, j: 50] = max(a[i, j], 0f)\n"));
}

// Where vectors go along rows of two steps and more, or along what is summed up.
TEST(NormalAxes, NotWhereNothingGoesAlongThem) {
  EXPECT_EQ(normal("input x: f32[4, 50]\ny[i: 4, j: 50] = x[i, j]\noutput y\n"), "");
  EXPECT_EQ(normal("input x: f32[4, 50]\ns[i: 4, u: 1] = sum(k: 50) x[i, k]\n"
                   "t[i: 4, u: 1] = s[i, u] / 50f\n"
                   "y[i: 4, j: 50] = x[i, j] - t[i, 0]\noutput y\n"),
            "")
      << "what is kept of rows";
  EXPECT_EQ(normal("input x: f32[4, 50]\nweight w: f32[50, 1]\n"
                   "y[i: 4, n: 1] = sum(k: 50) x[i, k] * w[k, n]\noutput y\n"),
            "")
      << "a layer of one column";
  EXPECT_EQ(normal("input x: f32[4, 6, 50]\ninput b: f32[6, 1]\n"
                   "y[n: 4, c: 6, j: 50] = x[n, c, j] + b[c, 0]\noutput y\n"),
            "")
      << "one value for a row";
  EXPECT_EQ(normal("input x: f32[1, 1]\ny[i: 1, j: 1] = x[i, j]\noutput y\n"), "");
}

TEST(NormalAxes, WhereASumOrAWindowGoesAlongThem) {
  EXPECT_TRUE(has(normal("input x: f32[4, 50, 1]\n"
                         "y[i: 4] = sum(k: 50) x[i, k, 0]\noutput y\n"),
                  "y[i: 4] = sum(k: 50) x[i, k]\n"));
  // `s`, which is kept of rows, alone would not be.
  EXPECT_TRUE(has(normal("input x: f32[52, 20]\ns[i: 52, u: 1] = sum(k: 20) x[i, k]\n"
                         "y[i: 50, u: 1] = max(a: 3) s[i + a, u]\noutput y\n"),
                  "y[i: 50] = max(a: 3) s[i + a]\n"));
}

// Lanes along what is summed up would be few.
TEST(NormalAxes, OfOneColumnThatSumsUpALittle) {
  const auto layer = [](const std::string& depth) {
    return normal("input x: f32[40, " + depth + "]\nweight w: f32[" + depth +
                  ", 1]\ny[i: 40, n: 1] = sum(k: " + depth + ") x[i, k] * w[k, n]\noutput y\n");
  };
  EXPECT_TRUE(has(layer("3"), "y[i: 40] = sum(k: 3) x[i, k] * w[k]\n"));
  EXPECT_TRUE(has(layer("16"), "y[i: 40] = sum(k: 16) x[i, k] * w[k]\n"));
  EXPECT_EQ(layer("17"), "");
  const auto picture = [](const std::string& channels) {
    return normal("input x: f32[12, 22, " + channels + "]\nweight w: f32[3, 3, " + channels +
                  ", 1]\ny[i: 10, j: 20, n: 1] = sum(a: 3, b: 3, k: " + channels +
                  ") x[i + a, j + b, k] * w[a, b, k, n]\noutput y\n");
  };
  EXPECT_TRUE(has(picture("3"), "x[i + a, j + b, k] * w[a, b, k]\n")) << picture("3");
  EXPECT_TRUE(has(picture("7"), "x[i + a, j + b, k] * w[a, b, k]\n"));
  EXPECT_EQ(picture("8"), "");
}

// Of few steps, or of few along memory: vectors lie along the results, which keep the axes.
TEST(NormalAxes, OfSumsThatHaveFewLanes) {
  const auto sums = [](const std::string& kept, const std::string& summed) {
    return normal("input x: f32[9, 40, 8, 5]\ninput z: f32[9, 40, 8, 8]\n" + kept + " = sum(" +
                  summed + "\noutput y\n");
  };
  EXPECT_TRUE(has(sums("y[i: 9, u: 1, c: 8, v: 1]", "r: 40, k: 5) x[i, r, c, k]"),
                  "y[i: 9, u: 1, c: 8] = sum(r: 40, k: 5) x[i, r, c, k]\n"));
  EXPECT_TRUE(has(sums("y[i: 9, r: 40, c: 8, v: 1]", "k: 5) x[i, r, c, k]"),
                  "y[i: 9, r: 40, c: 8] = sum(k: 5) x[i, r, c, k]\n"));
  EXPECT_TRUE(has(sums("y[i: 9, r: 40, c: 8, v: 1]", "k: 8) z[i, r, c, k]"),
                  "y[i: 9, r: 40, c: 8] = sum(k: 8) z[i, r, c, k]\n"));
  EXPECT_EQ(sums("y[i: 9, u: 1, c: 8, v: 1]", "r: 40, k: 8) z[i, r, c, k]"), "") << "lanes of 8";
  EXPECT_EQ(sums("y[u: 1]", "k: 5) x[0, 0, 0, k]"), "") << "one sum";
  EXPECT_EQ(normal("input x: f32[40, 5]\ns[i: 40, u: 1] = sum(k: 5) x[i, k]\n"
                   "y[i: 40, k: 5] = x[i, k] - s[i, 0]\noutput y\n"),
            "")
      << "what is kept of rows";
}

// Of the cases of a condition each has the loops of one step where the others have them.
TEST(NormalAxes, LoopsAreInThatOrderInEachCase) {
  const std::string schedule = derived_from(
      "size H\ninput x: f32[7, H, 1]\ninput w: f32[4, 5]\n"
      "y[i: 4, j: H, k: 1] = max(r: 4, s: 5) "
      "x[max(min(i * 2 + r - 2, 6), 0), max(min(j + s - 2, H - 1), 0), k] * w[r, s]\noutput y\n",
      2);
  const size_t order = schedule.find("y_long.reorder("),
               first = schedule.find("y_long.specialize(");
  ASSERT_NE(order, std::string::npos) << schedule;
  ASSERT_NE(first, std::string::npos) << schedule;
  EXPECT_LT(order, first) << schedule;
}

TEST(NormalAxes, LoopsAreThoseOfTheGraphWithoutThem) {
  for (const int cores : {1, 2}) {
    EXPECT_EQ(unordered(derived_from(kPicture, cores)),
              unordered(derived_from(kPictureWithout, cores)));
  }
  const std::string columns = "y_acc.reorder(c, b, a, j, i, n, o)\n";
  EXPECT_TRUE(has(derived_from(kPicture), columns)) << derived_from(kPicture);
  EXPECT_TRUE(has(derived_from(kPicture), "y.reorder(j, i, n, o)\n"));
  EXPECT_EQ(unordered(derived_from(kSoftmax)), unordered(derived_from(kSoftmaxWithout)));
  const auto means = [](const std::string& kept) {
    return derived_from("size B\ninput x: f32[B, 1760, 8, 4]\ny[i: B, " + kept +
                            "] = sum(r: 1760, k: 4) x[i, r, c, k]\noutput y\n",
                        2);
  };
  // The loop over u, of one step, is in that over i.
  const std::string at_u = "y_rows.compute_at(y, u)\n", at_i = "y_rows.compute_at(y, i)\n";
  std::string kept = means("u: 1, c: 8, v: 1");
  ASSERT_TRUE(has(kept, at_u)) << kept;
  kept.replace(kept.find(at_u), at_u.size(), at_i);
  EXPECT_TRUE(has(means("c: 8"), "y.vectorize(c)\n"));
  EXPECT_EQ(unordered(kept), unordered(means("c: 8")));
}

// What shares its outermost loops with another has none that the other lacks.
TEST(NormalAxes, InsideOfLoopsThatAreShared) {
  const std::string schedule = derived_from(
      "input x: f32[30, 500, 1]\n"
      "m[i: 30] = max(k: 500) x[i, k, 0]\n"
      "e[i: 30, j: 500] = exp(x[i, j, 0] - m[i])\n"
      "s[i: 30, u: 1] = sum(k: 500) e[i, k]\n"
      "y[i: 30, j: 500] = e[i, j] / s[i, 0]\n"
      "output y\n");
  EXPECT_TRUE(has(schedule, "s_lanes.compute_with(e, k)\n")) << schedule;
  EXPECT_TRUE(has(schedule, "s_lanes.reorder(u, k, lane, i)\n")) << schedule;
}

TEST(NormalAxes, StoredOrderHasThem) {
  const std::string schedule = derived_from(
      "input x: f32[42, 42, 3, 1]\n"
      "y[i: 40, j: 20, c: 3, u: 1] = max(a: 3, b: 3) x[i + a, 2 * j + b, c, u]\noutput y\n");
  EXPECT_TRUE(has(schedule, "y_acc.reorder_storage(j, c, i, u)\n")) << schedule;
}

TEST(NormalAxes, LoopsThatHaveTheirNamesGetOthers) {
  const std::string schedule = derived_from(
      "input x: f32[64, 300, 1]\ny[i: 64, j: 300, j_v: 1] = x[i, j, j_v] * 2f\noutput y\n");
  EXPECT_TRUE(has(schedule,
                  "y.reorder(j, i, j_v)\ny.split(j, j, j_v1, 16, shift_inwards)\n"
                  "y.vectorize(j_v1)\n"))
      << schedule;
  // Of `e`, whose loop would be named k as that of the sum is, which it shares.
  const std::string lines =
      "input x: f32[30, 500, 1]\n"
      "m[i: 30, k: 1] = max(r: 500) x[i, r, k]\n"
      "e[i: 30, j: 500, k: 1] = exp(x[i, j, k] - m[i, k])\n"
      "s[i: 30, u: 1] = sum(k: 500) e[i, k, u]\n"
      "y[i: 30, j: 500, u: 1] = e[i, j, u] / s[i, u]\noutput y\n";
  EXPECT_TRUE(has(derived_from(lines), "e.split(j, k1, j_v, 16")) << derived_from(lines);
  EXPECT_FALSE(has(derived_from(lines), "compute_with")) << derived_from(lines);
  EXPECT_TRUE(derives(graph_of(lines), target_of("x86-64-v4", 1), {1}, 1e-5));
}

// An output of [30, 500, 1] is no memory for what has [30, 500].
TEST(NormalAxes, StoredInAnOutputOfTheSameShape) {
  const std::string tail = "s[i: 30] = sum(k: 500) e[i, k]\n";
  const std::string head =
      "input x: f32[30, 500, 1]\nm[i: 30] = max(k: 500) x[i, k, 0]\n"
      "e[i: 30, j: 500] = exp(x[i, j, 0] - m[i])\n";
  const std::string same = head + tail + "y[i: 30, j: 500] = e[i, j] / s[i]\noutput y\n";
  const std::string other = head + tail + "y[i: 30, j: 500, u: 1] = e[i, j] / s[i]\noutput y\n";
  EXPECT_TRUE(has(derived_from(same), "e.store_in_output(y)\n")) << derived_from(same);
  EXPECT_TRUE(has(derived_from(other), "e.compute_at(y, i)\n")) << derived_from(other);
  EXPECT_FALSE(has(derived_from(other), "store_in_output")) << derived_from(other);
  EXPECT_TRUE(derives(graph_of(other), target_of("x86-64-v4", 1), {1}, 1e-5));
}

// Nor is what run-time sizes choose between: it has the shape of the stage in whose stead it is.
TEST(NormalAxes, OneOfTwoWaysIsStoredInItsOutput) {
  const std::string schedule = derived_from(
      "size H\ninput x: f32[H, 2*H, 1]\ninput z: f32[H, 2*H]\n"
      "a[i: H, j: 2*H] = z[i, j] / 3f\n"
      "y[i: H, j: 2*H, k: 1] = x[i, j, k] / sqrt(a[i, j] + 0.5f)\noutput y\n",
      2);
  EXPECT_TRUE(has(schedule, "y_sliding.store_in_output(y)\n")) << schedule;
}

// The groups of the graph are those that are found without these axes.
TEST(NormalAxes, GroupsAreOfTheGraph) {
  const auto kinds = [](const std::string& lines) {
    std::string text;
    const Graph graph = graph_of(lines);
    const Graph shared = share_loops(graph, target_of("x86-64-v4", 1));
    for (const LoopGroup& group : shared.loop_groups()) {
      text += std::to_string(group.members.size()) + " over";
      for (const size_t axis : group.axes) text += " " + std::to_string(axis);
      EXPECT_EQ(group.members.back(), *shared.find("y"));
      EXPECT_EQ((*shared.find("y"))->shape, (*graph.find("y"))->shape);
    }
    return text;
  };
  EXPECT_EQ(kinds(kSoftmax), "4 over 0");
  EXPECT_EQ(kinds(kSoftmaxWithout), "4 over 0");
  // Softmax along i: the last axis is one of those of a block of columns.
  const std::string columns =
      "input x: f32[40, 3000, 1]\n"
      "m[j: 3000, u: 1] = max(i: 40) x[i, j, u]\n"
      "e[i: 40, j: 3000, u: 1] = exp(x[i, j, u] - m[j, u])\n"
      "s[j: 3000, u: 1] = sum(i: 40) e[i, j, u]\n"
      "y[i: 40, j: 3000, u: 1] = e[i, j, u] / s[j, u]\noutput y\n";
  EXPECT_EQ(kinds(columns), "4 over 1 2");
}

// Of groups that come with the graph: none that would be told by such an axis alone.
TEST(NormalAxes, NotOfAGroupThatIsToldByThemAlone) {
  const auto grouped = [](const std::string& columns) {
    return "input x: f32[40, " + columns +
           ", 1]\nfused_columns y over [j, u] {\n  m[j: " + columns +
           ", u: 1] = max(i: 40) x[i, j, u]\n  y[i: 40, j: " + columns +
           ", u: 1] = x[i, j, u] - m[j, u]\n}\noutput y\n";
  };
  EXPECT_TRUE(has(normal(grouped("300")), "fused_columns_max_sub y over [j] {\n"));
  EXPECT_EQ(normal(grouped("1")), "");
}

TEST(NormalAxes, ComputeTheSame) {
  const char* const graphs[] = {
      kPicture,
      "size B\ninput x: f32[B, 9, 9, 1]\ninput b: f32[1]\n"
      "s[n: B, i: 7, j: 7, u: 1] = max(a: 3, c: 3) x[n, i + a, j + c, u]\n"
      "y[n: B, i: 7, j: 7, u: 1] = max(s[n, i, j, u] + b[u], 0f)\n"
      "output y\n",
      "size B\ninput x: f32[B, 40, 1]\ninput z: f32[B, 1, 1]\n"
      "s[n: B, u: 1] = sum(k: 40) x[n, k, u] * z[n, u, 0]\n"
      "y[n: B, k: 40, u: 1] = x[n, k, u] - s[n, u]\noutput y\noutput s\n",
      "size B\ninput x: i32[40, B, 1]\n"
      "s[j: B, u: 1] = sum(i: 40) x[i, j, u]\n"
      "y[i: 40, j: B, u: 1] = x[i, j, u] * s[j, u]\noutput y\n",
      "size B\ninput x: f32[B, 6, 40]\n"
      "s[i: B] = sum(k: 40, j: 6) x[i, j, k]\n"
      "y[i: B, j: 6, k: 40] = x[i, j, k] - s[i]\noutput y\n",
      "size B\ninput x: f32[7, B, 6, 40]\n"
      "y[j: 6] = sum(k: 40, i: B, n: 7) x[n, i, j, k]\noutput y\n",
      "size B\ninput x: f32[B, 40, 8, 4]\n"
      "s[i: B, u: 1, c: 8, v: 1] = sum(r: 40, k: 4) x[i, r, c, k]\n"
      "y[i: B, u: 1, c: 8, v: 1] = s[i, u, c, v] / 160f\noutput y\n",
      "size B\ninput x: i32[B, 30, 5]\n"
      "y[i: B, j: 30, v: 1] = max(k: 5) x[i, j, k]\noutput y\n",
      "input x: i32[20, 300, 1, 6]\n"
      "y[j: 6] = max(u: 1, i: 300, n: 20) x[n, i, u, j]\noutput y\n",
  };
  for (const char* const lines : graphs) {
    EXPECT_TRUE(derives_on_all(graph_of(lines), {0, 1, 5, 33})) << lines;
  }
}

}  // namespace
}  // namespace emulsion
