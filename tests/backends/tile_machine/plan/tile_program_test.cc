#include "backends/tile_machine/plan/tile_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

using Tiles = std::vector<TileId>;

class TileProgramTest : public testing::Test {
 protected:
  TileProgramBuilder builder;
  BufferId x = builder.add_buffer("x", 4);
  BufferId y = builder.add_buffer("y", 2, true);
};

TEST_F(TileProgramTest, EqualBoxesAreOneTile) {
  const TileId a = builder.add_tile(x, {0, 8}, {4, 8});
  EXPECT_EQ(builder.add_tile(x, {0, 8}, {4, 8}), a);
  EXPECT_NE(builder.add_tile(x, {0, 8}, {4, 4}), a);
  EXPECT_NE(builder.add_tile(y, {0, 8}, {4, 8}), a);
  EXPECT_EQ(builder.find_tile({x, {0, 8}, {4, 8}}), a);
  EXPECT_EQ(builder.find_tile({x, {1, 8}, {4, 8}}), std::nullopt);
  EXPECT_EQ(builder.program().tiles[a].bytes, 4 * 8 * 4);
}

TEST_F(TileProgramTest, ANumberIsATile) {
  const TileId tile = builder.add_tile(y, {}, {});
  EXPECT_EQ(builder.program().tiles[tile].bytes, 2);
  EXPECT_EQ(tile_name(builder.program(), tile), "y[]");
}

TEST_F(TileProgramTest, NamesAreSlices) {
  const TileId tile = builder.add_tile(x, {0, 8}, {4, 8});
  builder.add_execute("mm", {}, tile, false, 0);
  builder.add_store("out", tile);
  EXPECT_EQ(tile_name(builder.program(), tile), "x[0:4, 8:16]");
  EXPECT_EQ(step_name(builder.program(), 0), "execute mm");
  EXPECT_EQ(step_name(builder.program(), 1), "store out");
}

TEST_F(TileProgramTest, OperandsStandOnceAndTheResultLast) {
  const TileId a = builder.add_tile(x, {0}, {8});
  const TileId r = builder.add_tile(y, {0}, {6});
  builder.add_execute("f", {a, a}, r, true, 48);
  const TileProgram program = builder.take();
  const TileStep& step = program.steps[0];
  EXPECT_EQ(program.operands, (Tiles{a, r}));
  EXPECT_EQ(program.written(step), r);
  EXPECT_FALSE(step.overwrites);
  EXPECT_EQ(step.macs, 48);
  EXPECT_EQ(step.elements, 6);
}

TEST_F(TileProgramTest, TilesOfAWrittenBufferOverlap) {
  const TileId a = builder.add_tile(y, {0, 0}, {4, 4});
  const TileId b = builder.add_tile(y, {3, 3}, {4, 4});
  const TileId c = builder.add_tile(y, {4, 0}, {4, 3});
  const TileId d = builder.add_tile(y, {0, 0}, {8, 8});
  builder.add_execute("f", {}, a, false, 0);
  const auto overlaps = overlapping_tiles(builder.program());
  EXPECT_THAT(overlaps[a], testing::UnorderedElementsAre(b, d));
  EXPECT_THAT(overlaps[b], testing::UnorderedElementsAre(a, d));
  EXPECT_THAT(overlaps[c], testing::UnorderedElementsAre(d));
  EXPECT_THAT(overlaps[d], testing::UnorderedElementsAre(a, b, c));
}

TEST_F(TileProgramTest, TilesThatAreOnlyReadDoNotMatter) {
  const TileId a = builder.add_tile(x, {0}, {4});
  const TileId b = builder.add_tile(x, {2}, {4});
  builder.add_execute("f", {a, b}, builder.add_tile(y, {0}, {4}), false, 0);
  EXPECT_TRUE(overlapping_tiles(builder.program())[a].empty());
}

TEST_F(TileProgramTest, HomesDecideWhatOverlaps) {
  const BufferId t = builder.add_buffer("t", 4);
  const TileId copy = builder.add_tile(TileBox{t, {0, 0}, {2, 4}}, TileBox{y, {0, 0}, {4, 2}});
  const TileId made = builder.add_tile(y, {3, 1}, {1, 1});
  builder.add_execute("f", {}, made, false, 0);
  EXPECT_EQ(overlapping_tiles(builder.program())[copy], Tiles{made});
}

TEST_F(TileProgramTest, RefusesABoxThatIsNone) {
  EXPECT_ERROR(builder.add_tile(x, {0, 0}, {4}), "as many mins as extents, got 2 and 1");
  EXPECT_ERROR(builder.add_tile(x, {0}, {0}), "a tile of x: expected extents of at least 1, got 0");
}

TEST_F(TileProgramTest, RefusesToReadWhatIsWritten) {
  const TileId tile = builder.add_tile(x, {0}, {4});
  EXPECT_ERROR(builder.add_execute("f", {tile}, tile, false, 0),
               "execute f: expected to read other tiles than the one that it writes, got x[0:4]");
}

}  // namespace
}  // namespace emulsion
