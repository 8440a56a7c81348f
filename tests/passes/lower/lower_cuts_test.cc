// cut: the pieces of an axis, each with loops of its own, and what is computed in them.

#include <gtest/gtest.h>

#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/lower/lower.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

const Extent kLeft = Extent::size("C");
const Axis i("i", 3), jo("jo"), ji("ji");
const std::vector<int64_t> kSizes = {0, 1, 2, 3, 4, 5, 7, 8, 9};

// Rows of `left` elements and of `right`, side by side.
Graph joined(const Extent& left = kLeft, const Extent& right = kLeft) {
  const Axis j("j", left + right);
  const Tensor a = input("a", f32, {3, left}), b = input("b", f32, {3, right});
  const Expr border = extent_value(left), last = extent_value(left - Extent(1));
  return Graph(
      compute("y", {i, j}, select(j < border, a(i, min(Expr(j), last)), b(i, max(j - border, 0)))));
}

Schedule cut_and_split(Tail tail) {
  Schedule schedule(joined());
  const Axis j("j");
  schedule["y"].cut(j, kLeft).split(j, jo, ji, 4, tail).vectorize(ji);
  return schedule;
}

TEST(LowerCuts, EachPieceHasTilesOfItsOwn) { expect_nest(cut_and_split(Tail::predicate), kSizes); }

TEST(LowerCuts, EachPieceIsPartitioned) {
  Schedule schedule = cut_and_split(Tail::predicate);
  schedule["y"].partition(jo);
  expect_nest(schedule, kSizes);
}

TEST(LowerCuts, ALoopThatIsNotSplit) {
  Schedule schedule(joined());
  schedule["y"].cut(Axis("j"), kLeft);
  expect_nest(schedule, kSizes);
}

TEST(LowerCuts, WhereItStandsAmongTheDirectivesDoesNotMatter) {
  Schedule first = cut_and_split(Tail::predicate), last(first.graph());
  const Axis j("j");
  last["y"].split(j, jo, ji, 4, Tail::predicate).vectorize(ji).cut(j, kLeft);
  EXPECT_EQ(to_string(lower(first.graph(), first)), to_string(lower(last.graph(), last)));
}

TEST(LowerCuts, TheLastTileOfEachPieceStartsEarlier) {
  Schedule schedule(joined());
  const Axis j("j");
  schedule["y"].specialize(size_value("C") >= 4).cut(j, kLeft);
  schedule["y"].split(j, jo, ji, 4, Tail::shift_inwards).vectorize(ji);
  expect_nest(schedule, kSizes);
}

TEST(LowerCuts, ACaseKeepsTheCutsInFrontOfIt) {
  Schedule schedule(joined());
  const Axis j("j");
  schedule["y"].cut(j, kLeft).specialize(size_value("C") == 4).vectorize(j);
  expect_nest(schedule, kSizes);
}

TEST(LowerCuts, PiecesThatAreWholeTilesNeedNoGuards) {
  Schedule schedule(joined(8, 12));
  const Axis j("j");
  schedule["y"].cut(j, 8).split(j, jo, ji, 4).vectorize(ji);
  expect_nest(schedule);
  EXPECT_EQ(to_string(lower(schedule.graph(), schedule)).find(" if "), std::string::npos);
}

TEST(LowerCuts, AGuardWhereOnePieceIsNoWholeTiles) {
  Schedule schedule(joined(8, 11));
  const Axis j("j");
  schedule["y"].cut(j, 8).split(j, jo, ji, 4);
  expect_nest(schedule);
}

TEST(LowerCuts, ManyPiecesInAnyOrder) {
  Schedule schedule(joined(5, 12));
  const Axis j("j");
  schedule["y"].cut(j, 11).cut(j, 2).cut(j, 5).cut(j, 3).vectorize(j);
  EXPECT_TRUE(lowers(schedule.graph(), schedule, {}));
  const std::string text = to_string(lower(schedule.graph(), schedule));
  for (const char* piece : {"in 2, j in 0 .. +2", "in 1, j in 2 .. +1", "in 2, j in 3 .. +2",
                            "in 6, j in 5 .. +6", "in 6, j in 11 .. +6"}) {
    EXPECT_NE(text.find(piece), std::string::npos) << piece << "\n" << text;
  }
}

// The cut axis is in both halves of a fused loop.
TEST(LowerCuts, AFusedLoop) {
  Schedule schedule(joined());
  const Axis j("j"), t("t");
  schedule["y"].cut(j, kLeft).fuse(i, j, t).split(t, jo, ji, 4).parallel(jo);
  expect_nest(schedule, kSizes);
}

