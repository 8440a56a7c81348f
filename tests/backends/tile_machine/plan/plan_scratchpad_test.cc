#include "backends/tile_machine/plan/plan_scratchpad.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/backends/tile_machine/plan/test_programs.h"
#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

const EvictionPolicy kPolicies[] = {EvictionPolicy::lru, EvictionPolicy::belady};

int64_t count(const ScratchpadPlan& plan, PlannedKind kind, PlannedReason reason) {
  return std::count_if(plan.uops.begin(), plan.uops.end(), [&](const PlannedUop& uop) {
    return uop.kind == kind && uop.reason == reason;
  });
}

TEST(PlanScratchpad, KeepsWhatIsUsedAgain) {
  const TileProgram program = matmul_program(64, 64, 64, 32);
  const ScratchpadPlan plan = checked_plan(program, machine_with(1 << 20), EvictionPolicy::belady);
  EXPECT_EQ(program.loads, 16 + 4);
  EXPECT_EQ(plan.counts.loads, 4 + 4 + 2);
  EXPECT_EQ(plan.counts.cold_loads, 10);
  EXPECT_EQ(plan.counts.evictions, 0);
  EXPECT_EQ(plan.counts.spills, 0);
  EXPECT_EQ(plan.counts.stores, 4);
  EXPECT_EQ(plan.counts.executes, 4 * 4);
}

TEST(PlanScratchpad, AnAccumulatorIsDeadAfterItsEpilogue) {
  const ScratchpadPlan plan =
      checked_plan(matmul_program(64, 64, 64, 32), machine_with(1 << 20), EvictionPolicy::lru);
  EXPECT_EQ(count(plan, PlannedKind::drop, PlannedReason::dead), 4 + 4 + plan.counts.loads);
  EXPECT_EQ(plan.counts.spills, 0);
}

TEST(PlanScratchpad, AnInputIsDeadAfterItsLastUse) {
  TileProgramBuilder builder;
  const BufferId x = builder.add_buffer("x", 4);
  const BufferId y = builder.add_buffer("y", 4, true);
  const TileId again = builder.add_tile(x, {1000}, {16});
  for (int64_t i = 0; i < 8; ++i) {
    const TileId result = builder.add_tile(y, {16 * i}, {16});
    builder.add_execute("y", {builder.add_tile(x, {16 * i}, {16}), again}, result, false, 0);
    builder.add_store("y", result);
  }
  const TileProgram program = builder.take();
  for (EvictionPolicy policy : kPolicies) {
    const ScratchpadPlan plan = checked_plan(program, machine_with(1 << 20), policy);
    EXPECT_EQ(count(plan, PlannedKind::drop, PlannedReason::dead), 8 + 8 + 1);
    EXPECT_EQ(plan.counts.loads, 8 + 1);
    EXPECT_EQ(plan.counts.evictions, 0);
    EXPECT_EQ(plan.counts.peak_bytes, 3 * 64);
  }
}

// Where everything would fit without any address being used twice.
TEST(PlanScratchpad, NothingWaitsForSpaceWhereThereIsPlenty) {
  for (bool double_buffer : {false, true}) {
    for (EvictionPolicy policy : kPolicies) {
      for (int64_t store_bytes : {4, 64}) {
        TileMachine machine = machine_with(1 << 22, double_buffer);
        machine.store_bytes_per_cycle = store_bytes;
        auto waits = [&](const TileProgram& program) {
          const ScratchpadPlan plan = checked_plan(program, machine, policy);
          return time_plan(program, plan).stalled(StallCause::space);
        };
        EXPECT_EQ(waits(matmul_program(40, 40, 1, 32)), 0);
        EXPECT_EQ(waits(matmul_program(100, 70, 40, 32)), 0);
        for (uint64_t seed = 0; seed < 20; ++seed) {
          EXPECT_EQ(waits(random_reads(seed, 12, 60)), 0) << "seed " << seed;
        }
      }
    }
  }
}

