// Storage that is kept over loops: sliding windows, folded storage, hoisted allocations and
// layouts. Each schedule is printed, parsed back and lowered again, and each nest is run against
// its graph.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/error.h"
#include "dsl/operators.h"
#include "passes/lower/lower.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

const Axis x("x", 8), yo("yo"), yi("yi"), r_o("r_o"), r_i("r_i");

// by = three rows of bx, bx = three columns of the image.
struct Blur {
  explicit Blur(Extent rows = 6) : y("y", rows), r("y", rows + 2) {
    image = input("image", f32, {rows + 2, 10});
    bx = compute("bx", {r, x}, image(r, x) + image(r, x + 1) + image(r, x + 2));
    by = compute("by", {y, x}, bx(y, x) + bx(y + 1, x) + bx(y + 2, x));
    schedule = Schedule(by);
  }
  Axis y, r;
  Tensor image, bx, by;
  Schedule schedule{Graph(compute("unused", {}, constant(f32, 0)))};
};

TEST(LowerStorage, SlidesAlongRows) {
  Blur b;
  b.schedule[b.bx].store_root().compute_at(b.by, b.y);
  expect_nest(b.schedule);
  UopCounts counts = count_uops(lower(b.by, b.schedule));
  EXPECT_EQ(counts.executes, 8 * 8);  // every point of bx once
  EXPECT_EQ(counts.stores, 6 * 8);
}

TEST(LowerStorage, SlidesAlongARunTimeSize) {
  Blur b(Extent::size("B"));
  b.schedule[b.bx].store_root().compute_at(b.by, b.y);
  expect_nest(b.schedule);
  EXPECT_EQ(count_uops(lower(b.by, b.schedule), {{"B", 1000}}).executes, 1002 * 8);
  EXPECT_EQ(count_uops(lower(b.by, b.schedule), {{"B", 1}}).executes, 3 * 8);
  EXPECT_EQ(count_uops(lower(b.by, b.schedule), {{"B", 0}}).executes, 0);
}

TEST(LowerStorage, SlidesWithinTiles) {
  Blur b;
  b.schedule[b.by].split(b.y, yo, yi, 4);
  b.schedule[b.bx].store_at(b.by, yo).compute_at(b.by, yi).vectorize(x, 4);
  expect_nest(b.schedule);
}

TEST(LowerStorage, SlidesAlongBothAxes) {
  Blur b;
  b.schedule[b.bx].store_root().compute_at(b.by, x);
  expect_nest(b.schedule);
  EXPECT_EQ(count_uops(lower(b.by, b.schedule)).executes, 8 * 8);
}

TEST(LowerStorage, SlidesAlongTheInnerLoopOnly) {
  Blur b;
  b.schedule[b.by].split(b.y, yo, yi, 2);
  b.schedule[b.bx].store_root().compute_at(b.by, yi);
  expect_nest(b.schedule);  // each yo computes its first window again
}

TEST(LowerStorage, SlidesByTiles) {
  Blur b(Extent::size("B"));
  b.schedule[b.by].split(b.y, yo, yi, 4);
  b.schedule[b.bx].store_root().compute_at(b.by, yo).split(b.r, r_o, r_i, 2);
  expect_nest(b.schedule);
}

TEST(LowerStorage, SlidesDown) {
  const Axis i("i", 6), j("j", 8);
  Tensor a = compute("a", {j}, input("in", f32, {8})(j) * 2.0f);
  Tensor z = compute("z", {i}, a(5 - i) + a(6 - i) + a(7 - i));
  Schedule schedule(z);
  schedule[a].store_root().compute_at(z, i);
  expect_nest(schedule);
  EXPECT_EQ(count_uops(lower(z, schedule)).executes, 8);
}

