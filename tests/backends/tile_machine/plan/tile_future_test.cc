#include "backends/tile_machine/plan/tile_future.h"

#include <gtest/gtest.h>

namespace emulsion {
namespace {

class TileFutureTest : public testing::Test {
 protected:
  TileId tile(BufferId buffer, int64_t min, int64_t extent = 4) {
    return builder.add_tile(buffer, {min}, {extent});
  }
  TileFuture look() { return look_ahead(builder.program(), overlapping_tiles(builder.program())); }

  TileProgramBuilder builder;
  BufferId x = builder.add_buffer("x", 4);
  BufferId y = builder.add_buffer("y", 4);
};

TEST_F(TileFutureTest, SaysWhenATileIsUsedNext) {
  const TileId a = tile(x, 0);
  builder.add_execute("f", {a}, tile(y, 0), false, 0);
  builder.add_execute("f", {tile(x, 4)}, tile(y, 4), false, 0);
  builder.add_execute("f", {a}, tile(y, 8), false, 0);
  const TileFuture future = look();
  EXPECT_EQ(future.first_use[a], 0U);
  EXPECT_EQ(future.next_use[0], 2U);
  EXPECT_EQ(future.next_use[4], kNever);
  EXPECT_EQ(future.last_use[a], 2U);
  EXPECT_TRUE(future.needed[0]);
  EXPECT_FALSE(future.needed[4]);
}

TEST_F(TileFutureTest, AValueThatIsOverwrittenIsNotNeeded) {
  const TileId sum = tile(y, 0);
  builder.add_execute("f", {}, sum, false, 0);  // operand 0
  builder.add_execute("f", {}, sum, true, 1);   // 1
  builder.add_execute("f", {}, sum, false, 0);  // 2
  builder.add_store("f", sum);                  // 3
  const TileFuture future = look();
  EXPECT_TRUE(future.needed[0]);
  EXPECT_FALSE(future.needed[1]);
  EXPECT_TRUE(future.needed[2]);
  EXPECT_FALSE(future.needed[3]);
  EXPECT_EQ(future.next_use[1], 2U);
}

TEST_F(TileFutureTest, AValueThatIsReadThroughAnotherTileIsNeeded) {
  builder.add_execute("f", {}, tile(y, 0), false, 0);
  builder.add_execute("f", {tile(y, 2)}, tile(x, 0), false, 0);
  const TileFuture future = look();
  EXPECT_TRUE(future.needed[0]);
  EXPECT_EQ(future.next_use[0], kNever);
  EXPECT_EQ(future.last_use[0], 1U);
}

TEST_F(TileFutureTest, OfNothing) { EXPECT_TRUE(look().next_use.empty()); }

}  // namespace
}  // namespace emulsion