// Tiles that are read once, made into a result of the same size and stored: the load unit never
// waits, in space for six tiles.
TEST(PlanScratchpad, AStreamRunsAtFullSpeedInLittleSpace) {
  TileProgramBuilder builder;
  const BufferId x = builder.add_buffer("x", 4);
  const BufferId y = builder.add_buffer("y", 4, true);
  for (int64_t i = 0; i < 50; ++i) {
    const TileId result = builder.add_tile(y, {1024 * i}, {1024});
    builder.add_execute("y", {builder.add_tile(x, {1024 * i}, {1024})}, result, false, 0);
    builder.add_store("y", result);
  }
  const TileProgram program = builder.take();
  const TileMachine machine = machine_with(6 * 4096, true);
  for (EvictionPolicy policy : kPolicies) {
    const PlanTiming timing = time_plan(program, checked_plan(program, machine, policy));
    EXPECT_EQ(timing.stalled(StallCause::space), 0);
    EXPECT_EQ(timing.total, timing.load_busy + 32 + 64);  // the last execute, the last store
  }
}

TEST(PlanScratchpad, TheLeastSpaceThatOneStepNeedsIsEnough) {
  const TileProgram program = matmul_program(96, 64, 96, 32);
  for (EvictionPolicy policy : kPolicies) {
    const ScratchpadPlan plan = checked_plan(program, machine_with(3 * 4096), policy);
    EXPECT_EQ(plan.counts.peak_bytes, 3 * 4096);
    EXPECT_GT(plan.counts.loads, plan.counts.cold_loads);
  }
}

TEST(PlanScratchpad, SpillsAnAccumulatorAndLoadsItBack) {
  TileProgramBuilder builder;
  const BufferId x = builder.add_buffer("x", 4);
  const BufferId sums = builder.add_buffer("sums", 4, true);
  auto tile = [&](BufferId buffer, int64_t i) { return builder.add_tile(buffer, {16 * i}, {16}); };
  for (int64_t i = 0; i < 3; ++i) builder.add_execute("sums", {}, tile(sums, i), false, 0);
  for (int64_t k = 0; k < 2; ++k) {
    for (int64_t i = 0; i < 3; ++i) {
      builder.add_execute("sums", {tile(x, 3 * k + i)}, tile(sums, i), true, 16);
    }
  }
  const TileProgram program = builder.take();
  const ScratchpadPlan plan = checked_plan(program, machine_with(2 * 64), EvictionPolicy::lru);
  EXPECT_GT(plan.counts.spills, 0);
  EXPECT_GT(count(plan, PlannedKind::load, PlannedReason::again), 0);
  EXPECT_EQ(checked_plan(program, machine_with(6 * 64), EvictionPolicy::lru).counts.spills, 0);
}

TEST(PlanScratchpad, AnOutputThatNobodyStoresIsFlushed) {
  TileProgramBuilder builder;
  const TileId y = builder.add_tile(builder.add_buffer("y", 4, true), {0}, {16});
  builder.add_execute("y", {}, y, false, 0);
  const ScratchpadPlan plan =
      checked_plan(builder.take(), machine_with(4096), EvictionPolicy::belady);
  EXPECT_EQ(count(plan, PlannedKind::store, PlannedReason::flush), 1);
}

TEST(PlanScratchpad, ATileThatSharesElementsIsStoredFirst) {
  TileProgramBuilder builder;
  const BufferId h = builder.add_buffer("h", 4);
  const BufferId y = builder.add_buffer("y", 4, true);
  builder.add_execute("h", {}, builder.add_tile(h, {0}, {16}), false, 0);
  builder.add_execute("h", {}, builder.add_tile(h, {16}, {16}), false, 0);
  const TileId middle = builder.add_tile(h, {8}, {16});
  builder.add_execute("y", {middle}, builder.add_tile(y, {0}, {16}), false, 0);
  const ScratchpadPlan plan =
      checked_plan(builder.take(), machine_with(4096), EvictionPolicy::belady);
  EXPECT_EQ(count(plan, PlannedKind::store, PlannedReason::overlap), 2);
  EXPECT_EQ(plan.counts.spills, 2);
  EXPECT_EQ(plan.counts.loads, 1);
}

TEST(PlanScratchpad, ACopyOfWhatIsWrittenGoes) {
  TileProgramBuilder builder;
  const BufferId h = builder.add_buffer("h", 4);
  const BufferId y = builder.add_buffer("y", 4, true);
  const TileId wide = builder.add_tile(h, {0}, {32});
  builder.add_execute("y", {wide}, builder.add_tile(y, {0}, {16}), false, 0);
  builder.add_execute("h", {}, builder.add_tile(h, {8}, {8}), false, 0);
  builder.add_execute("y", {wide}, builder.add_tile(y, {16}, {16}), false, 0);
  const ScratchpadPlan plan =
      checked_plan(builder.take(), machine_with(4096), EvictionPolicy::belady);
  EXPECT_EQ(count(plan, PlannedKind::drop, PlannedReason::stale), 1);
  EXPECT_EQ(plan.counts.loads, 2);
}

