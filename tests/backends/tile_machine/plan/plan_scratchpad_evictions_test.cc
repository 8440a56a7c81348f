// What leaves SRAM when it is full, against the best of all choices.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "backends/tile_machine/plan/plan_scratchpad.h"
#include "tests/backends/tile_machine/plan/test_programs.h"

namespace emulsion {
namespace {

// The fewest loads of any planner: breadth first over what SRAM can hold while a step runs, all
// tiles having one size.
int64_t fewest_loads(const TileProgram& program, size_t places) {
  std::map<std::set<TileId>, int64_t> states = {{{}, 0}};  // held during a step -> loads so far
  for (const TileStep& step : program.steps) {
    std::map<std::set<TileId>, int64_t> after;
    std::set<TileId> operands;
    for (size_t i = 0; i < step.operand_count; ++i) operands.insert(program.operand(step, i));
    for (const auto& [held, loads] : states) {
      int64_t cost = loads;
      for (TileId tile : operands) {
        const bool made = step.overwrites && tile == program.written(step);
        cost += !made && held.count(tile) == 0 ? 1 : 0;
      }
      std::vector<TileId> rest;  // may stay or go
      for (TileId tile : held) {
        if (operands.count(tile) == 0) rest.push_back(tile);
      }
      for (uint32_t mask = 0; mask < (1U << rest.size()); ++mask) {
        std::set<TileId> next = operands;
        for (size_t i = 0; i < rest.size(); ++i) {
          if ((mask >> i & 1U) != 0) next.insert(rest[i]);
        }
        if (next.size() > places) continue;
        auto [found, is_new] = after.try_emplace(next, cost);
        if (!is_new) found->second = std::min(found->second, cost);
      }
    }
    states = after;
  }
  int64_t best = std::numeric_limits<int64_t>::max();
  for (const auto& [held, loads] : states) best = std::min(best, loads);
  return best;
}

// Tiles of one size, read, overwritten and accumulated to.
TileProgram tiles_of_one_size(uint64_t seed, int tiles, int steps) {
  std::mt19937_64 random(seed);
  TileProgramBuilder builder;
  const BufferId x = builder.add_buffer("x", 4);
  auto any = [&] {
    return builder.add_tile(x, {16 * static_cast<int64_t>(random() % static_cast<uint64_t>(tiles))},
                            {16});
  };
  for (int s = 0; s < steps; ++s) {
    const TileId written = any();
    std::vector<TileId> reads;
    for (uint64_t i = random() % 3; i > 0; --i) {
      const TileId read = any();
      if (read != written) reads.push_back(read);
    }
    builder.add_execute("f", reads, written, random() % 2 == 0, 0);
  }
  return builder.take();
}

TEST(PlanScratchpadEvictions, BeladyIsTheOptimum) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const TileProgram program = random_reads(seed, 6, 10);
    for (int64_t places : {4, 5}) {
      const TileMachine machine = machine_with(places * 64);
      EXPECT_EQ(checked_plan(program, machine, EvictionPolicy::belady).counts.loads,
                fewest_loads(program, static_cast<size_t>(places)))
          << "seed " << seed << ", " << places << " places";
    }
  }
}

TEST(PlanScratchpadEvictions, BeladyIsTheOptimumWithSpillsToo) {
  int64_t spills = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const TileProgram program = tiles_of_one_size(seed, 7, 14);
    for (int64_t places : {3, 4}) {
      const ScratchpadPlan plan =
          checked_plan(program, machine_with(places * 64), EvictionPolicy::belady);
      EXPECT_EQ(plan.counts.loads, fewest_loads(program, static_cast<size_t>(places)))
          << "seed " << seed << ", " << places << " places";
      spills += plan.counts.spills;
    }
  }
  EXPECT_GT(spills, 100);
}

TEST(PlanScratchpadEvictions, BeladyNeverLoadsMoreThanLruWithTilesOfOneSize) {
  int64_t fewer = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const TileProgram program = random_reads(seed, 12, 80);
    const TileMachine machine = machine_with((4 + static_cast<int64_t>(seed % 8)) * 64);
    const int64_t belady = checked_plan(program, machine, EvictionPolicy::belady).counts.loads;
    const ScratchpadPlan lru = checked_plan(program, machine, EvictionPolicy::lru);
    EXPECT_LE(belady, lru.counts.loads) << "seed " << seed;
    EXPECT_GE(belady, lru.counts.cold_loads) << "seed " << seed;
    EXPECT_EQ(lru.counts.repacks, 0) << "seed " << seed;
    fewer += belady < lru.counts.loads ? 1 : 0;
  }
  EXPECT_GT(fewer, 100);
}

}  // namespace
}  // namespace emulsion
