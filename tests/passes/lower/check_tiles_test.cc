#include "passes/lower/check_tiles.h"

#include <gtest/gtest.h>

#include "dsl/operators.h"
#include "passes/derive/derive_schedule.h"
#include "passes/lower/lower.h"
#include "tests/passes/tile_graphs.h"

namespace emulsion {
namespace {

const Axis m("m"), n("n"), k("k"), mo("mo"), mi("mi"), no("no"), ni("ni"), ko("ko"), ki("ki");

// y[16, 16] = x[16, 16] * w[16, 16] in tiles of 8, by hand.
struct ByHand {
  explicit ByHand(bool staged = true) {
    Axis rows("m", 16), columns("n", 16), depth("k", 16);
    Tensor x = input("x", f32, {16, 16}), w = input("w", f32, {16, 16});
    Tensor product = compute("y", {rows, columns}, sum(depth, x(rows, depth) * w(depth, columns)));
    schedule = Schedule(product);
    schedule["y"].cache_write("acc").tile(m, n, mo, no, mi, ni, 8, 8).tensorize(mi);
    schedule["acc"].compute_at("y", no).store_in(Memory::scratchpad);
    schedule["acc"].copy_in("x", "x_tile").copy_in("w", "w_tile");
    schedule["acc"].split(k, ko, ki, 8).reorder({ki, n, m, ko}).tensorize(m);
    for (const char* copy : {"x_tile", "w_tile"}) {
      if (!staged) continue;  // at the root, on the heap
      schedule[copy].compute_at("acc", ko).store_in(Memory::scratchpad).tensorize(Axis("i0"));
    }
  }
  LoopNest nest() const { return lower(schedule.graph(), schedule); }
  Schedule schedule{input("unused", f32, {1}) + 1.0f};
};

TileMachine machine() {
  TileMachine tiles;
  tiles.tile_m = tiles.tile_n = tiles.tile_k = 8;
  tiles.sram_bytes = 2048;
  return tiles;
}

std::string problem(const LoopNest& nest, const TileMachine& tiles) {
  return why_not_tiles(nest, tiles).value_or("");
}

TEST(CheckTiles, AcceptsAScheduleByHand) { EXPECT_EQ(problem(ByHand().nest(), machine()), ""); }

TEST(CheckTiles, AcceptsWhatIsDerived) {
  for (const NamedGraph& row : tile_graphs()) {
    const Schedule schedule = derive_schedule(row.graph, Target::tile_machine(small_machine()));
    EXPECT_EQ(problem(lower(row.graph, schedule), small_machine()), "") << row.name;
  }
}

TEST(ScratchpadNeed, IsOfTheTilesThatLiveAtOnce) {
  const ScratchpadNeed need = scratchpad_need(ByHand().nest(), machine());
  EXPECT_EQ(need.bytes, 2 * 3 * 256);
  ASSERT_EQ(need.tiles.size(), 3U);
  EXPECT_EQ(need.tiles[0].stage, "acc");
  EXPECT_EQ(need.tiles[0].bytes, 256);
}

TEST(ScratchpadNeed, IsHalfWithoutDoubleBuffering) {
  TileMachine single = machine();
  single.double_buffer = false;
  EXPECT_EQ(scratchpad_need(ByHand().nest(), single).bytes, 3 * 256);
}

TEST(ScratchpadNeed, RoundsEachTileUpToTheAlignment) {
  TileMachine wide = machine();
  wide.alignment = 512;
  EXPECT_EQ(scratchpad_need(ByHand().nest(), wide).bytes, 2 * 3 * 512);
}

TEST(ScratchpadNeed, OfACpuNestIsNothing) {
  const Graph graph = linear_graph(8, 8, 8);
  EXPECT_EQ(scratchpad_need(lower(graph, Schedule(graph)), machine()).bytes, 0);
}

TEST(CheckTilesRefuses, TooLittleScratchpad) {
  TileMachine small = machine();
  small.sram_bytes = 1024;
  EXPECT_EQ(problem(ByHand().nest(), small),
            "tile machine, capacity: w_tile needs 1536 bytes of scratchpad (acc 256, x_tile 256, "
            "w_tile 256; each twice for double buffering), the limit is 1024");
  small.double_buffer = false;
  EXPECT_EQ(problem(ByHand().nest(), small), "");
}

TEST(CheckTilesRefuses, AnExecuteLargerThanATile) {
  TileMachine small = machine();
  small.tile_k = 4;
  small.alignment = 16;
  EXPECT_EQ(problem(ByHand().nest(), small),
            "tile machine, tile: an Execute of acc has 512 multiply-adds, the limit is 8 x 8 x 4 = "
            "256");
}

TEST(CheckTilesRefuses, AnOperandThatIsNotLoaded) {
  EXPECT_EQ(problem(ByHand(false).nest(), machine()),
            "tile machine, operands: an Execute of acc reads x_tile in main memory, expected the "
            "scratchpad; legal: copy_in and store_in(scratchpad)");
}

TEST(CheckTilesRefuses, ACpuNest) {
  const Graph graph = linear_graph(8, 8, 8);
  EXPECT_EQ(problem(lower(graph, Schedule(graph)), machine()),
            "tile machine, operands: an Execute of mm writes mm in main memory, expected the "
            "scratchpad; legal: store_in(scratchpad), and cache_write for what goes to memory");
}

TEST(CheckTilesRefuses, StorageInAnOutput) {
  Tensor p = mul(input("x", f32, {8}), 2.0f, "p"), y = add(p, 1.0f, "y");
  Schedule schedule(y);
  schedule[p].store_in_output(y);
  EXPECT_EQ(problem(lower(y, schedule), machine()),
            "tile machine, memory: p is in the memory of output y; legal: storage of its own");
}

TEST(CheckTilesRefuses, RowsOffTheAlignment) {
  TileMachine wide = machine();
  wide.alignment = 64;
  EXPECT_EQ(
      problem(ByHand().nest(), wide),
      "tile machine, alignment: a row of tile_k = 8 elements of f32 needs 32 bytes, expected a "
      "multiple of 64");
  wide.tile_k = 16;
  EXPECT_EQ(
      problem(ByHand().nest(), wide),
      "tile machine, alignment: a row of tile_n = 8 elements of f32 needs 32 bytes, expected a "
      "multiple of 64");
}

}  // namespace
}  // namespace emulsion