// Tiles that share elements are copies of the same memory: while nobody writes it, none makes the
// other one go.
TEST(PlanScratchpad, TilesThatShareElementsAreLoadedOnceEach) {
  for (EvictionPolicy policy : kPolicies) {
    TileProgramBuilder builder;
    const BufferId h = builder.add_buffer("h", 4);
    const BufferId y = builder.add_buffer("y", 4, true);
    auto read = [&](TileId tile, int64_t row) {
      builder.add_execute("y", {tile}, builder.add_tile(y, {16 * row}, {16}), false, 0);
    };
    builder.add_execute("h", {}, builder.add_tile(h, {0}, {32}), false, 0);
    const TileId low = builder.add_tile(h, {4}, {16});
    const TileId high = builder.add_tile(h, {8}, {16});
    for (int64_t turn = 0; turn < 3; ++turn) {
      read(low, 2 * turn);
      read(high, 2 * turn + 1);
    }
    builder.add_execute("h", {}, builder.add_tile(h, {20}, {12}), false, 0);  // of high, not of low
    read(low, 6);
    read(high, 7);
    const ScratchpadPlan plan = checked_plan(builder.take(), machine_with(8192), policy);
    EXPECT_EQ(plan.counts.cold_loads, 2);
    EXPECT_EQ(count(plan, PlannedKind::load, PlannedReason::again), 1);
    EXPECT_EQ(count(plan, PlannedKind::drop, PlannedReason::stale), 2);  // the first of h, and high
  }
}

TEST(PlanScratchpad, HolesThatAreTooSmallAreRepacked) {
  TileProgramBuilder builder;
  const BufferId x = builder.add_buffer("x", 4);
  const BufferId y = builder.add_buffer("y", 4);
  auto tile = [&](BufferId buffer, int64_t min, int64_t pieces) {
    return builder.add_tile(buffer, {min}, {16 * pieces});
  };
  const TileId a = tile(x, 0, 1);
  const TileId b = tile(x, 100, 1);
  const TileId c = tile(x, 200, 1);
  builder.add_execute("y", {a, b, c}, tile(y, 0, 1), false, 0);  // a b c y: all four pieces
  // b stands in the middle, and a hole of two pieces is on neither side of it, only of one.
  builder.add_execute("y", {b}, tile(y, 100, 3), false, 0);
  const ScratchpadPlan plan =
      checked_plan(builder.take(), machine_with(4 * 64), EvictionPolicy::belady);
  EXPECT_EQ(plan.counts.repacks, 1);
  EXPECT_EQ(plan.counts.loads, 4);
}

TEST(PlanScratchpad, WhatIsNotInTheWayStays) {
  TileProgramBuilder builder;
  const BufferId x = builder.add_buffer("x", 4);
  const BufferId y = builder.add_buffer("y", 4);
  auto small = [&](int64_t i) { return builder.add_tile(x, {16 * i}, {16}); };
  auto result = [&](int64_t i, int64_t pieces) {
    return builder.add_tile(y, {1000 * i}, {16 * pieces});
  };
  // Four tiles and a result; then the order of eviction is 0, 2, 3, 1, and two pieces side by side
  // appear with 3: only 2 and 3 have to go.
  for (int64_t i : {0, 1, 2, 3}) builder.add_execute("y", {small(i)}, result(i, 1), false, 0);
  builder.add_execute("y", {small(1)}, result(4, 1), false, 0);
  builder.add_execute("y", {}, result(5, 3), false, 0);
  for (int64_t i : {0, 1, 2, 3}) builder.add_execute("y", {small(i)}, result(6 + i, 1), false, 0);
  const ScratchpadPlan plan =
      checked_plan(builder.take(), machine_with(5 * 64), EvictionPolicy::lru);
  EXPECT_EQ(plan.counts.evictions, 2);
}

TEST(PlanScratchpad, DoubleBufferingLoadsAheadOfAnExecute) {
  const TileProgram program = matmul_program(32, 32, 128, 32);
  auto loads_before_execute = [&](bool double_buffer) {
    const ScratchpadPlan plan =
        checked_plan(program, machine_with(1 << 20, double_buffer), EvictionPolicy::belady);
    int64_t ahead = 0;
    int64_t next = 0;
    for (const PlannedUop& uop : plan.uops) {
      if (uop.kind == PlannedKind::execute) next = uop.step + 1;
      if (uop.kind == PlannedKind::load && uop.step > next) ++ahead;
    }
    return ahead;
  };
  EXPECT_EQ(loads_before_execute(false), 0);
  EXPECT_EQ(loads_before_execute(true), 4 * 2 + 1);
}

