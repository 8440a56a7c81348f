#include "passes/analyse/diff_schedules.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "dsl/operators.h"
#include "tests/golden.h"
#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

using Lines = std::vector<std::string>;

// "a", "-b" (left only), "+c" (right only), "d/e" (one for the other)
Lines shorthand(const Lines& left, const Lines& right) {
  Lines result;
  for (const DiffRow& row : diff_lines(left, right)) {
    if (row.same()) {
      result.push_back(*row.left);
    } else if (row.left && row.right) {
      result.push_back(*row.left + "/" + *row.right);
    } else {
      result.push_back(row.left ? "-" + *row.left : "+" + *row.right);
    }
  }
  return result;
}

TEST(DiffLines, EqualLinesAreRowsOfBoth) {
  EXPECT_EQ(shorthand({"a", "b"}, {"a", "b"}), (Lines{"a", "b"}));
  EXPECT_EQ(shorthand({}, {}), Lines{});
}

TEST(DiffLines, OneSideMayBeEmpty) {
  EXPECT_EQ(shorthand({"a"}, {}), Lines{"-a"});
  EXPECT_EQ(shorthand({}, {"a", "b"}), (Lines{"+a", "+b"}));
}

TEST(DiffLines, WhatIsBetweenIsPaired) {
  EXPECT_EQ(shorthand({"a", "b", "c", "z"}, {"a", "x", "z"}), (Lines{"a", "b/x", "-c", "z"}));
  EXPECT_EQ(shorthand({"b"}, {"x", "y"}), (Lines{"b/x", "+y"}));
}

TEST(DiffLines, AMovedLineGoesAndComes) {
  EXPECT_EQ(shorthand({"a", "b", "c"}, {"b", "c", "a"}), (Lines{"-a", "b", "c", "+a"}));
}

TEST(DiffLines, KeepsTheMostLines) {
  EXPECT_EQ(shorthand({"a", "b", "c", "d", "e"}, {"x", "b", "d", "e", "a"}),
            (Lines{"a/x", "b", "-c", "d", "e", "+a"}));
}

const Axis m("m", Extent::size("B")), n("n", 8);

struct Doubled {
  Tensor x = input("x", f32, {Extent::size("B"), 8});
  Tensor a = compute("a", {m, n}, x(m, n) + 1.0f);
  Tensor y = compute("y", {m, n}, a(m, n) * 2.0f);
};

TEST(DiffSchedules, DirectivesAndNestsSideBySide) {
  const Axis i("i", 8);
  Tensor a = compute("a", {i}, input("x", f32, {8})(i) + 1.0f);
  Tensor y = compute("y", {i}, a(i) * 2.0f);
  Schedule left(y), right(y);
  left[y].parallel(i);
  left[a].unroll(i);
  right[y].unroll(i);
  right[a].unroll(i).compute_at(y, i);
  const ScheduleDiff diff = diff_schedules(left, right);
  EXPECT_FALSE(diff.same());
  EXPECT_TRUE(matches_golden(to_string(diff)));
}

TEST(DiffSchedules, TheSameScheduleTwice) {
  Doubled d;
  Schedule s(d.y);
  s[d.y].parallel(m);
  const ScheduleDiff diff = diff_schedules(s, s);
  EXPECT_TRUE(diff.same());
  for (const DiffRow& row : diff.nest) EXPECT_TRUE(row.same());
  EXPECT_EQ(to_string(diff).rfind("directives: the same\n", 0), 0U);
}

TEST(DiffSchedules, CountsWhenTheSizesAreKnown) {
  Doubled d;
  Schedule left(d.y), right(d.y);
  right[d.a].compute_inline();
  EXPECT_EQ(diff_schedules(left, right, {{"B", 3}}).left.counts->executes, 24);
  EXPECT_EQ(diff_schedules(left, right, {{"B", 3}}).right.counts->executes, 0);
  EXPECT_FALSE(diff_schedules(left, right).left.counts.has_value());
}

TEST(DiffSchedules, AStageThatOneScheduleMakes) {
  Doubled d;
  Schedule left(d.y), right(d.y);
  right[d.y].copy_in(d.a, "tile");
  right["tile"].parallel(m);
  const ScheduleDiff diff = diff_schedules(left, right);
  ASSERT_EQ(diff.stages.size(), 2U);
  EXPECT_EQ(diff.stages[1].stage, "tile");
  EXPECT_EQ(diff.stages[1].rows[0].left, std::nullopt);
  EXPECT_EQ(diff.stages[1].rows[0].right, "parallel(m)");
}

// b reads two of a: a tile of 4 needs 5, so 10 are computed for 9.
TEST(DiffSchedules, SaysWhatIsComputedAgain) {
  const Axis i("i", 8), j("j", 9), o("o"), in("in");
  Tensor x = input("x", f32, {9});
  Tensor a = compute("a", {j}, x(j) * 3.0f);
  Tensor b = compute("b", {i}, a(i) + a(i + 1));
  Schedule left(b), right(b);
  right[b].split(i, o, in, 4);
  right[a].compute_at(b, o);
  const ScheduleDiff diff = diff_schedules(left, right);
  ASSERT_TRUE(diff.left.work && diff.right.work && diff.unscheduled);
  EXPECT_EQ(diff.unscheduled->operations(), 9 + 8);
  EXPECT_EQ(diff.left.work->operations(), 9 + 8);
  EXPECT_EQ(diff.right.work->operations(), 10 + 8);
  EXPECT_NE(to_string(diff).find("  left:  work 1.000x, "), std::string::npos) << to_string(diff);
  EXPECT_NE(to_string(diff).find("  right: work 1.059x, "), std::string::npos) << to_string(diff);
  EXPECT_EQ(nlohmann::json::parse(to_json(diff))["right"]["work"]["operations"], 18);
}

TEST(DiffSchedules, ARefusedScheduleIsShownAsItsMessage) {
  Doubled d;
  Schedule left(d.y), right(d.y);
  right[d.a].compute_at(d.y, Axis("q"));
  const ScheduleDiff diff = diff_schedules(left, right);
  EXPECT_EQ(diff.left.error, "");
  EXPECT_NE(diff.right.error.find("a.compute_at(y, q): expected a loop of y"), std::string::npos);
  EXPECT_NE(to_string(diff).find("refused:"), std::string::npos);
}

TEST(DiffSchedules, TheJsonTwinSaysTheSame) {
  Doubled d;
  Schedule left(d.y), right(d.y);
  left[d.y].parallel(m);
  right[d.a].compute_at(d.y, Axis("q"));
  const ScheduleDiff diff = diff_schedules(left, right, {{"B", 2}});
  const nlohmann::json json = nlohmann::json::parse(to_json(diff));
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["same"], false);
  EXPECT_EQ(json["stages"][0]["stage"], "y");
  EXPECT_EQ(json["stages"][0]["rows"][0], (nlohmann::json{{"left", "parallel(m)"}}));
  EXPECT_EQ(json["nest"].size(), diff.nest.size());
  EXPECT_EQ(json["left"]["uops"]["stores"], 16);
  EXPECT_EQ(json["right"]["error"], diff.right.error);
  EXPECT_FALSE(json["right"].contains("work"));
}

TEST(DiffSchedules, RefusesTwoGraphs) {
  const Schedule left(Doubled().y), right(relu(input("x", f32, {8}), "z"));
  EXPECT_ERROR(diff_schedules(left, right),
               "diff_schedules: expected two schedules of one graph, got one of y and one of z");
}

}  // namespace
}  // namespace emulsion
