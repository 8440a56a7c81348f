// Last axes of one step: which graphs are derived without them, that the loops are those of the
// graph that has none, and that what is computed is the same.

#include "passes/derive/unit_axes.h"

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
std::string without(const std::string& lines) {
  const std::optional<Graph> found = without_unit_axes(graph_of(lines));
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

TEST(UnitAxes, ThoseOfTensorsAndOfSums) {
  EXPECT_EQ(without(kPicture), std::string("emulsion graph 1\n") + kPictureWithout);
  EXPECT_EQ(without(kSoftmax), std::string("emulsion graph 1\n") + kSoftmaxWithout);
}

TEST(UnitAxes, AreAtZeroWhereTheyAreRead) {
  EXPECT_TRUE(has(without("input x: f32[40, 5]\ninput z: f32[40, 1]\n"
                          "y[i: 40, u: 1] = x[i, u + 2] * z[i, u] + f32(u)\noutput y\n"),
                  "y[i: 40] = x[i, 2] * z[i] + f32(0)\n"));
}

TEST(UnitAxes, ASumKeepsOne) {
  EXPECT_TRUE(has(without("input x: f32[40, 1, 1]\n"
                          "y[i: 40, u: 1] = sum(r: 1, s: 1) x[i, r, s]\noutput y\n"),
                  "y[i: 40] = sum(r: 1) x[i]\n"));
}

// What one member of a group reads with such an axis is read so by the group.
TEST(UnitAxes, OfMembersOfAGroup) {
  const Graph graph = graph_of(
      "input x: f32[4, 50, 1]\n"
      "fused y {\n  a[i: 4, j: 50, u: 1] = x[i, j, u] * 2f\n"
      "  y[i: 4, j: 50, u: 1] = max(a[i, j, u], 0f)\n}\noutput y\n");
  const std::optional<Graph> found = without_unit_axes(graph);
  ASSERT_TRUE(found);
  EXPECT_TRUE(has(to_string(*found), "y[i: 4, j: 50] = max(a[i, j], 0f)\n"));
}

// Where vectors go along rows of two steps and more, or along what is summed up.
TEST(UnitAxes, NotWhereNothingGoesAlongThem) {
  EXPECT_EQ(without("input x: f32[4, 50]\ny[i: 4, j: 50] = x[i, j]\noutput y\n"), "");
  EXPECT_EQ(without("input x: f32[4, 50]\ns[i: 4, u: 1] = sum(k: 50) x[i, k]\n"
                    "t[i: 4, u: 1] = s[i, u] / 50f\n"
                    "y[i: 4, j: 50] = x[i, j] - t[i, 0]\noutput y\n"),
            "")
      << "what is kept of rows";
  EXPECT_EQ(without("input x: f32[4, 50]\nweight w: f32[50, 1]\n"
                    "y[i: 4, n: 1] = sum(k: 50) x[i, k] * w[k, n]\noutput y\n"),
            "")
      << "a layer of one column";
  EXPECT_EQ(without("input x: f32[4, 6, 50]\ninput b: f32[6, 1]\n"
                    "y[n: 4, c: 6, j: 50] = x[n, c, j] + b[c, 0]\noutput y\n"),
            "")
      << "one value for a row";
  EXPECT_EQ(without("input x: f32[1, 1]\ny[i: 1, j: 1] = x[i, j]\noutput y\n"), "");
}

TEST(UnitAxes, WhereASumOrAWindowGoesAlongThem) {
  EXPECT_TRUE(has(without("input x: f32[4, 50, 1]\n"
                          "y[i: 4] = sum(k: 50) x[i, k, 0]\noutput y\n"),
                  "y[i: 4] = sum(k: 50) x[i, k]\n"));
  // `s`, which is kept of rows, alone would not be.
  EXPECT_TRUE(has(without("input x: f32[52, 20]\ns[i: 52, u: 1] = sum(k: 20) x[i, k]\n"
                          "y[i: 50, u: 1] = max(a: 3) s[i + a, u]\noutput y\n"),
                  "y[i: 50] = max(a: 3) s[i + a]\n"));
}

TEST(UnitAxes, LoopsAreThoseOfTheGraphWithoutThem) {
  for (const int cores : {1, 2}) {
    EXPECT_EQ(unordered(derived_from(kPicture, cores)),
              unordered(derived_from(kPictureWithout, cores)));
  }
  const std::string columns = "y_acc.reorder(b, a, c, j, i, n, o)\n";
  EXPECT_TRUE(has(derived_from(kPicture), columns)) << derived_from(kPicture);
  EXPECT_TRUE(has(derived_from(kPicture), "y.reorder(j, i, n, o)\n"));
  EXPECT_EQ(unordered(derived_from(kSoftmax)), unordered(derived_from(kSoftmaxWithout)));
}

// What shares its outermost loops with another has none that the other lacks.
TEST(UnitAxes, InsideOfLoopsThatAreShared) {
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

TEST(UnitAxes, StoredOrderHasThem) {
  const std::string schedule = derived_from(
      "input x: f32[42, 22, 3, 1]\n"
      "y[i: 40, j: 20, c: 3, u: 1] = max(a: 3, b: 3) x[i + a, j + b, c, u]\noutput y\n");
  EXPECT_TRUE(has(schedule, "y_acc.reorder_storage(j, c, i, u)\n")) << schedule;
}

TEST(UnitAxes, LoopsThatHaveTheirNamesGetOthers) {
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
TEST(UnitAxes, StoredInAnOutputOfTheSameShape) {
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
TEST(UnitAxes, OneOfTwoWaysIsStoredInItsOutput) {
  const std::string schedule = derived_from(
      "size H\ninput x: f32[H, 2*H, 1]\ninput z: f32[H, 2*H]\n"
      "a[i: H, j: 2*H] = z[i, j] / 3f\n"
      "y[i: H, j: 2*H, k: 1] = x[i, j, k] / sqrt(a[i, j] + 0.5f)\noutput y\n",
      2);
  EXPECT_TRUE(has(schedule, "y_sliding.store_in_output(y)\n")) << schedule;
}

// The groups of the graph are those that are found without these axes.
TEST(UnitAxes, GroupsAreOfTheGraph) {
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
TEST(UnitAxes, NotOfAGroupThatIsToldByThemAlone) {
  const auto grouped = [](const std::string& columns) {
    return "input x: f32[40, " + columns +
           ", 1]\nfused_columns y over [j, u] {\n  m[j: " + columns +
           ", u: 1] = max(i: 40) x[i, j, u]\n  y[i: 40, j: " + columns +
           ", u: 1] = x[i, j, u] - m[j, u]\n}\noutput y\n";
  };
  EXPECT_TRUE(has(without(grouped("300")), "fused_columns_max_sub y over [j] {\n"));
  EXPECT_EQ(without(grouped("1")), "");
}

TEST(UnitAxes, ComputeTheSame) {
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
  };
  for (const char* const lines : graphs) {
    for (const char* const level : kLevels) {
      for (const int cores : {1, 2}) {
        EXPECT_TRUE(derives(graph_of(lines), target_of(level, cores), {0, 1, 5, 33})) << lines;
      }
    }
  }
}

}  // namespace
}  // namespace emulsion