TEST(PlanScratchpad, DoubleBufferingTakesFewerCycles) {
  const TileProgram program = matmul_program(128, 128, 256, 32);
  auto cycles = [&](bool double_buffer) {
    const ScratchpadPlan plan =
        checked_plan(program, machine_with(64 << 10, double_buffer), EvictionPolicy::belady);
    return time_plan(program, plan).total;
  };
  EXPECT_LT(cycles(true), cycles(false));
}

TEST(PlanScratchpad, WithoutRoomTheLoadsWait) {
  const TileProgram program = matmul_program(64, 64, 128, 32);
  for (EvictionPolicy policy : kPolicies) {
    checked_plan(program, machine_with(3 * 4096, true), policy);
    checked_plan(program, machine_with(4 * 4096, true), policy);
  }
}

TEST(PlanScratchpad, AnEmptyProgramHasAnEmptyPlan) {
  const ScratchpadPlan plan = checked_plan({}, machine_with(4096), EvictionPolicy::belady);
  EXPECT_TRUE(plan.uops.empty());
  EXPECT_EQ(plan.counts.peak_bytes, 0);
}

TEST(PlanScratchpad, RefusesAStepThatDoesNotFit) {
  const TileProgram program = matmul_program(64, 64, 64, 32);
  auto plan = [&] { return plan_scratchpad(program, machine_with(3 * 4096 - 64)); };
  EXPECT_ERROR(plan(), "execute mm (step 1)");
  EXPECT_ERROR(plan(), "expected operands that fit in 12224 bytes of SRAM together");
  EXPECT_ERROR(plan(), "x[0:32, 0:32] 4096 + w[0:32, 0:32] 4096 + mm[0:32, 0:32] 4096");
  EXPECT_ERROR(plan(), "= 12288 bytes");
  EXPECT_ERROR(plan(), "the largest tile that fits 3 times has 4032 bytes");
}

TEST(PlanScratchpad, CountsTheAlignmentOfWhatDoesNotFit) {
  TileProgramBuilder builder;
  const BufferId x = builder.add_buffer("x", 4);
  builder.add_execute("y", {builder.add_tile(x, {0}, {1})},
                      builder.add_tile(builder.add_buffer("y", 4), {0}, {1}), false, 0);
  const TileProgram program = builder.take();
  EXPECT_ERROR(plan_scratchpad(program, machine_with(64)), "= 128 bytes");
  EXPECT_EQ(checked_plan(program, machine_with(128), EvictionPolicy::lru).counts.loads, 1);
}

TEST(PlanScratchpad, RefusesAMachineThatIsNone) {
  TileMachine machine = machine_with(4096);
  machine.alignment = 48;
  EXPECT_ERROR(plan_scratchpad({}, machine), "alignment");
}

TEST(PlanScratchpad, RandomProgramsOfAllSizes) {
  int64_t spills = 0;
  int64_t repacks = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const TileProgram program = random_program(seed, 12, 60, seed % 2 == 1);
    for (EvictionPolicy policy : kPolicies) {
      for (bool double_buffer : {false, true}) {
        const TileMachine machine = machine_with(
            largest_need(program) + 64 * static_cast<int64_t>(seed % 8), double_buffer);
        ScratchpadPlan plan;
        ASSERT_NO_THROW(plan = checked_plan(program, machine, policy)) << "seed " << seed;
        spills += plan.counts.spills;
        repacks += plan.counts.repacks;
      }
    }
  }
  EXPECT_GT(spills, 1000);
  EXPECT_GT(repacks, 10);
}

// Two million executes would take a test too long; the time for a tenth is ten times shorter.
TEST(PlanScratchpad, PlansALongProgram) {
  const TileProgram program = matmul_program(1920, 1920, 1920, 32);
  const ScratchpadPlan plan =
      checked_plan(program, machine_with(256 << 10, true), EvictionPolicy::belady);
  EXPECT_EQ(plan.counts.executes, 60 * 60 * (60 + 2));
}

}  // namespace
}  // namespace emulsion
