#include "passes/derive/derive_tiles.h"

#include <gtest/gtest.h>

#include <string>

#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/analyse/uop_list.h"
#include "passes/derive/derive_schedule.h"
#include "passes/pipeline.h"
#include "tests/golden.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/tile_graphs.h"

namespace emulsion {
namespace {

const Target kSmall = Target::tile_machine(small_machine());

LoopNest nest_of(const Graph& graph, const Target& target = kSmall) {
  return run_pipeline(graph, target).nest;
}

std::string grid_of(const Graph& graph, const Target& target = kSmall) {
  const LoopNest nest = nest_of(graph, target);
  EXPECT_EQ(nest.tile_grids.size(), 1U);
  const TileGrid& grid = nest.tile_grids.at(0);
  return grid.result + " by " + grid.stage + ": " + to_string(grid);
}

class DeriveTiles : public testing::TestWithParam<NamedGraph> {};

// Fused and operator by operator; from the schedule and from its own text; bit for bit.
TEST_P(DeriveTiles, ComputesWhatTheGraphComputes) {
  EXPECT_TRUE(derives(GetParam().graph, kSmall, {0, 1, 4, 9}));
}

TEST_P(DeriveTiles, ExecutesTouchNoMemory) {
  const LoopNest nest = nest_of(GetParam().graph);
  SizeValues sizes;
  for (const std::string& size : GetParam().graph.sizes()) sizes[size] = 9;
  for (const Uop& uop : UopList(nest, sizes)) {
    EXPECT_EQ(uop.kind == UopKind::execute ? uop.bytes : 0, 0) << to_string(uop, nest);
  }
}

INSTANTIATE_TEST_SUITE_P(Graphs, DeriveTiles, testing::ValuesIn(tile_graphs()),
                         [](const auto& row) { return row.param.name; });

TEST(DeriveTilesOf, SoftmaxAndLayerNorm) {
  Tensor x = input("x", f32, {9, 11});
  EXPECT_TRUE(derives(Graph(softmax(x)), kSmall, {}, 1e-6));
  Tensor gamma = weight("gamma", f32, {11}), beta = weight("beta", f32, {11});
  EXPECT_TRUE(derives(Graph(layer_norm(x, gamma, beta)), kSmall, {}, 1e-5));
}

// What each line of the header's picture becomes, in its order.
TEST(DeriveTilesOf, ALinearLayerIsThePictureOfTheHeader) {
  const std::string text = to_string(nest_of(linear_graph(8, 8, 16)));
  size_t at = 0;
  for (const char* line :
       {"grid y (mm): 2 x 2 x 2 tiles of 4 x 8 x 4\n", "\nfor y.i0o in 2\n", "  for y.i1o in 2\n",
        "alloc mm[y.i0o * 4 .. +4, y.i1o * 8 .. +8] in scratchpad\n", "execute mm[m, n] = 0f ",
        "for mm.ko in 2\n", "load x_tile[i0, i1] = x[i0, i1] ", "load w_tile[i0, i1] = w[i0, i1] ",
        "tile mm.ki in 4\n", "execute mm[m, n] += x_tile[m, k] * w_tile[k, n] ",
        "load b_tile[i0] = b[i0] ", "execute y_tile[i0, i1] = max(mm[i0, i1] + b_tile[i1], 0f) ",
        "store y[i0, i1] = y_tile[i0, i1] "}) {
    at = text.find(line, at);
    ASSERT_NE(at, std::string::npos) << line << "is not there, or not in its place:\n" << text;
  }
}

TEST(DeriveTilesOf, AScheduleThatReadsAsOne) {
  const Graph graph = linear_graph(9, 7, 11);
  EXPECT_TRUE(matches_golden(to_string(derive_schedule(graph, kSmall))));
}

TEST(DeriveTilesGrid, OfAFusedLayerIsItsMatmuls) {
  EXPECT_EQ(grid_of(linear_graph(128, 256, 512), Target::tile_machine()),
            "y by mm: 4 x 16 x 8 tiles of 32 x 32 x 32");
}

TEST(DeriveTilesGrid, CountsEdgeTiles) {
  EXPECT_EQ(grid_of(linear_graph(9, 7, 11)), "y by mm: 3 x 2 x 2 tiles of 4 x 8 x 4");
}

TEST(DeriveTilesGrid, OfAMatmulAlone) {
  Graph graph(matmul(input("x", f32, {64, 64}), input("w", f32, {64, 64}), "y"));
  EXPECT_EQ(grid_of(graph, Target::tile_machine()), "y by y_acc: 2 x 2 x 2 tiles of 32 x 32 x 32");
}

TEST(DeriveTilesGrid, OfABatch) {
  Graph graph(matmul(input("x", f32, {3, 9, 7}), input("w", f32, {3, 7, 11}), "y"));
  EXPECT_EQ(grid_of(graph), "y by y_acc: 3 of 3 x 2 x 2 tiles of 4 x 8 x 4");
}

TEST(DeriveTilesGrid, OfARunTimeSize) {
  const Graph graph = linear_graph(Extent::size("B"), 7, 11);
  EXPECT_EQ(grid_of(graph), "y by mm: (B + 3) / 4 x 2 x 2 tiles of 4 x 8 x 4");
}

TEST(DeriveTilesGrid, AnAxisShorterThanTheTileIsItsOwnTile) {
  EXPECT_EQ(grid_of(linear_graph(3, 7, 5)), "y by mm: 1 x 1 x 2 tiles of 3 x 5 x 4");
}

TEST(DeriveTilesGrid, OfAConvolutionCountsItsFurtherAxes) {
  Tensor x = input("x", f32, {2, 9, 9, 5}), w = weight("w", f32, {3, 3, 5, 10});
  // rows 2 * 7 * ceil(7 / 4), columns ceil(10 / 8), reduction 3 * 3 * ceil(5 / 4)
  EXPECT_EQ(grid_of(Graph(conv2d(x, w, {}, "y"))), "y by y_acc: 28 x 2 x 18 tiles of 4 x 8 x 4");
}

TEST(DeriveTilesCounts, A4096CubedMatmul) {
  Graph graph(matmul(input("x", f32, {4096, 4096}), weight("w", f32, {4096, 4096}), "y"));
  const UopCounts counts = count_uops(nest_of(graph, Target::tile_machine()));
  EXPECT_EQ(counts.executes, 2097152);
  EXPECT_EQ(counts.loads, 2 * 2097152);
  EXPECT_EQ(counts.inits, 128 * 128);
  EXPECT_EQ(counts.stores, 128 * 128);
}

TEST(DeriveTilesCounts, AFusedLayerAddsItsEpilogueOnceATile) {
  const UopCounts counts = count_uops(nest_of(linear_graph(128, 256, 512), Target::tile_machine()));
  EXPECT_EQ(counts.executes, 4 * 16 * 8 + 4 * 16);
  EXPECT_EQ(counts.loads, 2 * 4 * 16 * 8 + 4 * 16);
  EXPECT_EQ(counts.inits, 4 * 16);
  EXPECT_EQ(counts.stores, 4 * 16);
}

TEST(DeriveTilesCounts, OfABatchOfAnySize) {
  const LoopNest nest = nest_of(linear_graph(Extent::size("B"), 7, 11));
  EXPECT_EQ(count_uops(nest, {{"B", 0}}).total(), 0);
  EXPECT_EQ(count_uops(nest, {{"B", 1}}).stores, 2);
  EXPECT_EQ(count_uops(nest, {{"B", 9}}).stores, 3 * 2);
  EXPECT_EQ(count_uops(nest, {{"B", 1 << 20}}).stores, (1 << 18) * 2);
}

TEST(DeriveTilesRefuses, TilesThatDoNotFit) {
  TileMachine machine;
  machine.sram_bytes = 20480;
  // Three tiles of 32 x 32 f32, each twice, are 24576 bytes; with 24 for k, 20480.
  Graph graph(matmul(input("x", f32, {64, 64}), input("w", f32, {64, 64}), "y"));
  EXPECT_ERROR(derive_schedule(graph, Target::tile_machine(machine)),
               "tile machine, capacity: w_tile needs 24576 bytes of scratchpad (y_acc 4096, x_tile "
               "4096, w_tile 4096; each twice for double buffering), the limit is 20480; the "
               "largest tile that fits is 32 x 32 x 24");
  machine.double_buffer = false;
  EXPECT_TRUE(derives(graph, Target::tile_machine(machine)));
}

TEST(DeriveTilesRefuses, NoSideOfTheLargestTileCanGrow) {
  TileMachine machine;
  machine.sram_bytes = 13056;
  Graph graph(matmul(input("x", f32, {64, 64}), input("w", f32, {64, 64}), "y"));
  EXPECT_ERROR(derive_schedule(graph, Target::tile_machine(machine)), "fits is 32 x 16 x 16");
  machine.tile_n = machine.tile_k = 16;
  EXPECT_NO_THROW(derive_schedule(graph, Target::tile_machine(machine)));
  machine.tile_n = 24;  // the next step of 8 elements
  EXPECT_ERROR(derive_schedule(graph, Target::tile_machine(machine)), "fits is 31 x 24 x 16");
  machine.tile_n = 16;
  machine.tile_k = 24;
  EXPECT_ERROR(derive_schedule(graph, Target::tile_machine(machine)), "fits is 31 x 16 x 24");
}

// One row of A, so that only B is as wide as the alignment asks for.
TEST(DeriveTilesRefuses, TheLargestTileMayBeThin) {
  TileMachine machine;
  machine.sram_bytes = 1024;
  Graph graph(matmul(input("x", f32, {64, 64}), input("w", f32, {64, 64}), "y"));
  EXPECT_ERROR(derive_schedule(graph, Target::tile_machine(machine)), "fits is 4 x 8 x 8");
  machine.tile_m = 4;
  machine.tile_n = machine.tile_k = 8;
  EXPECT_NO_THROW(derive_schedule(graph, Target::tile_machine(machine)));
}

TEST(DeriveTilesRefuses, RowsOffTheAlignment) {
  TileMachine machine;
  machine.tile_k = 20;
  Graph graph(matmul(input("x", f32, {64, 64}), input("w", f32, {64, 64}), "y"));
  EXPECT_ERROR(derive_schedule(graph, Target::tile_machine(machine)),
               "tile machine, alignment: a row of tile_k = 20 elements of f32 needs 80 bytes, "
               "expected a multiple of 32; the largest tile that fits is 32 x 32 x 16");
}

TEST(DeriveTilesRefuses, AMachineTooSmallForAnyTile) {
  TileMachine machine = small_machine();
  machine.sram_bytes = 64;
  EXPECT_ERROR(derive_schedule(linear_graph(64, 64, 64), Target::tile_machine(machine)),
               "the limit is 64; no smaller tile fits");
}

TEST(DeriveTilesRefuses, AnOperandThatMayBeEmptyWhileItsReaderIsNot) {
  Tensor x = input("x", f32, {Extent::size("B"), 4});
  EXPECT_ERROR(derive_schedule(Graph(pad(x, {1, 0}, {0, 0}, 0.0, "y")), kSmall),
               "tile machine, regions: expected operands of which a tile needs a part of constant "
               "size; x_tile.compute_at(y, i1o)");
}

TEST(DeriveTilesRefuses, AMachineThatIsNone) {
  TileMachine machine;
  machine.tile_m = 0;
  const Graph graph = linear_graph(8, 8, 8);
  EXPECT_ERROR(derive_tiles(graph, graph, machine), "tile_m: expected a whole number");
}

}  // namespace
}  // namespace emulsion
