#include "backends/tile_machine/plan/time_plan.h"

#include <gtest/gtest.h>

#include "tests/backends/tile_machine/plan/test_programs.h"

namespace emulsion {
namespace {

// Tiles of 640 bytes: 10 cycles to load, 20 to store; an execute takes 7, whatever it writes 5.
TileMachine machine(int64_t sram_bytes, bool double_buffer) {
  TileMachine result = machine_with(sram_bytes, double_buffer);
  result.load_bytes_per_cycle = 64;
  result.store_bytes_per_cycle = 32;
  result.execute_cycles = 7;
  result.elements_per_cycle = 32;
  return result;
}

// y += x_i for a few tiles x_i, then y is stored.
TileProgram sum_program(int64_t count) {
  TileProgramBuilder builder;
  const BufferId x = builder.add_buffer("x", 4);
  const TileId y = builder.add_tile(builder.add_buffer("y", 4, true), {0}, {160});
  builder.add_execute("y", {}, y, false, 0);
  for (int64_t i = 0; i < count; ++i) {
    builder.add_execute("y", {builder.add_tile(x, {160 * i}, {160})}, y, true, 160);
  }
  builder.add_store("y", y);
  return builder.take();
}

struct TimedPlan {
  ScratchpadPlan plan;
  PlanTiming timing;
};

TimedPlan run(const TileProgram& program, const TileMachine& machine) {
  TimedPlan result;
  result.plan = checked_plan(program, machine, EvictionPolicy::belady);
  result.timing = time_plan(program, result.plan);
  return result;
}

TEST(TimePlan, OneAfterAnotherWithoutDoubleBuffering) {
  const TimedPlan r = run(sum_program(3), machine(1 << 16, false));
  EXPECT_EQ(r.timing.total, 5 + 3 * (10 + 7) + 20);
  EXPECT_EQ(r.timing.load_busy, 30);
  EXPECT_EQ(r.timing.execute_busy, 5 + 21);
  EXPECT_EQ(r.timing.store_busy, 20);
  EXPECT_EQ(r.timing.stalled(StallCause::load), 30);
  EXPECT_EQ(r.timing.stalled(StallCause::space), 0);
  EXPECT_EQ(r.timing.stalled(StallCause::store), 20);
}

TEST(TimePlan, LoadsHideBehindExecutes) {
  const TimedPlan r = run(sum_program(3), machine(1 << 16, true));
  EXPECT_EQ(r.timing.total, 3 * 10 + 7 + 20);  // the load unit never stops
  EXPECT_EQ(r.timing.stalled(StallCause::load), 5 + 3 + 3);
}

TEST(TimePlan, ALoadWaitsForSpace) {
  const TimedPlan r = run(sum_program(3), machine(2 * 640, true));
  EXPECT_EQ(r.timing.total, 10 + 7 + 10 + 7 + 10 + 7 + 20);
  EXPECT_EQ(r.timing.stalled(StallCause::load), 5 + 10 + 10);
  EXPECT_EQ(r.timing.stalled(StallCause::space), 0);
}

TEST(TimePlan, AResultWaitsForTheStoreThatLeavesItsSpace) {
  TileProgramBuilder builder;
  const BufferId y = builder.add_buffer("y", 4, true);
  for (int64_t i = 0; i < 2; ++i) {
    const TileId tile = builder.add_tile(y, {160 * i}, {160});
    builder.add_execute("y", {}, tile, false, 0);
    builder.add_store("y", tile);
  }
  const TimedPlan r = run(builder.take(), machine(640, true));
  EXPECT_EQ(r.timing.total, 5 + 20 + 5 + 20);
  EXPECT_EQ(r.timing.stalled(StallCause::space), 20);
  EXPECT_EQ(r.timing.stalled(StallCause::store), 20);
}

TEST(TimePlan, AnUpdateWaitsForTheStoreOfItsOldValue) {
  TileProgramBuilder builder;
  const TileId y = builder.add_tile(builder.add_buffer("y", 4, true), {0}, {160});
  builder.add_execute("y", {}, y, false, 0);
  builder.add_store("y", y);
  builder.add_execute("y", {}, y, true, 1);
  builder.add_store("y", y);
  const TimedPlan r = run(builder.take(), machine(640, true));
  EXPECT_EQ(r.timing.total, 5 + 20 + 7 + 20);
}

TEST(TimePlan, ASpilledValueIsLoadedWhenItIsInMemory) {
  TileProgramBuilder builder;
  const BufferId h = builder.add_buffer("h", 4);
  const BufferId y = builder.add_buffer("y", 4, true);
  builder.add_execute("h", {}, builder.add_tile(h, {0}, {160}), false, 0);
  builder.add_execute("h", {}, builder.add_tile(h, {160}, {160}), false, 0);
  const TileId middle = builder.add_tile(h, {80}, {160});
  builder.add_execute("y", {middle}, builder.add_tile(y, {0}, {160}), false, 0);
  const TimedPlan r = run(builder.take(), machine(1 << 16, true));
  // Two values, their stores, the load of the middle, the result and its store.
  EXPECT_EQ(r.timing.total, 5 + 20 + 20 + 10 + 5 + 20);
}

TEST(TimePlan, MoreWorkThanOneTileTakesLonger) {
  TileMachine m = machine(1 << 16, true);
  m.tile_m = m.tile_n = m.tile_k = 4;
  TileProgramBuilder builder;
  const TileId y = builder.add_tile(builder.add_buffer("y", 4, true), {0}, {16});
  builder.add_execute("y", {}, y, false, 65);
  EXPECT_EQ(run(builder.take(), m).timing.execute_busy, 2 * 7);
}

TEST(TimePlan, NothingTakesNoTime) {
  const TimedPlan r = run({}, machine(1 << 16, true));
  EXPECT_EQ(r.timing.total, 0);
  EXPECT_TRUE(r.timing.stalls.empty());
}

void expect_apart(const TileProgram& program, const TimedPlan& r) {
  const std::vector<Residency> stays = residencies(program, r.plan, r.timing);
  EXPECT_GT(stays.size(), static_cast<size_t>(r.plan.counts.loads));
  for (size_t i = 0; i < stays.size(); ++i) {
    EXPECT_LT(stays[i].span.start, stays[i].span.end);
    for (size_t j = 0; j < i; ++j) {
      const bool same_time =
          stays[i].span.start < stays[j].span.end && stays[j].span.start < stays[i].span.end;
      const bool same_place =
          stays[i].address < stays[j].address + program.tiles[stays[j].tile].bytes &&
          stays[j].address < stays[i].address + program.tiles[stays[i].tile].bytes;
      EXPECT_FALSE(same_time && same_place) << i << " and " << j;
    }
  }
}

TEST(TimePlan, ResidenciesDoNotOverlap) {
  const TileProgram program = matmul_program(96, 96, 96, 32);
  expect_apart(program, run(program, machine_with(4 * 4096, true)));
}

TEST(TimePlan, ResidenciesOfTilesOfManySizesDoNotOverlap) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const TileProgram program = random_program(seed, 12, 60, false);
    expect_apart(program, run(program, machine_with(largest_need(program) + 64, true)));
  }
}