TEST(LowerStorage, AChainSlidesTogether) {
  const Axis i("i", 6), j("j", 8), l("l", 10);
  Tensor a = compute("a", {l}, input("in", f32, {10})(l) * 2.0f);
  Tensor c = compute("c", {j}, a(j) + a(j + 1) + a(j + 2));
  Tensor z = compute("z", {i}, c(i) + c(i + 1) + c(i + 2));
  Schedule schedule(z);
  schedule[c].store_root().compute_at(z, i);
  schedule[a].store_root().compute_at(z, i);
  expect_nest(schedule);
  EXPECT_EQ(count_uops(lower(z, schedule)).executes, 8 + 10);
}

TEST(LowerStorage, InsideAStageThatSlides) {
  const Axis i("i", 6), j("j", 8), l("l", 10);
  Tensor a = compute("a", {l}, input("in", f32, {10})(l) * 2.0f);
  Tensor c = compute("c", {j}, a(j) + a(j + 1) + a(j + 2));
  Tensor z = compute("z", {i}, c(i) + c(i + 1) + c(i + 2));
  Schedule schedule(z);
  schedule[c].store_root().compute_at(z, i);
  schedule[a].store_at(z, i).compute_at(c, j);
  expect_nest(schedule);
}

// Sums in the middle of a chain, in registers: they read what slides outside of their own loops.
TEST(LowerStorage, WhatAnAccumulatorInAWindowReadsSlidesToo) {
  const Axis i("i", 6), j("j", 8), l("l", 10), k("k", 3);
  Tensor a = compute("a", {l}, input("in", f32, {10})(l) * 2.0f);
  Tensor c = compute("c", {j}, sum(k, a(j + k)));
  Tensor z = compute("z", {i}, c(i) + c(i + 1) + c(i + 2));
  Schedule schedule(z);
  schedule[c].cache_write("acc").store_root().compute_at(z, i);
  schedule["acc"].compute_at("c", j);
  schedule[a].store_root().compute_at(z, i);
  expect_nest(schedule);
  EXPECT_EQ(count_uops(lower(z, schedule)).executes, 10 + 8 * 3);
  Schedule tiled(z);
  tiled[z].split(i, yo, yi, 3);
  tiled[c].cache_write("acc").store_at(z, yo).compute_at(z, yi);
  tiled["acc"].compute_at("c", j);
  tiled[a].store_at(z, yo).compute_at(z, yi);
  const LoopNest nest = lower(tiled.graph(), tiled);
  EXPECT_EQ(count_uops(nest).executes, 2 * (7 + 5 * 3));
  EXPECT_TRUE(computes(nest, tiled.graph()));
}

// What is kept while the sums of one element are computed is read from inside of these loops.
TEST(LowerStorage, WhatIsReadInTheLoopsOfAWindowIsWhatIsNew) {
  const Axis i("i", 6), j("j", 8), l("l", 10), k("k", 3);
  Tensor a = compute("a", {l}, input("in", f32, {10})(l) * 2.0f);
  Tensor c = compute("c", {j}, sum(k, a(j + k)));
  Tensor z = compute("z", {i}, c(i) + c(i + 1) + c(i + 2));
  Schedule schedule(z);
  schedule[c].cache_write("acc").store_root().compute_at(z, i);
  schedule["acc"].compute_at("c", j);
  schedule[a].compute_at("c", j);
  expect_nest(schedule);
  EXPECT_EQ(count_uops(lower(z, schedule)).executes, 8 * (3 + 3));
}

TEST(LowerStorage, AStridedReaderMovesByItsStride) {
  const Axis i("i", 4), j("j", 9);
  Tensor a = compute("a", {j}, input("in", f32, {9})(j) * 2.0f);
  Tensor z = compute("z", {i}, a(i * 2) + a(i * 2 + 1) + a(i * 2 + 2));
  Schedule schedule(z);
  schedule[a].store_root().compute_at(z, i);
  expect_nest(schedule);
  EXPECT_EQ(count_uops(lower(z, schedule)).executes, 9);
}

