#include "backends/tile_machine/plan/collect_tiles.h"

#include <gtest/gtest.h>

#include "dsl/operators.h"
#include "passes/lower/lower.h"
#include "passes/pipeline.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/tile_graphs.h"

namespace emulsion {
namespace {

const Target kSmall = Target::tile_machine(small_machine());  // 4 x 8 x 4

std::string steps_text(const TileProgram& program) {
  std::string text;
  for (StepId s = 0; s < program.steps.size(); ++s) {
    text += step_name(program, s) + ":";
    for (size_t i = 0; i < program.steps[s].operand_count; ++i) {
      text += " " + tile_name(program, program.operand(program.steps[s], i));
    }
    text += "\n";
  }
  return text;
}

TEST(CollectTiles, OfAFusedLayer) {
  const LoopNest nest = run_pipeline(linear_graph(4, 8, 8), kSmall).nest;
  const NestTiles tiles = collect_tiles(nest);
  EXPECT_EQ(steps_text(tiles.program),
            "execute mm: mm[0:4, 0:8]\n"
            "execute mm: x[0:4, 0:4] w[0:4, 0:8] mm[0:4, 0:8]\n"
            "execute mm: x[0:4, 4:8] w[4:8, 0:8] mm[0:4, 0:8]\n"
            "execute y_tile: mm[0:4, 0:8] b[0:8] y[0:4, 0:8]\n"
            "store y: y[0:4, 0:8]\n");
  EXPECT_EQ(tiles.program.loads, 5);
  EXPECT_EQ(tiles.program.stores, 1);
  EXPECT_TRUE(tiles.works.empty());
}

TEST(CollectTiles, AnUpdateAccumulatesAndCountsItsMacs) {
  const LoopNest nest = run_pipeline(linear_graph(4, 8, 8), kSmall).nest;
  const TileProgram program = collect_tiles(nest).program;
  EXPECT_TRUE(program.steps[0].overwrites);
  EXPECT_EQ(program.steps[0].macs, 0);
  EXPECT_EQ(program.steps[0].elements, 32);
  EXPECT_FALSE(program.steps[1].overwrites);
  EXPECT_EQ(program.steps[1].macs, 4 * 4 * 8);
}

TEST(CollectTiles, EdgesAreCutOff) {
  const LoopNest nest = run_pipeline(linear_graph(5, 6, 9), kSmall).nest;
  const std::string text = steps_text(collect_tiles(nest).program);
  EXPECT_NE(text.find("execute mm: x[4:5, 4:6] w[4:6, 8:9] mm[4:5, 8:9]\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("store y: y[4:5, 8:9]\n"), std::string::npos) << text;
}

TEST(CollectTiles, WorksSayWhatAStepComputes) {
  const LoopNest nest = run_pipeline(linear_graph(4, 6, 8), kSmall).nest;
  const NestTiles tiles = collect_tiles(nest, {}, true);
  ASSERT_EQ(tiles.works.size(), tiles.program.steps.size());
  const StepWork& last_update = tiles.works[2];
  EXPECT_EQ(last_update.part, Part::update);
  EXPECT_EQ(last_update.reduction_mins, std::vector<int64_t>{4});
  EXPECT_EQ(last_update.reduction_extents, std::vector<int64_t>{2});
  EXPECT_EQ(last_update.reads.size(), 2U);
}

// The first tile of a needs what is before its first element, which is not there.
TEST(CollectTiles, NothingIsBeforeTheFirstElement) {
  const Axis i("i", 8), io("io"), ii("ii");
  const Tensor x = input("x", f32, {8});
  const Tensor a = compute("a", {i}, x(i) * 2.0f);
  const Tensor y = compute("y", {i}, a(max(i - 1, 0)) + a(i));
  Schedule schedule(y);
  schedule[y].split(i, io, ii, 4).tensorize(ii);
  schedule[a].compute_at(y, io).store_in(Memory::scratchpad).tensorize(i);
  const std::string text = steps_text(collect_tiles(lower(y, schedule)).program);
  EXPECT_EQ(text.find("execute a: x[0:4] a[0:4]\nexecute y: a[0:4] y[0:4]\n"), 0U) << text;
}

// What one layer writes is what the next one reads: no Load, no Store between them.
TEST(CollectTiles, AnIntermediateIsOneBuffer) {
  Tensor x = input("x", f32, {4, 4});
  Tensor h = relu(matmul(x, weight("w1", f32, {4, 8})), "h");
  Graph graph(matmul(h, weight("w2", f32, {8, 8}), "y"));
  const NestTiles tiles = collect_tiles(run_pipeline(graph, kSmall).nest);
  const std::string text = steps_text(tiles.program);
  EXPECT_EQ(text.find("store h"), std::string::npos) << text;
  EXPECT_NE(text.find(" h[0:4, 0:8]\n"), std::string::npos) << text;
  EXPECT_NE(text.find(": h[0:4, 0:4] w2[0:4, 0:8]"), std::string::npos) << text;
  EXPECT_EQ(tiles.program.stores, 2);
}

TEST(CollectTiles, ATransposedCopyHasItsHomeElsewhere) {
  Graph graph(add(transpose(input("x", f32, {8, 4}), {1, 0}, "t"), input("z", f32, {4, 8}), "y"));
  const LoopNest nest = run_pipeline(graph, kSmall).nest;
  const NestTiles tiles = collect_tiles(nest);
  bool found = false;
  for (const Tile& tile : tiles.program.tiles) {
    if (tiles.loaders[tile.buffer] < 0) continue;
    found = true;
    EXPECT_EQ(tiles.program.buffers[tile.home.buffer].name, "x");
    EXPECT_EQ(to_string(tile), "0:4, 0:8");
    EXPECT_EQ(to_string(tile.home), "0:8, 0:4");
  }
  EXPECT_TRUE(found) << to_string(nest);
}

TEST(CollectTiles, OfAnEmptyBatchIsNothing) {
  const LoopNest nest = run_pipeline(linear_graph(Extent::size("B"), 7, 11), kSmall).nest;
  EXPECT_TRUE(collect_tiles(nest, {{"B", 0}}).program.steps.empty());
  EXPECT_FALSE(collect_tiles(nest, {{"B", 1}}).program.steps.empty());
}

TEST(CollectTiles, RefusesASizeWithoutAValue) {
  const LoopNest nest = run_pipeline(linear_graph(Extent::size("B"), 7, 11), kSmall).nest;
  EXPECT_ERROR(collect_tiles(nest), "B");
}

// A block of h is computed in halves and read as a whole.
TEST(CollectTiles, RefusesAnOperandOfSeveralTiles) {
  Axis m("m", 4), n("n", 8), no("no"), ni("ni");
  Tensor x = input("x", f32, {4, 8});
  Func h("h"), y("y");
  h(m, n) = x(m, n) * 2.0f;
  y(m, n) = h(m, n) + 1.0f;
  Schedule schedule(y);
  schedule[h].split(n, no, ni, 4).reorder({ni, m, no}).store_in(Memory::scratchpad).tensorize(m);
  schedule[y].tensorize(m);
  const LoopNest nest = lower(Graph(y), schedule);
  EXPECT_ERROR(collect_tiles(nest), "y reads h[0:4, 0:8]: expected a box inside one tile");
  EXPECT_ERROR(collect_tiles(nest), "the last tile of it: h[0:4, 4:8]");
}

}  // namespace
}  // namespace emulsion