TEST(TimePlan, AnEvictedTileLiesThereUntilItsPlaceIsTaken) {
  TileProgramBuilder builder;
  const BufferId x = builder.add_buffer("x", 4);
  const TileId y = builder.add_tile(builder.add_buffer("y", 4, true), {0}, {160});
  const TileId first = builder.add_tile(x, {0}, {160});
  builder.add_execute("y", {first}, y, false, 0);
  builder.add_execute("y", {}, y, true, 1);
  builder.add_execute("y", {}, y, true, 1);
  builder.add_execute("y", {builder.add_tile(x, {160}, {160})}, y, true, 1);
  builder.add_execute("y", {first}, y, true, 1);
  const TileProgram program = builder.take();
  const TimedPlan r = run(program, machine(2 * 640, false));
  const Residency stay = residencies(program, r.plan, r.timing).at(0);
  EXPECT_EQ(stay.tile, first);
  EXPECT_EQ(stay.last_use, 10 + 5);
  EXPECT_EQ(stay.span.end, 10 + 5 + 7 + 7);
}

TEST(TimePlan, ACauseHasAName) {
  EXPECT_EQ(to_string(StallCause::load), "waiting for a load");
  EXPECT_EQ(to_string(StallCause::space), "waiting for space");
  EXPECT_EQ(to_string(StallCause::store), "waiting for the last stores");
}

}  // namespace
}  // namespace emulsion