TEST(LowerStorage, ADilatedConvolutionKeepsItsReach) {
  const Axis i("i", 8), j("j", 16), k("k", 3);
  Tensor a = compute("a", {j}, input("in", f32, {16})(j) * 2.0f);
  Tensor z = compute("z", {i}, sum(k, a(i + k * 4) * weight("w", f32, {3})(k)));
  Schedule schedule(z);
  schedule[a].store_root().compute_at(z, i);
  expect_nest(schedule);
  EXPECT_EQ(count_uops(lower(z, schedule)).executes, 16 + 8 * 3);
}

TEST(LowerStorage, ClampedEdgesAreAHalo) {
  const Axis i("i", Extent::size("B"));
  const Expr last = extent_value(Extent::size("B") - 1);
  Tensor a = compute("a", {i}, input("in", f32, {Extent::size("B")})(i) * 2.0f);
  Tensor z = compute("z", {i}, a(max(i - 1, 0)) + a(i) + a(min(i + 1, last)));
  Schedule schedule(z);
  schedule[a].store_root().compute_at(z, i);
  expect_nest(schedule);
  EXPECT_EQ(count_uops(lower(z, schedule), {{"B", 100}}).executes, 102);
}

// Steps of a Jacobi iteration, each a stencil of three rows with the one before it in a window: the
// first step of the grid computes a pyramid of rows, every other step one row of each stage.
TEST(LowerStorage, TheWindowsOfAJacobiIterationAreCountedStepByStep) {
  constexpr int kSteps = 8, kRows = 40, kColumns = 4;
  const Axis c("c", kColumns);
  Tensor before = input("grid", f32, {kRows + 2 * kSteps, kColumns});
  std::vector<Tensor> stages;
  std::vector<Axis> rows;
  for (int i = 0; i < kSteps; ++i) {
    rows.emplace_back("r", kRows + 2 * (kSteps - 1 - i));
    const Axis& r = rows.back();
    before = compute("u" + std::to_string(i), {r, c},
                     before(r, c) + before(r + 1, c) + before(r + 2, c));
    stages.push_back(before);
  }
  Schedule schedule(stages.back());
  int64_t points = 0;
  for (int i = 0; i + 1 < kSteps; ++i) {
    schedule[stages[i]].store_root().compute_at(stages.back(), rows.back());
    points += (kRows + 2 * (kSteps - 1 - i)) * kColumns;
  }
  const LoopNest nest = lower(schedule.graph(), schedule);
  EXPECT_EQ(count_uops(nest).executes, points);
  EXPECT_EQ(count_uops(nest).stores, kRows * kColumns);
  EXPECT_TRUE(computes(nest, schedule.graph()));
}

TEST(LowerStorage, WithoutOverlapEachIterationComputesItsOwn) {
  const Axis i("i", 4), j("j", 8);
  Tensor a = compute("a", {j}, input("in", f32, {8})(j) * 2.0f);
  Tensor z = compute("z", {i}, a(i * 2) + a(i * 2 + 1));
  Schedule schedule(z);
  schedule[a].store_root().compute_at(z, i);
  expect_nest(schedule);
}

TEST(LowerStorage, AWindowThatMovesUnevenlyIsComputedAgain) {
  const Axis i("i", 8), j("j", 6);
  Tensor a = compute("a", {j}, input("in", f32, {6})(j) * 2.0f);
  Tensor z = compute("z", {i}, a(i / 2) + a(i / 2 + 1));
  Schedule schedule(z);
  schedule[a].store_root().compute_at(z, i);
  expect_nest(schedule);
}

