#include "backends/tile_machine/plan/tile_cost.h"

#include <gtest/gtest.h>

namespace emulsion {
namespace {

TEST(TileCost, AFootprintIsAMultipleOfTheAlignment) {
  TileMachine machine;
  machine.alignment = 64;
  EXPECT_EQ(footprint(machine, 1), 64);
  EXPECT_EQ(footprint(machine, 64), 64);
  EXPECT_EQ(footprint(machine, 65), 128);
}

TEST(TileCost, ATransferTakesWholeCycles) {
  TileMachine machine;
  machine.load_bytes_per_cycle = 128;
  machine.store_bytes_per_cycle = 64;
  EXPECT_EQ(load_cycles(machine, 4096), 32);
  EXPECT_EQ(load_cycles(machine, 1), 1);
  EXPECT_EQ(load_cycles(machine, 129), 2);
  EXPECT_EQ(store_cycles(machine, 4096), 64);
}

TEST(TileCost, AnEdgeTakesAsLongAsAFullTile) {
  TileMachine machine;
  machine.execute_cycles = 32;
  EXPECT_EQ(execute_cycles(machine, 32 * 32 * 32, 1024), 32);
  EXPECT_EQ(execute_cycles(machine, 1, 1), 32);
  EXPECT_EQ(execute_cycles(machine, 32 * 32 * 32 + 1, 1024), 64);
}

TEST(TileCost, WithoutMacsTheElementsCount) {
  TileMachine machine;
  machine.elements_per_cycle = 32;
  EXPECT_EQ(execute_cycles(machine, 0, 1024), 32);
  EXPECT_EQ(execute_cycles(machine, 0, 33), 2);
}

}  // namespace
}  // namespace emulsion
