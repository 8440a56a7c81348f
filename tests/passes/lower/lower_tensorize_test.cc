// tensorize, store_in(scratchpad) and the grid that a nest records of its tiles.

#include <gtest/gtest.h>

#include "dsl/operators.h"
#include "passes/lower/lower.h"
#include "passes/nest/verify_nest.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/lower/lower_refuses.h"
#include "tests/passes/nest/test_nests.h"

namespace emulsion {
namespace {

const Axis n("n", 10), k("k", 6);
const Axis mo("mo"), mi("mi"), no("no"), ni("ni"), ko("ko"), ki("ki"), i0("i0");

// y = x * w in tiles of 2 x 5 x 3.
struct Tiled {
  explicit Tiled(const Extent& rows = 4) : i("m", rows) {
    Tensor x = input("x", f32, {rows, 6}), w = weight("w", f32, {6, 10});
    y = compute("y", {i, n}, sum(k, x(i, k) * w(k, n)));
    schedule = Schedule(y);
    schedule[y].cache_write("acc").tile(i, n, mo, no, mi, ni, 2, 5).tensorize(mi);
    schedule["acc"].copy_in(x, "x_tile").copy_in(w, "w_tile");
    schedule["acc"].compute_at(y, no).store_in(Memory::scratchpad);
    schedule["acc"].split(k, ko, ki, 3).reorder({ki, n, i, ko}).tensorize(i);
    for (const char* copy : {"x_tile", "w_tile"}) {
      schedule[copy].compute_at("acc", ko).store_in(Memory::scratchpad).tensorize(i0);
    }
  }
  Axis i;
  Tensor y;
  Schedule schedule{compute("unused", {}, constant(f32, 0))};
};

TEST(LowerTensorize, ComputesTheSame) {
  for (const Tiled& tiled : {Tiled(), Tiled(5), Tiled(Extent::size("B"))}) {
    for (int64_t batch : {0, 1, 5}) {
      SizeValues sizes;
      for (const std::string& size : tiled.schedule.graph().sizes()) sizes[size] = batch;
      EXPECT_TRUE(lowers(tiled.schedule.graph(), tiled.schedule, sizes));
    }
  }
}

// y[m] = sum(k, x[m, k] * v[k]) in tiles of 2 x 3.
TEST(LowerTensorize, LoopsInsideOneUop) {
  const Extent rows = Extent::size("B");
  Axis i("m", rows);
  Tensor x = input("x", f32, {rows, 6}), v = weight("v", f32, {6});
  Schedule schedule(compute("y", {i}, sum(k, x(i, k) * v(k))));
  schedule["y"].cache_write("acc").split(i, mo, mi, 2).tensorize(mi);
  schedule["acc"].copy_in(x, "x_tile").compute_at("y", mo).store_in(Memory::scratchpad);
  schedule["acc"].split(k, ko, ki, 3).reorder({ki, i, ko}).tensorize(i);
  schedule["x_tile"].compute_at("acc", ko).store_in(Memory::scratchpad).tensorize(i0);
  expect_nest(schedule);
}

TEST(LowerTensorize, OneLoopOfAnOutput) {
  Axis i("m", 4);
  Schedule schedule(compute("y", {i, n}, input("x", f32, {4, 10})(i, n) * 2.0f));
  schedule["y"].tensorize(n);
  expect_nest(schedule);
  EXPECT_EQ(count_uops(lower(schedule.graph(), schedule)).stores, 4);
}

TEST(LowerTensorize, TilesDoNotMultiplyCounts) {
  const Schedule schedule = Tiled().schedule;
  const UopCounts counts = count_uops(lower(schedule.graph(), schedule));
  EXPECT_EQ(counts.inits, 2 * 2);
  EXPECT_EQ(counts.executes, 2 * 2 * 2);
  EXPECT_EQ(counts.loads, 2 * 2 * 2 * 2);
  EXPECT_EQ(counts.stores, 2 * 2);
}

// h = 2 x, y = h + 1, h through the scratchpad.
LoopNest stored_nest() {
  Axis i("m", 4);
  Tensor h = compute("h", {i, n}, input("x", f32, {4, 10})(i, n) * 2.0f);
  Schedule schedule(compute("y", {i, n}, h(i, n) + 1.0f));
  schedule["h"].cache_write("h_tile").tensorize(n);
  schedule["h_tile"].compute_at("h", i).store_in(Memory::scratchpad).tensorize(n);
  return lower(schedule.graph(), schedule);
}

TEST(LowerTensorize, AnIntermediateResultGoesToMemoryByStores) {
  const LoopNest nest = stored_nest();
  EXPECT_NE(to_string(nest).find("store h[m, n] = h_tile[m, n]"), std::string::npos)
      << to_string(nest);
  EXPECT_EQ(count_uops(nest).loads, 0);
  EXPECT_EQ(count_uops(nest).stores, 4 + 4 * 10);
}

TEST(VerifyStores, RefusesAnIntermediateOneThatComputes) {
  LoopNest nest = stored_nest();
  for (Stage& stage : nest.stages) {
    if (stage.name == "h") stage.body = stage.body + constant(f32, 1);
  }
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "store of h computes");
}

TEST(TileGrids, AreOfContractionsInTileLoopsOnly) {
  Tiled tiled;
  const LoopNest nest = lower(tiled.schedule.graph(), tiled.schedule);
  ASSERT_EQ(nest.tile_grids.size(), 1U);
  EXPECT_EQ(nest.tile_grids[0].stage, "acc");
  EXPECT_EQ(nest.tile_grids[0].result, "y");
  EXPECT_EQ(to_string(nest.tile_grids[0]), "2 x 2 x 2 tiles of 2 x 5 x 3");
  Schedule plain(tiled.schedule.graph());
  EXPECT_TRUE(lower(plain.graph(), plain).tile_grids.empty());
}

TEST(TileGrids, OfAnAxisThatIsNotCutCountsItsExtent) {
  Tiled tiled;
  Schedule schedule(tiled.schedule.graph());
  schedule["y"].reorder({n, k, tiled.i}).tensorize(k);
  const LoopNest nest = lower(schedule.graph(), schedule);
  ASSERT_EQ(nest.tile_grids.size(), 1U);
  EXPECT_EQ(to_string(nest.tile_grids[0]), "4 x 1 x 1 tiles of 1 x 10 x 6");
}

// y[a, b, n] = sum(k, x[a, b, k] * w[k, n]): rows over two axes, in tiles of 2 x 3 of them.
TEST(TileGrids, RowsOverSeveralAxesAreMultiplied) {
  const Axis a("a", 4), b("b", 9), ao("ao"), ai("ai"), bo("bo"), bi("bi");
  const Tensor x = input("x", f32, {4, 9, 6}), w = weight("w", f32, {6, 10});
  Schedule schedule(compute("y", {a, b, n}, sum(k, x(a, b, k) * w(k, n))));
  schedule["y"].split(a, ao, ai, 2).split(b, bo, bi, 3);
  schedule["y"].reorder({k, n, bi, ai, bo, ao}).tensorize(ai);
  const LoopNest nest = lower(schedule.graph(), schedule);
  ASSERT_EQ(nest.tile_grids.size(), 1U);
  EXPECT_EQ(to_string(nest.tile_grids[0]), "6 x 1 x 1 tiles of 6 x 10 x 6");
}

TEST(TileGrids, AreVerified) {
  Tiled tiled;
  LoopNest nest = lower(tiled.schedule.graph(), tiled.schedule);
  nest.tile_grids[0].stage = "q";
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "has no stage q");
  nest.tile_grids[0].stage = "y";
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "a grid of y, which reduces nothing");
  nest.tile_grids[0].stage = "acc";
  nest.tile_grids[0].tile_k = 0;
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "a grid of acc with tiles of 2 x 5 x 0");
}