// Of a corner that moves along the diagonal, a row and a column are new: all of it is computed.
TEST(LowerStorage, AWindowThatMovesAlongTwoAxesIsComputedAgain) {
  const Axis i("i", 5), r("r", 6), c("c", 6);
  Tensor a = compute("a", {r, c}, input("in", f32, {6, 6})(r, c) * 2.0f);
  Tensor z = compute("z", {i}, a(i, i) + a(i, i + 1) * 3.0f + a(i + 1, i) * 5.0f);
  Schedule schedule(z);
  schedule[a].store_root().compute_at(z, i);
  const LoopNest nest = lower(schedule.graph(), schedule);
  EXPECT_EQ(count_uops(nest).executes, 5 * 4);
  EXPECT_TRUE(computes(nest, schedule.graph()));
}

TEST(LowerStorage, AnAccumulatorThatSlides) {
  const Axis i("i", 4), j("j", 6), k("k", 5);
  Tensor a = compute("a", {j}, sum(k, input("in", f32, {6, 5})(j, k)));
  Tensor z = compute("z", {i}, a(i) * a(i + 2));
  Schedule schedule(z);
  schedule[a].store_root().compute_at(z, i);
  expect_nest(schedule);
}

TEST(LowerStorage, FoldedAsSaid) {
  Blur b;
  b.schedule[b.bx].store_root().compute_at(b.by, b.y).fold_storage(b.r, 3);
  expect_nest(b.schedule);
}

TEST(LowerStorage, HoistedOutOfTheLoopWhereItIsStored) {
  Blur b;
  b.schedule[b.by].split(b.y, yo, yi, 2);
  b.schedule[b.bx].compute_at(b.by, yi).hoist_storage(b.by, yo).store_in(Memory::heap);
  expect_nest(b.schedule);
}

TEST(LowerStorage, AnotherLayout) {
  Blur b;
  b.schedule[b.bx].compute_at(b.by, b.y).reorder_storage({b.r, x}).align_storage(b.r, 4);
  expect_nest(b.schedule);
}

TEST(LowerStorage, TheOrderOfTheAxesIsNoOther) {
  Blur b, plain;
  b.schedule[b.bx].reorder_storage({x, b.r});
  EXPECT_EQ(to_string(lower(b.by, b.schedule)), to_string(lower(plain.by, plain.schedule)));
}

TEST(LowerStorage, Scratchpad) {
  Blur b(Extent::size("B"));
  b.schedule[b.bx].compute_at(b.by, b.y).store_in(Memory::scratchpad);
  expect_nest(b.schedule);
}

// --- refused ------------------------------------------------------------------------------------

void refused(const Schedule& schedule, const std::string& directive, const std::string& cause) {
  const auto lowering = [&] { lower(schedule.graph(), schedule); };
  EXPECT_TRUE(throws_with<ScheduleError>(lowering, directive + ": "));
  EXPECT_TRUE(throws_with<ScheduleError>(lowering, cause));
}

TEST(LowerStorage, RefusesAFoldSmallerThanTheWindow) {
  Blur b;
  b.schedule[b.bx].store_root().compute_at(b.by, b.y).fold_storage(b.r, 2);
  refused(b.schedule, "bx.fold_storage(y, 2)",
          "expected at least 3, the indices of y that are kept at once, got 2");
}

TEST(LowerStorage, RefusesAFoldOfWhatIsSweptByAnInnerLoop) {
  Blur b;
  b.schedule[b.bx].store_root().compute_at(b.by, x).fold_storage(x, 4);
  refused(b.schedule, "bx.fold_storage(x, 4)", "expected at least 8");
}

TEST(LowerStorage, RefusesToUnrollALoopThatVaries) {
  Blur b;
  b.schedule[b.bx].store_root().compute_at(b.by, b.y).unroll(b.r);
  refused(b.schedule, "bx.unroll(y)", "got select(by.y == 0, 3, 1)");
}

TEST(LowerStorage, RefusesARunTimeSizeInTheScratchpad) {
  Blur b(Extent::size("B"));
  b.schedule[b.bx].store_in(Memory::scratchpad);
  refused(b.schedule, "bx.store_in(scratchpad)", "one that depends on a run-time size");
}

}  // namespace
}  // namespace emulsion
