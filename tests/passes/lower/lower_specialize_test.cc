// Specializations of a stage's loops, by conditions over the run-time sizes: the branches that they
// make, what each may do with what its condition says, and what is refused.

#include <gtest/gtest.h>

#include "dsl/operators.h"
#include "passes/lower/lower.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/lower/lower_refuses.h"

namespace emulsion {
namespace {

const Extent kRows = Extent::size("B");
const Expr kBatch = size_value("B");
const Axis n("n", 6), k("k", 3), mo("mo"), mi("mi"), no("no"), ni("ni");

// y = max(mm + 1, 0), mm = x * w
struct Linear {
  Axis m{"m", kRows};
  Tensor x = input("x", f32, {kRows, 3}), w = weight("w", f32, {3, 6});
  Tensor mm = compute("mm", {m, n}, sum(k, x(m, k) * w(k, n)));
  Tensor y = compute("y", {m, n}, max(mm(m, n) + 1.0f, 0.0f));
  Schedule schedule{y};
};

struct Doubled {
  explicit Doubled(const Extent& rows = kRows) : m("m", rows) {
    y = compute("y", {m}, input("x", f32, {rows})(m) * 2.0f);
    schedule = Schedule(y);
  }
  Axis m;
  Tensor y;
  Schedule schedule{compute("unused", {}, constant(f32, 0))};
};

const std::vector<int64_t> kBatches = {0, 1, 2, 3, 4, 5, 7, 8, 16, 17, 24};

TEST(LowerSpecialize, ASizeThatIsKnownIsUnrolled) {
  Doubled d;
  d.schedule[d.y].specialize(kBatch == 4).unroll(d.m);
  expect_nest(d.schedule, kBatches);
}

TEST(LowerSpecialize, TheFirstConditionThatHolds) {
  Doubled d;
  d.schedule[d.y].specialize(kBatch == 1).specialize(kBatch >= 8).split(d.m, mo, mi, 8);
  d.schedule[d.y].parallel(mo).vectorize(mi);
  expect_nest(d.schedule, kBatches);
}

TEST(LowerSpecialize, EnoughToShiftInwards) {
  Doubled d;
  d.schedule[d.y].specialize(kBatch >= 8).vectorize(d.m, 8, Tail::shift_inwards);
  expect_nest(d.schedule, kBatches);
}

TEST(LowerSpecialize, ALengthThatIsKnownIsUnrolled) {
  const Axis i("i", 3), r("r", kRows);
  Schedule schedule(compute("y", {i}, sum(r, input("x", f32, {3, kRows})(i, r))));
  schedule["y"].specialize(kBatch == 4).unroll(r);
  expect_nest(schedule, kBatches);
}

// The tail of a reduction is that of the general case, whatever the condition says of its length.
TEST(LowerSpecialize, AMultipleLeavesAReductionItsTail) {
  const Axis i("i", 8), r("r", kRows), ro("ro"), ri("ri");
  Schedule schedule(compute("y", {i}, sum(r, input("x", f32, {8, kRows})(i, r))));
  schedule["y"].split(r, ro, ri, 4).specialize(kBatch % 4 == 0).unroll(i);
  const LoopNest nest = lower(schedule.graph(), schedule);
  const Stage& stage = nest.stage("y");
  ASSERT_EQ(stage.specializations.size(), 1U);
  EXPECT_EQ(stage.transforms[0].tail, Tail::guard);
  EXPECT_EQ(stage.specializations[0].transforms[0].tail, Tail::guard);
  for (int64_t size : kBatches) {
    EXPECT_TRUE(lowers(schedule.graph(), schedule, {{"B", size}})) << size;
  }
}

TEST(LowerSpecialize, AMultipleLeavesFusedReductionLoopsTheirTail) {
  const Axis i("i", 8), r("r", kRows), s("s", 2), f("f"), fo("fo"), fi("fi");
  Schedule schedule(compute("y", {i}, sum({r, s}, input("x", f32, {8, kRows, 2})(i, r, s))));
  schedule["y"].fuse(r, s, f).split(f, fo, fi, 4).specialize(kBatch % 2 == 0).unroll(i);
  const LoopNest nest = lower(schedule.graph(), schedule);
  ASSERT_EQ(nest.stage("y").specializations.size(), 1U);
  EXPECT_EQ(nest.stage("y").specializations[0].transforms[1].tail, Tail::guard);
}

TEST(LowerSpecialize, AMultipleNeedsNoTail) {
  Doubled d(kRows * Extent(2));
  d.schedule[d.y].specialize(kBatch % 4 == 0).vectorize(d.m, 8);
  expect_nest(d.schedule, kBatches);
}

TEST(LowerSpecialize, StartsFromWhatStandsBeforeIt) {
  Doubled d;
  d.schedule[d.y].split(d.m, mo, mi, 4).specialize(kBatch >= 16 && kBatch % 4 == 0).vectorize(mi);
  expect_nest(d.schedule, kBatches);
}

TEST(LowerSpecialize, BothNestsOfAReduction) {
  Linear l;
  l.schedule[l.y].compute_root();
  l.schedule[l.mm].specialize(kBatch == 1).reorder({n, k, l.m}).vectorize(n);
  expect_nest(l.schedule, kBatches);
}

TEST(LowerSpecialize, WhatIsComputedInsideIsThereInEveryCase) {
  Linear l;
  l.schedule[l.y].split(l.m, mo, mi, 2).specialize(kBatch >= 8).parallel(mo).vectorize(n);
  l.schedule[l.mm].compute_at(l.y, mo);
  expect_nest(l.schedule, kBatches);
}

TEST(LowerSpecialize, WhatIsComputedInsideCoversEveryCase) {
  Linear l;
  l.schedule[l.y].split(l.m, mo, mi, 6).specialize(kBatch >= 8);
  l.schedule[l.y].split(mi, Axis("mio"), Axis("mii"), 4, Tail::guard);
  l.schedule[l.mm].compute_at(l.y, mo);
  for (int64_t batch : kBatches) EXPECT_TRUE(lowers(l.y, l.schedule, {{"B", batch}}));
}

TEST(LowerSpecialize, ASpecializationInsideASpecialization) {
  Linear l;
  l.schedule[l.y].split(l.m, mo, mi, 2).specialize(kBatch >= 3).parallel(mo);
  l.schedule[l.mm].compute_at(l.y, mo).specialize(kBatch == 8).unroll(l.m).specialize(kBatch == 4);
  for (int64_t batch : kBatches) EXPECT_TRUE(lowers(l.y, l.schedule, {{"B", batch}}));
}

TEST(LowerSpecialize, TwoSizes) {
  const Extent columns = Extent::size("C");
  const Axis m("m", kRows), c("c", columns);
  Tensor y = compute("y", {m, c}, input("x", f32, {kRows, columns})(m, c) + 1.0f);
  Schedule schedule(y);
  schedule[y].specialize(kBatch == 1 && size_value("C") >= 4).vectorize(c, 4, Tail::shift_inwards);
  schedule[y].specialize(kBatch == 2 || size_value("C") == 1).reorder({m, c});
  for (int64_t b : {0, 1, 2, 3}) {
    for (int64_t width : {0, 1, 3, 4, 9}) {
      EXPECT_TRUE(lowers(y, schedule, {{"B", b}, {"C", width}}));
    }
  }
}

// Twice as many rows and some columns, as one axis: their number is bounded, and not what it is of.
Tensor joined() {
  const Axis m("m", kRows * 2 + Extent::size("C"));
  return compute("y", {m}, input("x", f32, {m.extent()})(m) * 2.0f);
}

TEST(LowerSpecialize, ABoundOfSeveralSizes) {
  const Tensor y = joined();
  Schedule schedule(y);
  schedule[y]
      .specialize(2 * kBatch + size_value("C") > 7)
      .split(Axis("m"), mo, mi, 8, Tail::shift_inwards);
  for (int64_t b : {0, 1, 3, 4, 9}) {
    for (int64_t c : {0, 1, 2, 7, 8}) EXPECT_TRUE(lowers(y, schedule, {{"B", b}, {"C", c}}));
  }
}

// The general case clamps nothing: the masked stores of the specialization alone load past the end.
TEST(LowerSpecialize, MaskedStoresOfOneCaseClampItsLoads) {
  Doubled d;
  d.schedule[d.y].specialize(kBatch >= 3).split(d.m, mo, mi, 4, Tail::predicate_stores);
  const LoopNest nest = lower(d.schedule.graph(), d.schedule);
  EXPECT_EQ(to_string(nest.stage("y").body), "x[min(m, B - 1)] * 2f");
}

TEST(LowerSpecialize, CountsTheSideThatRuns) {
  Doubled d;
  d.schedule[d.y].specialize(kBatch == 3).split(d.m, mo, mi, 2);
  const LoopNest nest = lower(d.y, d.schedule);
  EXPECT_EQ(count_uops(nest, {{"B", 3}}).stores, 4);  // two tiles of two, one instance guarded away
  EXPECT_EQ(count_uops(nest, {{"B", 5}}).stores, 5);
}

class SpecializeRefused : public LowerRefuses {};

TEST_F(SpecializeRefused, UnrolledWithoutAValue) {
  Doubled d;
  d.schedule[d.y].specialize(kBatch >= 4).unroll(d.m);
  refused(d.schedule, "y.unroll(m)", "expected a loop whose extent is a number, got B");
}

TEST_F(SpecializeRefused, ShiftedInwardsWithoutEnough) {
  Doubled d;
  d.schedule[d.y].specialize(kBatch >= 7).split(d.m, mo, mi, 8, Tail::shift_inwards);
  refused(d.schedule, "y.split(m, mo, mi, 8, shift_inwards)", "expected an extent of at least 8");
}

TEST_F(SpecializeRefused, ShiftedInwardsWithoutEnoughOfSeveralSizes) {
  const Tensor y = joined();
  const Expr b = kBatch, c = size_value("C");
  for (const Expr& condition :
       {2 * b + c > 6, b + c >= 7, 2 * b + c <= 8, 2 * b + c >= 8 || b >= 4, c - 65536 * b >= 8}) {
    Schedule schedule(y);
    schedule[y].specialize(condition).split(Axis("m"), mo, mi, 8, Tail::shift_inwards);
    refused(schedule, "y.split(m, mo, mi, 8, shift_inwards)", "expected an extent of at least 8");
  }
}

TEST_F(SpecializeRefused, NegationSaysNothing) {
  Doubled d;
  d.schedule[d.y].specialize(!(kBatch < 8)).split(d.m, mo, mi, 8, Tail::shift_inwards);
  refused(d.schedule, "y.split(m, mo, mi, 8, shift_inwards)", "expected an extent of at least 8");
}

TEST_F(SpecializeRefused, PlaceBehindIt) {
  Linear l;
  l.schedule[l.mm].specialize(kBatch == 1).compute_at(l.y, l.m);
  refused(l.schedule, "mm.compute_at(y, m)",
          "expected a directive on loops (split, fuse, reorder, vectorize, unroll, parallel, "
          "partition or cut) "
          "behind specialize, got compute_at; legal: in front of the first specialize");
}

TEST_F(SpecializeRefused, NewStageBehindIt) {
  Linear l;
  l.schedule[l.mm].specialize(kBatch == 1).copy_in(l.x, "c");
  refused(l.schedule, "mm.copy_in(x, c)", "expected a directive on loops");
}

TEST_F(SpecializeRefused, SplitOfAReductionBehindIt) {
  Linear l;
  l.schedule[l.mm].specialize(kBatch == 1).split(k, Axis("ko"), Axis("ki"), 3);
  refused(l.schedule, "mm.split(k, ko, ki, 3)", "expected a loop of no reduction axis behind");
}

TEST_F(SpecializeRefused, RoundUpBehindIt) {
  Linear l;
  l.schedule[l.mm].specialize(kBatch == 1).split(n, no, ni, 4, Tail::round_up);
  refused(l.schedule, "mm.split(n, no, ni, 4, round_up)",
          "expected a tail that stores nothing past the end");
}

TEST_F(SpecializeRefused, ALoopOfAnotherCase) {
  Doubled d;
  d.schedule[d.y]
      .specialize(kBatch == 1)
      .split(d.m, mo, mi, 4)
      .specialize(kBatch == 2)
      .parallel(mo);
  refused(d.schedule, "y.parallel(mo)", "expected a loop of y (m), got mo");
}

TEST_F(SpecializeRefused, ComputedAtALoopOfOneCase) {
  Linear l;
  l.schedule[l.y].specialize(kBatch == 8).split(l.m, mo, mi, 4);
  l.schedule[l.mm].compute_at(l.y, mo);
  refused(l.schedule, "mm.compute_at(y, mo)", "expected a loop of y (n), got mo");
}

TEST_F(SpecializeRefused, ComputedAtALoopThatOneCaseReorders) {
  Linear l;
  l.schedule[l.y].specialize(kBatch == 8).reorder({l.m, n});
  l.schedule[l.mm].compute_at(l.y, l.m);
  refused(l.schedule, "mm.compute_at(y, m)",
          "expected a loop that y has in every case, inside the same loops, got m, which "
          "specialize(B == 8) changes");
}

TEST_F(SpecializeRefused, ComputedAtALoopThatOneCaseSplits) {
  Linear l;
  l.schedule[l.y].specialize(kBatch == 8).split(l.m, l.m, mi, 2);
  l.schedule[l.mm].compute_at(l.y, l.m);
  refused(l.schedule, "mm.compute_at(y, m)", "which specialize(B == 8) changes");
}

TEST_F(SpecializeRefused, ComputedAtALoopThatOneCaseVectorizes) {
  Linear l;
  l.schedule[l.y].specialize(kBatch == 8).vectorize(l.m);
  l.schedule[l.mm].compute_at(l.y, l.m);
  refused(l.schedule, "mm.compute_at(y, m)", "expected a loop outside the vectorized loop m of y");
}

TEST_F(SpecializeRefused, OnWhatIsInlined) {
  Linear l;
  const Axis columns("n", 6);
  Tensor z = compute("z", {l.m, columns}, l.y(l.m, columns) * 2.0f);
  Schedule schedule(z);
  schedule[l.y].specialize(kBatch == 1);
  schedule[l.y].compute_inline();
  refused(schedule, "y.compute_inline()", "expected a directive on loops");
}

TEST_F(SpecializeRefused, ASizeThatTheGraphHasNot) {
  Doubled d;
  d.schedule[d.y].specialize(size_value("C") == 1);
  refused(d.schedule, "y.specialize(C == 1)", "expected a run-time size of the graph (B), got C");
}

TEST_F(SpecializeRefused, AGraphWithoutSizes) {
  y().specialize(kBatch == 1);
  refused("y.specialize(B == 1)", "expected a run-time size of the graph (none), got B");
}

TEST_F(SpecializeRefused, VectorsInsideVectorsInOneCase) {
  Linear l;
  l.schedule[l.y].vectorize(n).specialize(kBatch == 8).vectorize(l.m);
  refused(l.schedule, "y", "expected no vectorized loop inside a vectorized loop");
}

}  // namespace
}  // namespace emulsion
