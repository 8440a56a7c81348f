#include "backends/tile_machine/plan/plan_clock.h"

#include <gtest/gtest.h>

#include "tests/backends/tile_machine/plan/test_programs.h"

namespace emulsion {
namespace {

// y = f(x), stored; z = g(), stored. Tiles of 640 bytes: 10 cycles to load, 20 to store; an execute
// takes 5.
class PlanClockTest : public testing::Test {
 protected:
  PlanClockTest() {
    machine_.load_bytes_per_cycle = 64;
    machine_.store_bytes_per_cycle = 32;
    machine_.elements_per_cycle = 32;
    TileProgramBuilder builder;
    x_ = builder.add_tile(builder.add_buffer("x", 4), {0}, {160});
    y_ = builder.add_tile(builder.add_buffer("y", 4, true), {0}, {160});
    z_ = builder.add_tile(builder.add_buffer("z", 4, true), {0}, {160});
    builder.add_execute("y", {x_}, y_, false, 0);
    builder.add_store("y", y_);
    builder.add_execute("z", {}, z_, false, 0);
    builder.add_store("z", z_);
    program_ = builder.take();
    overlaps_ = overlapping_tiles(program_);
  }

  PlanClock clock(bool double_buffer) {
    machine_.double_buffer = double_buffer;
    return {program_, overlaps_, machine_};
  }
  static PlannedUop uop(PlannedKind kind, StepId step, TileId tile, int64_t address) {
    return {kind, PlannedReason::program, step, tile, address};
  }
  static void make_y(PlanClock* clock, TileId x, TileId y) {
    clock->run(uop(PlannedKind::load, 0, x, 0));
    clock->run(uop(PlannedKind::execute, 0, y, 640));
  }

  TileMachine machine_ = machine_with(1 << 16);
  TileProgram program_;
  std::vector<std::vector<TileId>> overlaps_;
  TileId x_ = 0, y_ = 0, z_ = 0;
};

TEST_F(PlanClockTest, KnowsWhenTheNextLoadAndExecuteCanStart) {
  PlanClock clock = this->clock(true);
  EXPECT_EQ(clock.load_ready(x_), 0);
  EXPECT_EQ(clock.execute_ready(program_.steps[0]), 0);
  clock.run(uop(PlannedKind::load, 0, x_, 0));
  EXPECT_EQ(clock.load_ready(x_), 10) << "the load unit is busy";
  EXPECT_EQ(clock.execute_ready(program_.steps[0]), 10) << "x lands";
  EXPECT_EQ(clock.execute_ready(program_.steps[2]), 0) << "z needs nothing";
}

TEST_F(PlanClockTest, WithoutDoubleBufferingALoadWaitsForAllBeforeIt) {
  PlanClock clock = this->clock(false);
  make_y(&clock, x_, y_);
  EXPECT_EQ(clock.load_ready(x_), 15);
  clock.run(uop(PlannedKind::store, 1, y_, 640));
  EXPECT_EQ(clock.load_ready(x_), 35);
}

TEST_F(PlanClockTest, WhatIsStoredIsLoadedOnlyAfterwards) {
  PlanClock clock = this->clock(true);
  make_y(&clock, x_, y_);
  clock.run(uop(PlannedKind::store, 1, y_, 640));
  EXPECT_EQ(clock.load_ready(y_), 35);
  EXPECT_EQ(clock.load_ready(x_), 10);
}

TEST_F(PlanClockTest, SpaceIsFreeWhenItsLastUserIsDone) {
  PlanClock clock = this->clock(true);
  make_y(&clock, x_, y_);
  EXPECT_EQ(clock.busy_until(x_), 15);
  clock.run(uop(PlannedKind::store, 1, y_, 640));
  EXPECT_EQ(clock.busy_until(y_), 35);
  EXPECT_EQ(clock.run(uop(PlannedKind::drop, 1, y_, 640)).end, 35);
  EXPECT_EQ(clock.run(uop(PlannedKind::execute, 2, z_, 640)).start, 35);
  const PlanTiming timing = clock.finish();
  EXPECT_EQ(timing.stalled(StallCause::load), 10);
  EXPECT_EQ(timing.stalled(StallCause::space), 20);
}

TEST_F(PlanClockTest, SpaceThatWasNeverUsedIsFreeAtOnce) {
  PlanClock clock = this->clock(true);
  make_y(&clock, x_, y_);
  clock.run(uop(PlannedKind::store, 1, y_, 640));
  clock.run(uop(PlannedKind::drop, 1, y_, 640));
  EXPECT_EQ(clock.run(uop(PlannedKind::execute, 2, z_, 1280)).start, 15);
}

}  // namespace
}  // namespace emulsion