TEST(LowerCuts, TheInnerLoopOutside) {
  Schedule schedule = cut_and_split(Tail::guard);
  schedule["y"].reorder({i, jo, ji});
  EXPECT_TRUE(lowers(schedule.graph(), schedule, {{"C", 5}}));
  const std::string text = to_string(lower(schedule.graph(), schedule));
  EXPECT_NE(text.find("vectorized y.ji in 4, j in C .. +C\n"), std::string::npos) << text;
}

// A row of zeros in front, and one behind; and columns of these.
Graph bordered() { return Graph(pad(input("x", f32, {kLeft, 5}), {1, 2}, {1, 2}, 0, "y")); }

TEST(LowerCuts, TwoAxes) {
  Schedule schedule(bordered());
  const Axis rows("i0"), columns("i1");
  schedule["y"].cut(rows, kLeft + 1).cut(columns, 2).cut(rows, 1).cut(columns, 7);
  EXPECT_EQ(to_string(lower(schedule.graph(), schedule)).find("select"), std::string::npos);
  for (int64_t size : kSizes) EXPECT_TRUE(lowers(schedule.graph(), schedule, {{"C", size}}));
}

TEST(LowerCuts, TwoAxesOfOneLoop) {
  Schedule schedule(bordered());
  const Axis rows("i0"), columns("i1"), t("t");
  schedule["y"].cut(rows, kLeft + 1).cut(columns, 2).fuse(rows, columns, t);
  for (int64_t size : kSizes) EXPECT_TRUE(lowers(schedule.graph(), schedule, {{"C", size}}));
  const std::string text = to_string(lower(schedule.graph(), schedule));
  EXPECT_NE(text.find("i0 in 0 .. +(C + 1), i1 in 2 .. +7"), std::string::npos) << text;
}

// What an index wraps around to is decided as what a select chooses.
TEST(LowerCuts, HalvesThatAreSwapped) {
  const Axis j("j", kLeft * 2);
  const Expr half = size_value("C");
  const Tensor x = input("x", f32, {3, kLeft * 2});
  Schedule schedule(compute("y", {i, j}, x(i, (j + half) % (2 * half))));
  schedule["y"].cut(j, kLeft).vectorize(j, 4, Tail::predicate);
  expect_nest(schedule, kSizes);
}

TEST(LowerCuts, AnInternalOperationAndWhatIsComputedOutside) {
  const Axis j("j", kLeft * 2);
  const Tensor x = input("x", f32, {3, kLeft * 2});
  const Tensor p = compute("p", {i, j}, x(i, j) * 2.0f);
  const Tensor q = compute("q", {i, j}, select(j < size_value("C"), p(i, j), 1.0f));
  Schedule schedule(compute("y", {i, j}, q(i, j) + p(i, j)));
  schedule["p"].compute_at("y", i);
  schedule["q"].cut(j, kLeft).compute_at("y", i).split(j, jo, ji, 4).store_in(Memory::heap);
  schedule["y"].cut(j, kLeft).split(j, jo, ji, 2).parallel(i);
  expect_nest(schedule, kSizes);
}

TEST(LowerCuts, APrefetchOfEachPiece) {
  Schedule schedule = cut_and_split(Tail::predicate);
  schedule["y"].prefetch("b", jo, 1);
  for (int64_t size : kSizes) EXPECT_TRUE(lowers(schedule.graph(), schedule, {{"C", size}}));
  const std::string text = to_string(lower(schedule.graph(), schedule));
  EXPECT_EQ(text.find("prefetching b"), text.rfind("prefetching b")) << text;
}

TEST(LowerCuts, InTheMemoryOfAnOutput) {
  const Axis j("j", kLeft * 2);
  const Tensor p = compute("p", {i, j}, input("x", f32, {3, kLeft * 2})(i, j) * 2.0f);
  Schedule schedule(compute("y", {i, j}, select(j < size_value("C"), p(i, j), 1.0f)));
  schedule["p"].cut(j, kLeft).compute_at("y", i).store_in_output("y");
  schedule["y"].cut(j, kLeft).split(j, jo, ji, 4);
  for (int64_t size : kSizes) EXPECT_TRUE(lowers(schedule.graph(), schedule, {{"C", size}}));
}

TEST(LowerCuts, ASizeThatTheGraphDoesNotHaveIsRefused) {
  Schedule schedule(joined());
  schedule["y"].cut(Axis("j"), Extent::size("Q"));
  EXPECT_TRUE(throws_with<ScheduleError>([&] { lower(schedule.graph(), schedule); },
                                         "y.cut(j, Q): expected a run-time size of the graph (C), "
                                         "got Q"));
}

TEST(LowerCuts, TheTextParsesBack) {
  Schedule schedule(bordered());
  schedule["y"].cut(Axis("i0"), kLeft + 1).cut(Axis("i1"), 2);
  EXPECT_TRUE(parse_schedule(to_string(schedule), schedule.graph()) == schedule);
}

}  // namespace
}  // namespace emulsion
