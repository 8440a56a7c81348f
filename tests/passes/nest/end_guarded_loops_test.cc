// Which loops end where their guards leave out the rest, and that values stay.

#include "passes/nest/end_guarded_loops.h"

#include <gtest/gtest.h>

#include <string>

#include "dsl/operators.h"
#include "passes/lower/lower.h"
#include "passes/nest/partition_loops.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/nest/test_nests.h"

namespace emulsion {
namespace {

const Extent kRowCount = Extent::size("B");
const Axis kTile("tile"), kInTile("in_tile");

// y = 1 + sums of the rows of q = 2 x; q in the loop over tiles of rows, the sums in each row.
Schedule sums_of_tiles(const Extent& rows = kRowCount, const Axis& sums = kInTile) {
  const Axis i("i", rows), k("k", 3), r("r", 3);
  const Tensor q = compute("q", {i, k}, input("x", f32, {rows, 3})(i, k) * 2.0f);
  const Tensor s = compute("s", {i}, sum(r, q(i, r)));
  Schedule schedule(compute("y", {i}, s(i) + 1.0f));
  schedule["y"].split(i, kTile, kInTile, 8, Tail::guard);
  schedule["s"].compute_at("y", sums);
  schedule["q"].compute_at("y", kTile);
  return schedule;
}

LoopNest in_parts(const Schedule& schedule) {
  return partition_loops(lower(schedule.graph(), schedule), {"y.tile"});
}

std::string last_part(const Schedule& schedule) {
  const std::string text = to_string(in_parts(schedule));
  const size_t from = text.rfind("for y.tile in ");
  return from == std::string::npos ? "no loop over tiles" : text.substr(from);
}

bool stands_in(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

testing::AssertionResult is_right_for_any_size(const Schedule& schedule) {
  const LoopNest nest = in_parts(schedule);
  for (int64_t size : {0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 23, 24}) {
    SizeValues sizes;
    for (const std::string& name : nest.sizes) sizes[name] = size;
    testing::AssertionResult result = computes(nest, schedule.graph(), sizes);
    if (!result) return result << "\nat " << size;
  }
  return testing::AssertionSuccess();
}

TEST(EndGuardedLoops, WhatIsComputedInARowEndsWithTheRows) {
  const Schedule schedule = sums_of_tiles();
  const std::string part = last_part(schedule);
  EXPECT_TRUE(stands_in(part, "for y.in_tile in B % 8\n")) << part;
  EXPECT_TRUE(stands_in(part, "for q.i in B % 8\n")) << part;
  EXPECT_TRUE(is_right_for_any_size(schedule));
}

TEST(EndGuardedLoops, OfOtherExtents) {
  const std::string part = last_part(sums_of_tiles(21));
  EXPECT_TRUE(stands_in(part, "for q.i in 5\n") && stands_in(part, "for y.in_tile in 5\n")) << part;
  for (const Extent& extent : {Extent(21), Extent(3), kRowCount * 2, kRowCount + 3}) {
    EXPECT_TRUE(is_right_for_any_size(sums_of_tiles(extent))) << extent.to_string();
  }
}

// Nothing else would end for it.
TEST(EndGuardedLoops, ALoopThatReadsUnderItsGuardGoesOn) {
  const Schedule schedule = sums_of_tiles(kRowCount, kTile);
  const std::string part = last_part(schedule);
  EXPECT_TRUE(stands_in(part, "for y.in_tile in 8\n")) << part;
  EXPECT_TRUE(stands_in(part, "for q.i in B % 8\n") && stands_in(part, "for s.i in B % 8\n"))
      << part;
  EXPECT_TRUE(is_right_for_any_size(schedule));
}

TEST(EndGuardedLoops, OnlySerialOnes) {
  Schedule schedule = sums_of_tiles();
  schedule["y"].unroll(kInTile);
  const std::string part = last_part(schedule);
  EXPECT_TRUE(stands_in(part, "unrolled y.in_tile in 8\n")) << part;
  EXPECT_TRUE(stands_in(part, "for q.i in 8\n")) << part;
  EXPECT_TRUE(is_right_for_any_size(schedule));
}

// What is stored whole is computed once, and none beyond its end: s, an output too, of sums of the
// rows of q that have no guards.
TEST(EndGuardedLoops, WhatIsKeptEndsToo) {
  const Axis i("i", kRowCount), k("k", 3), r("r", 3);
  const Tensor q = compute("q", {i, k}, input("x", f32, {kRowCount, 3})(i, k) * 2.0f);
  const Tensor t = compute("t", {i}, sum(r, q(i, r))), s = compute("s", {i}, t(i) + 1.0f);
  for (const Axis& at : {kInTile, kTile}) {
    Schedule schedule(Graph({compute("y", {i}, s(i) * 3.0f), s}));
    schedule["y"].split(i, kTile, kInTile, 8, Tail::guard);
    schedule["s"].compute_at("y", at);
    schedule["t"].compute_at("s", i);
    schedule["q"].compute_at("y", kTile);
    const std::string part = last_part(schedule);
    EXPECT_TRUE(stands_in(part, "part s[")) << part;
    EXPECT_TRUE(stands_in(part, "for q.i in B % 8\n")) << part;
    const char* rows =
        at.name() == kTile.name() ? "for s.i in B % 8\n" : "for y.in_tile in B % 8\n";
    EXPECT_TRUE(stands_in(part, rows)) << part;
    EXPECT_TRUE(is_right_for_any_size(schedule));
  }
}

NodePtr store(const std::string& stage, std::vector<Guard> guards) {
  UopNode uop;
  uop.kind = UopKind::store;
  uop.stage = stage;
  uop.point = {axis_value("y.tile") * int_constant(8) + axis_value("y.in_tile")};
  uop.guards = std::move(guards);
  return make_node(std::move(uop));
}
Guard guard(const Expr& most, GuardMask mask = GuardMask::instance) {
  return {axis_value("y.tile") * int_constant(8) + axis_value("y.in_tile") < most, mask};
}
size_t ends_of(std::vector<NodePtr> stores) {
  Loop loop;
  loop.stage = "y";
  loop.axis = "in_tile";
  loop.min = int_constant(0);
  loop.extent = int_constant(8);
  loop.body = make_node(Block{std::move(stores)});
  const Expr rows = extent_value(kRowCount);
  return guarded_ends(make_node(std::move(loop)), "y.tile", rows / int_constant(8)).size();
}

TEST(EndGuardedLoops, AllThatIsStoredHasTheSameGuard) {
  const Expr rows = extent_value(kRowCount), fewer = extent_value(kRowCount - Extent(1));
  EXPECT_EQ(ends_of({store("y", {guard(rows)})}), 1);
  EXPECT_EQ(ends_of({store("y", {guard(rows)}), store("z", {guard(rows)})}), 1);
  EXPECT_EQ(ends_of({store("y", {guard(rows)}), store("z", {})}), 0);
  EXPECT_EQ(ends_of({store("y", {guard(rows)}), store("z", {guard(fewer)})}), 0);
}

TEST(EndGuardedLoops, AGuardLeavesOutAllOfIt) {
  const Expr rows = extent_value(kRowCount);
  EXPECT_EQ(ends_of({store("y", {guard(rows, GuardMask::loads_and_stores)})}), 1);
  EXPECT_EQ(ends_of({store("y", {guard(rows, GuardMask::stores)})}), 0);
  EXPECT_EQ(ends_of({store("y", {guard(rows, GuardMask::loads)})}), 0);
}

}  // namespace
}  // namespace emulsion