TEST(VerifyTileLoops, RefusesAnythingElseInside) {
  LoopNest nest = linear_nest();
  nest.root = edit<Loop>(nest.root, [](Loop* node) {
    if (node->axis == "mi") node->kind = LoopKind::tile;
  });
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "in tile loop y.mi, expected a tile loop or a uOp of y");
}

TEST(VerifyTileLoops, RefusesAnExtentThatIsNoNumber) {
  LoopNest nest = copy_nest(Extent::size("B"));
  nest.root = edit<Loop>(nest.root, [](Loop* node) { node->kind = LoopKind::tile; });
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "without a constant extent");
}

using LowerTensorizeRefuses = LowerRefuses;

TEST_F(LowerTensorizeRefuses, ALoopThatIsNotThere) {
  y().tensorize(q);
  refused("y.tensorize(q)", "a loop of y");
}

TEST_F(LowerTensorizeRefuses, ALoopThatIsVectorized) {
  y().vectorize(n).tensorize(m);
  refused("y.tensorize(m): expected a serial loop, got n", "which is vectorized already");
}

TEST_F(LowerTensorizeRefuses, ALoopTwice) {
  y().tensorize(m).tensorize(n);
  refused("y.tensorize(n): expected a serial loop, got n", "which is a tile's already");
}

TEST_F(LowerTensorizeRefuses, AReorderThatTakesALoopOut) {
  y().tensorize(n).reorder({m, n});
  refused("y.reorder(m, n): expected n, a tile's loop, innermost",
          "got the loops n, m, outermost first; legal: tensorize(m)");
}

TEST_F(LowerTensorizeRefuses, ATileInAVectorizedLoop) {
  y().vectorize(m).tensorize(n);
  refused("y.tensorize(n): expected n, a tile's loop, innermost and in no vectorized loop",
          "got the loops m, n, outermost first; legal: a serial or parallel m");
}

TEST_F(LowerTensorizeRefuses, SomethingComputedInside) {
  y().tensorize(n);
  mm().compute_at(biased_, n);
  biased().tensorize(m);
  refused("mm.compute_at(biased, n): expected a loop outside the tile of biased",
          "which is one uOp from m on, got n");
}

TEST_F(LowerTensorizeRefuses, ALoopOfARunTimeSize) {
  const Extent rows = Extent::size("B");
  Axis i("m", rows);
  Schedule schedule(compute("y", {i, n}, input("x", f32, {rows, 10})(i, n) * 2.0f));
  schedule["y"].tensorize(i);
  refused(schedule, "y.tensorize(m): expected a loop whose extent is a number, got B",
          "split it first");
}

TEST_F(LowerTensorizeRefuses, AScratchpadRegionOfARunTimeSize) {
  const Extent rows = Extent::size("B");
  Axis i("m", rows);
  Tensor twice = compute("twice", {i, n}, input("x", f32, {rows, 10})(i, n) * 2.0f);
  Schedule schedule(compute("y", {i, n}, twice(i, n) + 1.0f));
  schedule["twice"].store_in(Memory::scratchpad);
  refused(schedule, "twice.store_in(scratchpad): expected a region of a constant size",
          "one that depends on a run-time size");
}

}  // namespace
}  // namespace emulsion
