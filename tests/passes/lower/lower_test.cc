// Every directive is honoured: the nest that it makes, on the smallest shape that shows the point.
// Each schedule is also printed, parsed back and lowered again, and each nest is run against its
// graph.

#include "passes/lower/lower.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/operators.h"
#include "tests/golden.h"
#include "tests/passes/check_nest.h"

namespace emulsion {
namespace {

const Axis m("m", 4), n("n", 10), k("k", 6);
const Axis mo("mo"), mi("mi"), no("no"), ni("ni"), t("t");

// y = 2 x
struct Doubled {
  explicit Doubled(Extent rows = 4) {
    const Axis i("m", rows);
    y = compute("y", {i, n}, input("x", f32, {rows, 10})(i, n) * 2.0f);
    schedule = Schedule(y);
  }
  Tensor y;
  Schedule schedule{scalar_graph()};
  static Graph scalar_graph() { return Graph(compute("unused", {}, constant(f32, 0))); }
};

// y = max(mm + b, 0), mm = x * w
struct Linear {
  Tensor x = input("x", f32, {4, 6}), w = weight("w", f32, {6, 10}), b = weight("b", f32, {10});
  Tensor mm = compute("mm", {m, n}, sum(k, x(m, k) * w(k, n)));
  Tensor y = compute("y", {m, n}, max(mm(m, n) + b(n), 0.0f));
  Schedule schedule{y};
};

// --- nothing said -------------------------------------------------------------------------------

TEST(LowerDefault, Pointwise) { expect_nest(Doubled().schedule); }

TEST(LowerDefault, Reduction) { expect_nest(Schedule(Linear().mm)); }

TEST(LowerDefault, TwoStages) { expect_nest(Linear().schedule); }

TEST(LowerDefault, NoAxes) {
  expect_nest(Schedule(compute("y", {}, input("x", f32, {})() + 1.0f)));
}

TEST(LowerDefault, RunTimeExtent) { expect_nest(Doubled(Extent::size("B") + Extent(1)).schedule); }

TEST(LowerDefault, OutputThatIsRead) {
  Linear l;
  expect_nest(Schedule(Graph({l.mm, l.y})));
}

TEST(LowerDefault, ConstantsAndLiterals) {
  Tensor table = constant("table", {3}, std::vector<float>{1, 2, 3});
  const Axis i("i", 3);
  expect_nest(Schedule(compute("y", {i}, table(i) * scalar(2.0f)())));
}

// --- loops --------------------------------------------------------------------------------------

TEST(LowerSplit, ThatDivides) {
  Doubled d;
  d.schedule[d.y].split(n, no, ni, 5);
  expect_nest(d.schedule);
}

TEST(LowerSplit, Guard) {
  Doubled d;
  d.schedule[d.y].split(n, no, ni, 4, Tail::guard);
  expect_nest(d.schedule);
}

TEST(LowerSplit, AutomaticIsGuard) {
  Doubled d;
  d.schedule[d.y].split(n, no, ni, 4);
  expect_nest(d.schedule);
}

TEST(LowerSplit, Predicate) {
  Doubled d;
  d.schedule[d.y].split(n, no, ni, 4, Tail::predicate).vectorize(ni);
  expect_nest(d.schedule);
}

TEST(LowerSplit, ShiftInwards) {
  Doubled d;
  d.schedule[d.y].split(n, no, ni, 4, Tail::shift_inwards);
  expect_nest(d.schedule);
}

TEST(LowerSplit, RoundUpOfWhatIsInside) {
  Linear l;
  l.schedule[l.mm].split(n, no, ni, 4, Tail::round_up);
  expect_nest(l.schedule);
}

TEST(LowerSplit, RunTimeExtent) {
  Doubled d(Extent::size("B"));
  d.schedule[d.y].split(m, mo, mi, 4);
  expect_nest(d.schedule, {0, 1, 3, 4, 5, 8, 9});
}

TEST(LowerSplit, RunTimeExtentThatDivides) {
  Doubled d(Extent::size("B") * Extent(8));
  d.schedule[d.y].split(m, mo, mi, 4);
  expect_nest(d.schedule);
}

TEST(LowerSplit, Reduction) {
  Tensor mm = Linear().mm;
  Schedule schedule(mm);
  schedule[mm].split(k, Axis("ko"), Axis("ki"), 4);
  expect_nest(schedule);
}

TEST(LowerSplit, FactorBeyondTheExtent) {
  Doubled d;
  d.schedule[d.y].split(n, no, ni, 16);
  expect_nest(d.schedule);
}

TEST(LowerSplit, Twice) {
  Doubled d;
  d.schedule[d.y].split(n, no, ni, 6).split(ni, Axis("nio"), Axis("nii"), 4);
  expect_nest(d.schedule);
}

TEST(LowerSplit, Tile) {
  Doubled d;
  d.schedule[d.y].tile(m, n, mo, no, mi, ni, 2, 5);
  expect_nest(d.schedule);
}

TEST(LowerFuse, TwoAxes) {
  Doubled d;
  d.schedule[d.y].fuse(m, n, t).parallel(t);
  expect_nest(d.schedule);
}

TEST(LowerFuse, RunTimeExtent) {
  Doubled d(Extent::size("B"));
  d.schedule[d.y].fuse(m, n, t).split(t, no, ni, 8, Tail::guard);
  expect_nest(d.schedule);
}

TEST(LowerFuse, LoopsOfATile) {
  Doubled d;
  d.schedule[d.y].tile(m, n, mo, no, mi, ni, 2, 5).fuse(mo, no, t);
  expect_nest(d.schedule);
}

TEST(LowerReorder, AllLoops) {
  Tensor mm = Linear().mm;
  Schedule schedule(mm);
  schedule[mm].reorder({n, m, k});
  expect_nest(schedule);
}

TEST(LowerReorder, SomeLoopsKeepTheirSlots) {
  Tensor mm = Linear().mm;
  Schedule schedule(mm);
  schedule[mm].reorder({m, k});
  expect_nest(schedule);
}

TEST(LowerKinds, Vectorize) {
  Doubled d;
  d.schedule[d.y].vectorize(n);
  expect_nest(d.schedule);
}

TEST(LowerKinds, VectorizeWithLanes) {
  Doubled d;
  d.schedule[d.y].vectorize(n, 4);
  expect_nest(d.schedule);
}

TEST(LowerKinds, Unroll) {
  Doubled d;
  d.schedule[d.y].unroll(m);
  expect_nest(d.schedule);
}

TEST(LowerKinds, UnrollWithFactor) {
  Doubled d;
  d.schedule[d.y].unroll(m, 2);
  expect_nest(d.schedule);
}

TEST(LowerKinds, UnrollReduction) {
  Tensor mm = Linear().mm;
  Schedule schedule(mm);
  schedule[mm].unroll(k, 2);
  expect_nest(schedule);
}

TEST(LowerKinds, Parallel) {
  Doubled d(Extent::size("B"));
  d.schedule[d.y].parallel(m);
  expect_nest(d.schedule);
}

TEST(LowerKinds, Partition) {
  Doubled d;
  d.schedule[d.y].split(m, mo, mi, 3).parallel(mo).partition(mo).partition(n);
  expect_nest(d.schedule);
}

TEST(LowerKinds, PartitionBeforeParallelAndReorder) {
  Doubled d;
  d.schedule[d.y].partition(m).parallel(m).reorder({m, n});
  const std::string text = to_string(lower(d.schedule.graph(), d.schedule));
  EXPECT_NE(text.find("for y.n in 10\n  parallel y.m in 4, partition\n"), std::string::npos)
      << text;
}

TEST(LowerKinds, PartitionOfAReductionIsOfItsUpdate) {
  Tensor mm = Linear().mm;
  Schedule schedule(mm);
  schedule[mm].split(k, Axis("ko"), Axis("ki"), 2).partition(Axis("ko"));
  const std::string text = to_string(lower(schedule.graph(), schedule));
  EXPECT_NE(text.find("for mm.ko in 3, partition\n"), std::string::npos) << text;
}

// --- places -------------------------------------------------------------------------------------

TEST(LowerPlace, AccumulatorsAtATile) {
  Linear l;
  l.schedule[l.y].tile(m, n, mo, no, mi, ni, 2, 5).unroll(mi).vectorize(ni);
  l.schedule[l.mm].compute_at(l.y, no).reorder({n, m, k}).vectorize(n).unroll(m);
  l.schedule[l.mm].store_in(Memory::registers);
  expect_nest(l.schedule);
}

TEST(LowerPlace, AccumulatorsAtATileThatDoesNotDivide) {
  Linear l;
  l.schedule[l.y].tile(m, n, mo, no, mi, ni, 3, 4);
  l.schedule[l.mm].compute_at(l.y, no);
  expect_nest(l.schedule);
}

TEST(LowerPlace, OneElement) {
  Linear l;
  l.schedule[l.mm].compute_at(l.y, n);
  expect_nest(l.schedule);
}

TEST(LowerPlace, AnOrderInWhichMoreIsNeeded) {
  Linear l;
  l.schedule[l.y].reorder({m, n});
  l.schedule[l.mm].compute_at(l.y, n);
  expect_nest(l.schedule);
}

TEST(LowerPlace, StencilNeedsItsNeighbours) {
  const Axis wide("i", 12), i("i", 10);
  Tensor p = compute("p", {wide}, input("x", f32, {12})(wide) * 2.0f);
  Tensor y = compute("y", {i}, p(i) + p(Expr(i) + 2));
  Schedule schedule(y);
  schedule[y].split(i, no, ni, 4, Tail::shift_inwards);
  schedule[p].compute_at(y, no);
  expect_nest(schedule);
}

TEST(LowerPlace, ChainInsideAChain) {
  const Axis i("i", 8);
  Tensor a = compute("a", {i}, input("x", f32, {8})(i) + 1.0f);
  Tensor b = compute("b", {i}, a(i) * a(i)), y = compute("y", {i}, b(i) - a(i));
  Schedule schedule(y);
  schedule[y].split(i, no, ni, 4);
  schedule[b].compute_at(y, no).split(i, mo, mi, 2);
  schedule[a].compute_at(y, no);
  expect_nest(schedule);
}

TEST(LowerPlace, AtTheLoopOfAReduction) {
  Linear l;
  Tensor x2 = compute("x2", {m, k}, l.x(m, k) * 2.0f);
  Tensor mm = compute("mm", {m, n}, sum(k, x2(m, k) * l.w(k, n)));
  Schedule schedule(mm);
  schedule[mm].reorder({n, k, m});
  schedule[x2].compute_at(mm, k);
  expect_nest(schedule);
}

TEST(LowerPlace, RunTimeRows) {
  const Axis i("m", Extent::size("B"));
  Tensor p = compute("p", {i, n}, input("x", f32, {Extent::size("B"), 10})(i, n) * 2.0f);
  Tensor y = compute("y", {i, n}, p(i, n) + 1.0f);
  Schedule schedule(y);
  schedule[y].split(m, mo, mi, 4);
  schedule[p].compute_at(y, mo);
  expect_nest(schedule, {0, 1, 4, 5});
}

TEST(LowerPlace, RootSaidAloud) {
  Linear l;
  l.schedule[l.mm].compute_root();
  EXPECT_EQ(to_string(lower(l.y, l.schedule)), to_string(lower(l.y, Schedule(l.y))));
  expect_nest(l.schedule);
}

TEST(LowerPlace, StoreAtWhereItIsComputed) {
  Linear l;
  l.schedule[l.mm].compute_at(l.y, m).store_at(l.y, m);
  expect_nest(l.schedule);
}

TEST(LowerPlace, Memories) {
  const Axis i("i", 4);
  Tensor x = input("x", f32, {4});
  Tensor a = compute("a", {i}, x(i) + 1.0f), b = compute("b", {i}, a(i) * 2.0f);
  Tensor c = compute("c", {i}, b(i) * b(i)), y = compute("y", {i}, c(i) - 1.0f);
  Schedule schedule(y);
  schedule[a].store_in(Memory::heap);
  schedule[b].store_in(Memory::stack);
  schedule[c].store_in(Memory::registers);
  expect_nest(schedule);
}

// --- stages -------------------------------------------------------------------------------------

TEST(LowerStages, CacheWrite) {
  Tensor mm = Linear().mm;
  Schedule schedule(mm);
  schedule[mm].cache_write("acc");
  expect_nest(schedule);
}

TEST(LowerStages, CacheWriteAtATile) {
  Tensor mm = Linear().mm;
  Schedule schedule(mm);
  schedule[mm].cache_write("acc").tile(m, n, mo, no, mi, ni, 2, 5);
  schedule["acc"].compute_at(mm, no).reorder({n, m, k}).vectorize(n);
  expect_nest(schedule);
}

TEST(LowerStages, PackWeight) {
  Linear l;
  l.schedule[l.mm].pack(l.w, n, 5);
  expect_nest(l.schedule);
  const LoopNest nest = lower(l.y, l.schedule);
  ASSERT_EQ(nest.packs.size(), 1U);
  EXPECT_EQ(nest.packs[0].weight, "w");
  EXPECT_EQ(nest.packs[0].packed, "w_packed");
}

TEST(LowerStages, PackedWeightItself) {
  Linear l;
  l.schedule[l.mm].pack(l.w, n, 4);
  const LoopNest nest = lower(l.y, l.schedule);
  EXPECT_TRUE(computes(nest, l.y));
  ASSERT_EQ(nest.packs.size(), 1U);
  EXPECT_TRUE(matches_golden(to_string(*nest.packs[0].nest)));
}

TEST(LowerStages, PackAlongTheTile) {
  Linear l;
  l.schedule[l.y].split(n, no, ni, 5);
  l.schedule[l.mm].compute_at(l.y, no).pack(l.w, n, 5);
  expect_nest(l.schedule);
}

TEST(LowerStages, PackConstant) {
  const Axis i("i", 2);
  Tensor w = constant("w", {2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  const Axis j("j", 3);
  Tensor y = compute("y", {i, j}, input("x", f32, {2, 3})(i, j) * w(i, j));
  Schedule schedule(y);
  schedule[y].pack(w, j, 2);
  expect_nest(schedule);
  const LoopNest nest = lower(y, schedule);
  const Buffer& packed = nest.buffer("w_packed");
  std::vector<float> values(8);
  ASSERT_EQ(packed.data->size(), 32U);
  std::copy_n(packed.data->data(), 32, reinterpret_cast<uint8_t*>(values.data()));
  EXPECT_EQ(values, (std::vector<float>{1, 2, 4, 5, 3, 0, 6, 0}));
}

TEST(LowerStages, Inline) {
  Linear l;
  Tensor biased = compute("biased", {m, n}, l.mm(m, n) + l.b(n));
  Tensor y = compute("y", {m, n}, max(biased(m, n), 0.0f) + biased(m, n));
  Schedule schedule(y);
  schedule[biased].compute_inline();
  expect_nest(schedule);
}

TEST(LowerStages, InlineAChain) {
  const Axis i("i", 4);
  Tensor a = compute("a", {i}, input("x", f32, {5})(Expr(i) + 1) + 1.0f);
  Tensor b = compute("b", {i}, a(3 - Expr(i)) * 2.0f), y = compute("y", {i}, b(i) - a(i));
  Schedule schedule(y);
  schedule[a].compute_inline();
  schedule[b].compute_inline();
  expect_nest(schedule);
}

TEST(LowerStages, CopyIsALoad) {
  const Axis i("i", 8);
  Tensor staged = compute("staged", {i}, input("x", f32, {8})(i));
  Tensor y = compute("y", {i}, staged(i) * 2.0f);
  Schedule schedule(y);
  schedule[y].split(i, no, ni, 4);
  schedule[staged].compute_at(y, no);
  expect_nest(schedule);
}

// --- the README's schedule ----------------------------------------------------------------------

TEST(LowerReadme, ByHand) {
  Tensor x = input("x", f32, {13, 5}), w = weight("w", f32, {5, 96}), b = weight("b", f32, {96});
  const Axis rows("m", 13), columns("n", 96), depth("k", 5);
  Func mm("mm"), y("y");
  mm(rows, columns) = sum(depth, x(rows, depth) * w(depth, columns));
  y(rows, columns) = max(mm(rows, columns) + b(columns), 0.0f);
  Schedule by_hand(y);
  by_hand[y].tile(m, n, mo, no, mi, ni, 6, 32).parallel(mo).vectorize(ni, 16).unroll(mi);
  by_hand[mm].compute_at(y, no).reorder({n, m, k}).vectorize(n, 16).unroll(m);
  expect_nest(by_hand);
}

}  // namespace
}  // namespace emulsion
