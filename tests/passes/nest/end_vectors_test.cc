// Which vectors end with the domain in the last edge of a partitioned loop, and that values stay.

#include "passes/nest/end_vectors.h"

#include <gtest/gtest.h>

#include <string>

#include "dsl/error.h"
#include "dsl/operators.h"
#include "passes/lower/lower.h"
#include "passes/nest/partition_loops.h"
#include "passes/nest/verify_nest.h"
#include "passes/nest/visit_nest.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/nest/test_nests.h"

namespace emulsion {
namespace {

const Extent kRowCount = Extent::size("B");
const Axis kTile("tile"), kInTile("in_tile"), kLane("lane"), kFlat("flat"), kOfFlat("of_flat");

Axis rows_axis(const Extent& extent = kRowCount) { return Axis("i", extent); }

// q = 2 x and p = q + 1, both in the loop over tiles of y = p * p; p in vectors across the rows.
Schedule across(const Extent& extent, int64_t tile, int64_t lanes, Tail tail = Tail::automatic) {
  const Axis i = rows_axis(extent);
  const Tensor q = compute("q", {i}, input("x", f32, {extent})(i) * 2.0f);
  const Tensor p = compute("p", {i}, q(i) + 1.0f);
  Schedule schedule(compute("y", {i}, p(i) * p(i)));
  schedule["y"].split(i, kTile, kInTile, tile);
  schedule["q"].compute_at("y", kTile);
  schedule["p"].compute_at("y", kTile);
  if (lanes == tile) {
    schedule["p"].vectorize(i);
  } else {
    schedule["p"].split(i, i, kLane, lanes, tail).vectorize(kLane);
  }
  return schedule;
}

// q of each row, p = x * q of its three elements in vectors through several rows, y = p + 1 too.
Schedule through(bool result_too = true) {
  const Axis i = rows_axis(), j("j", 3);
  const Tensor x = input("x", f32, {kRowCount, 3});
  const Tensor q = compute("q", {i}, x(i, 0) * 2.0f);
  const Tensor p = compute("p", {i, j}, x(i, j) * q(i));
  Schedule schedule(compute("y", {i, j}, p(i, j) + 1.0f));
  StageSchedule& y = schedule["y"].split(i, kTile, kInTile, 4);
  const auto flatten = [](StageSchedule& stage, const Axis& row, const Axis& column) {
    const Axis flat("flat", 12);
    stage.fuse(row, column, flat).split(flat, flat, kOfFlat, 4).vectorize(kOfFlat);
  };
  if (result_too) flatten(y, kInTile, j);
  schedule["q"].compute_at("y", kTile);
  schedule["p"].compute_at("y", kTile);
  flatten(schedule["p"], i, j);
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

TEST(EndVectors, AcrossRows) {
  const Schedule schedule = across(kRowCount, 8, 4);
  EXPECT_EQ(last_part(schedule), R"(for y.tile in B / 8 .. +((B + 7) / 8 - B / 8)
  alloc q[y.tile * 8 .. +8] in stack
    for q.i in B % 8
      execute q[i] = x[min(i, B - 1)] * 2f  where i = y.tile * 8 + q.i
    alloc p[y.tile * 8 .. +8] in stack
      for p.i in min((B % 8 + 3) / 4, 2)
        vectorized p.lane in 4
          execute p[i] = q[i] + 1f  where i = y.tile * 8 + p.i * 4 + p.lane  if i < B (loads and stores)
      for y.in_tile in 8
        store y[i] = p[i] * p[i]  where i = y.tile * 8 + y.in_tile  if i < B
)");
  EXPECT_TRUE(is_right_for_any_size(schedule));
}

TEST(EndVectors, ThroughSeveralRows) {
  const Schedule schedule = through();
  const std::string part = last_part(schedule);
  EXPECT_TRUE(stands_in(part, "for q.i in B % 4\n")) << part;
  EXPECT_TRUE(stands_in(part, "for p.flat in min((B % 4 * 3 + 3) / 4, 3)\n")) << part;
  EXPECT_TRUE(stands_in(part, "p[i, j] = x[i, j] * q[i]"))
      << "no clamp that a mask leaves nothing of";
  // Nothing beyond the end is stored of the output anyway.
  EXPECT_TRUE(stands_in(part, "for y.flat in min((B % 4 * 3 + 3) / 4, 3)\n")) << part;
  EXPECT_TRUE(is_right_for_any_size(schedule));
}

// The mask is of the axis: what data say is read keeps the clamp that it was given.
TEST(EndVectors, WhatIsReadElsewhereStaysInside) {
  const Axis i = rows_axis();
  const Tensor x = input("x", f32, {kRowCount}), d = input("d", i32, {kRowCount});
  const Expr last = extent_value(kRowCount) - 1;
  const Tensor q = compute("q", {i}, input("z", f32, {kRowCount})(i) * 2.0f);
  const Tensor p = compute("p", {i}, x(max(min(Expr(i) + d(i), last), 0)) + q(i));
  Schedule schedule(compute("y", {i}, p(i) * 2.0f));
  schedule["y"].split(i, kTile, kInTile, 8);
  schedule["q"].compute_at("y", kTile);
  schedule["p"].compute_at("y", kTile).split(i, i, kLane, 4).vectorize(kLane);
  const std::string part = last_part(schedule);
  EXPECT_TRUE(stands_in(part, "p[i] = x[max(min(i + d[i], B - 1), 0)] + q[i]")) << part;
  EXPECT_TRUE(is_right_for_any_size(schedule));
}

TEST(EndVectors, AResultThatIsComputedRowByRow) {
  const Schedule schedule = through(false);
  const std::string part = last_part(schedule);
  EXPECT_TRUE(stands_in(part, "for p.flat in min((B % 4 * 3 + 3) / 4, 3)\n")) << part;
  EXPECT_TRUE(stands_in(part, "for y.in_tile in 4\n")) << part;
  EXPECT_TRUE(is_right_for_any_size(schedule));
}

// Rows of numbers, and what is left of a size.
TEST(EndVectors, OfOtherExtents) {
  const std::string part = last_part(across(21, 8, 4));
  EXPECT_TRUE(stands_in(part, "for q.i in 5\n") && stands_in(part, "for p.i in 2\n")) << part;
  EXPECT_TRUE(stands_in(last_part(across(19, 8, 4)), "for p.i in 1\n"));
  for (const Extent& extent : {Extent(21), Extent(19), kRowCount * 2, kRowCount + 3}) {
    EXPECT_TRUE(is_right_for_any_size(across(extent, 8, 4))) << extent.to_string();
    EXPECT_TRUE(is_right_for_any_size(across(extent, 16, 4))) << extent.to_string();
  }
}

// Several, one of what the other makes; and threads that share the tiles.
TEST(EndVectors, OneBehindTheOther) {
  const Axis i = rows_axis();
  const Tensor q = compute("q", {i}, input("x", f32, {kRowCount})(i) * 2.0f);
  const Tensor p = compute("p", {i}, q(i) + 1.0f), r = compute("r", {i}, p(i) * q(i));
  Schedule schedule(compute("y", {i}, r(i) - p(i)));
  schedule["y"].split(i, kTile, kInTile, 8);
  for (const char* name : {"q", "p", "r"}) schedule[name].compute_at("y", kTile);
  for (const char* name : {"p", "r"}) schedule[name].split(i, i, kLane, 4).vectorize(kLane);
  schedule["y"].specialize(size_value("B") >= 16).parallel(kTile);
  const std::string part = last_part(schedule);
  for (const char* loop : {"for q.i in B % 8\n", "for p.i in min(", "for r.i in min("}) {
    EXPECT_TRUE(stands_in(part, loop)) << part;
  }
  EXPECT_TRUE(is_right_for_any_size(schedule));
}

TEST(EndVectors, TheVerifierMissesAVectorThatIsLeftOut) {
  LoopNest nest = in_parts(across(kRowCount, 8, 4));
  verify_nest(nest);
  nest.root = change_expressions(nest.root, [](const Expr& e) {
    return to_string(e) == "min((B % 8 + 3) / 4, 2)" ? int_constant(1) : e;
  });
  EXPECT_THROW(verify_nest(nest), InternalError);
}

// --- where they stay as they are ----------------------------------------------------------------

bool has_masks(const Schedule& schedule) {
  return stands_in(to_string(in_parts(schedule)), "(loads and stores)");
}

TEST(EndVectors, NotWhereNothingElseEndsThen) {
  const Axis i = rows_axis();
  Schedule alone(across(kRowCount, 8, 4).graph());
  alone["q"].compute_inline();
  alone["y"].split(i, kTile, kInTile, 8);
  alone["p"].compute_at("y", kTile).split(i, i, kLane, 4).vectorize(kLane);
  EXPECT_FALSE(has_masks(alone)) << to_string(in_parts(alone));
  EXPECT_TRUE(is_right_for_any_size(alone));
}

TEST(EndVectors, NotWhereTilesDivideTheRows) {
  EXPECT_FALSE(has_masks(across(kRowCount * 8, 8, 4)));
  EXPECT_FALSE(has_masks(across(24, 8, 4)));
}

TEST(EndVectors, NotOfOneVectorOfAllRows) {
  const Schedule schedule = across(kRowCount, 4, 4);
  EXPECT_FALSE(has_masks(schedule)) << last_part(schedule);
  EXPECT_TRUE(is_right_for_any_size(schedule));
}

// r is a sum in vectors, which goes on beyond the end, and needs p there; q it does not need.
TEST(EndVectors, NotOfWhatIsReadBeyondTheEnd) {
  const Axis i = rows_axis(), k("k", 3);
  const Tensor x = input("x", f32, {kRowCount, 3}), z = input("z", f32, {kRowCount});
  const Tensor q = compute("q", {i}, z(i) * 2.0f), o = compute("o", {i}, z(i) - 2.0f);
  const Tensor p = compute("p", {i}, q(i) + 1.0f), s = compute("s", {i}, o(i) + 3.0f);
  const Tensor r = compute("r", {i}, sum(k, x(i, k) * p(i)));
  Schedule schedule(compute("y", {i}, r(i) * s(i)));
  schedule["y"].split(i, kTile, kInTile, 8);
  for (const char* name : {"q", "o", "p", "s", "r"}) schedule[name].compute_at("y", kTile);
  for (const char* name : {"p", "s", "r"}) schedule[name].split(i, i, kLane, 4).vectorize(kLane);
  const std::string part = last_part(schedule);
  EXPECT_TRUE(stands_in(part, "for q.i in 8\n") && stands_in(part, "for p.i in 2\n")) << part;
  EXPECT_TRUE(stands_in(part, "for o.i in B % 8\n")) << part;
  EXPECT_TRUE(stands_in(part, "for s.i in min((B % 8 + 3) / 4, 2)\n")) << part;
  EXPECT_TRUE(is_right_for_any_size(schedule));
}

TEST(EndVectors, NotOfAVectorThatStartsEarlier) {
  const Schedule schedule = across(kRowCount, 6, 4, Tail::shift_inwards);
  EXPECT_FALSE(has_masks(schedule)) << last_part(schedule);
  EXPECT_TRUE(is_right_for_any_size(schedule));
}

TEST(EndVectors, NotOfASum) {
  const Axis i = rows_axis(), k("k", 3);
  const Tensor x = input("x", f32, {kRowCount, 3}), z = input("z", f32, {kRowCount});
  const Tensor q = compute("q", {i}, z(i) * 2.0f);
  const Tensor p = compute("p", {i}, sum(k, x(i, k) * q(i)));
  Schedule schedule(compute("y", {i}, p(i) * 2.0f));
  schedule["y"].split(i, kTile, kInTile, 8);
  schedule["q"].compute_at("y", kTile);
  schedule["p"].compute_at("y", kTile).split(i, i, kLane, 4).vectorize(kLane);
  EXPECT_FALSE(has_masks(schedule)) << last_part(schedule);
  EXPECT_TRUE(is_right_for_any_size(schedule));
}

// What is kept from one tile to the next.
TEST(EndVectors, NotOfWhatIsStoredForAllTiles) {
  Schedule schedule = across(kRowCount, 8, 4);
  schedule["p"].store_root();
  EXPECT_TRUE(is_right_for_any_size(schedule));
}

// The reader goes the other way than what it reads.
TEST(EndVectors, NotWhereTheFusedAxisIsInside) {
  const Axis i = rows_axis(), j("j", 3);
  const Tensor x = input("x", f32, {3, kRowCount});
  const Tensor q = compute("q", {i}, x(0, i) * 2.0f);
  const Tensor p = compute("p", {j, i}, x(j, i) * q(i));
  Schedule schedule(compute("y", {j, i}, p(j, i) + 1.0f));
  schedule["y"].reorder({j, i}).split(i, kTile, kInTile, 4);
  schedule["q"].compute_at("y", kTile);
  const Axis flat("flat", 12);
  schedule["p"]
      .compute_at("y", kTile)
      .fuse(j, i, flat)
      .split(flat, flat, kOfFlat, 4)
      .vectorize(kOfFlat);
  EXPECT_FALSE(has_masks(schedule)) << last_part(schedule);
  EXPECT_TRUE(is_right_for_any_size(schedule));
}

}  // namespace
}  // namespace emulsion
