// Every plan that is wrong in one way is caught, and for that reason.

#include "backends/tile_machine/plan/verify_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "tests/backends/tile_machine/plan/test_programs.h"
#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

struct Planned {
  TileProgram program;
  ScratchpadPlan plan;
  PlanTiming timing;

  void verify() const { verify_plan(program, plan, timing); }
  // The `nth` uOp of a kind (and a reason).
  size_t find(PlannedKind kind, int nth = 0) const {
    for (size_t i = 0; i < plan.uops.size(); ++i) {
      if (plan.uops[i].kind == kind && nth-- == 0) return i;
    }
    return plan.uops.size();
  }
  void erase(size_t uop) {
    plan.uops.erase(plan.uops.begin() + static_cast<std::ptrdiff_t>(uop));
    timing.spans.erase(timing.spans.begin() + static_cast<std::ptrdiff_t>(uop));
  }
  void swap(size_t a, size_t b) {
    std::swap(plan.uops[a], plan.uops[b]);
    std::swap(timing.spans[a], timing.spans[b]);
  }
};

Planned planned(int64_t sram_bytes = 5 * 4096, bool double_buffer = true) {
  Planned result;
  result.program = matmul_program(64, 96, 64, 32);
  result.plan = plan_scratchpad(result.program, machine_with(sram_bytes, double_buffer));
  result.timing = time_plan(result.program, result.plan);
  return result;
}

TEST(VerifyPlan, AcceptsAPlan) { EXPECT_NO_THROW(planned().verify()); }

TEST(VerifyPlan, AnAddressThatIsNotAligned) {
  Planned p = planned();
  p.plan.uops[p.find(PlannedKind::load)].address += 4;
  EXPECT_INTERNAL_ERROR(p.verify(), "which is not aligned to 64");
}

TEST(VerifyPlan, AnAddressOutsideTheSram) {
  Planned p = planned();
  p.plan.uops[p.find(PlannedKind::load)].address = 5 * 4096 - 64;
  EXPECT_INTERNAL_ERROR(p.verify(), "outside the 20480 bytes of SRAM");
  p.plan.uops[p.find(PlannedKind::load)].address = -64;
  EXPECT_INTERNAL_ERROR(p.verify(), "outside the 20480 bytes of SRAM");
}

TEST(VerifyPlan, TwoTilesAtOneAddress) {
  Planned p = planned();
  const int64_t there = p.plan.uops[p.find(PlannedKind::load, 0)].address;
  p.plan.uops[p.find(PlannedKind::load, 1)].address = there;
  EXPECT_INTERNAL_ERROR(p.verify(), "over x[0:32, 0:32]");
}

TEST(VerifyPlan, ALoadThatIsLeftOut) {
  Planned p = planned();
  p.erase(p.find(PlannedKind::load));
  EXPECT_INTERNAL_ERROR(p.verify(), "names x[0:32, 0:32], which is not in SRAM");
}

TEST(VerifyPlan, ALoadBehindItsExecute) {
  Planned p = planned(5 * 4096, false);
  size_t load = p.find(PlannedKind::load, 1);
  while (p.plan.uops[load + 1].kind != PlannedKind::execute) ++load;
  p.swap(load, load + 1);
  EXPECT_INTERNAL_ERROR(p.verify(), "which is not in SRAM");
}

TEST(VerifyPlan, ALoadOfWhatIsThere) {
  Planned p = planned();
  const size_t load = p.find(PlannedKind::load);
  p.plan.uops.insert(p.plan.uops.begin() + static_cast<std::ptrdiff_t>(load), p.plan.uops[load]);
  p.timing.spans.insert(p.timing.spans.begin() + static_cast<std::ptrdiff_t>(load),
                        p.timing.spans[load]);
  p.timing.spans[load] = {0, 64};
  p.timing.spans[load + 1] = {64, 128};
  EXPECT_INTERNAL_ERROR(p.verify(), "which is in SRAM");
}

TEST(VerifyPlan, AnExecuteThatIsLeftOut) {
  Planned p = planned();
  p.erase(p.find(PlannedKind::execute, 1));
  EXPECT_INTERNAL_ERROR(p.verify(), "comes where step 1 should");
}

TEST(VerifyPlan, TheLastStoreLeftOut) {
  Planned p = planned();
  size_t last = p.plan.uops.size() - 1;
  while (p.plan.uops[last].kind != PlannedKind::store) --last;
  p.erase(last);
  EXPECT_INTERNAL_ERROR(p.verify(), "runs 29 of 30 steps");
}

TEST(VerifyPlan, TwoExecutesInTheWrongOrder) {
  Planned p = planned();
  const size_t a = p.find(PlannedKind::execute, 1);
  const size_t b = p.find(PlannedKind::execute, 2);
  std::swap(p.plan.uops[a], p.plan.uops[b]);
  EXPECT_INTERNAL_ERROR(p.verify(), "comes where step 1 should");
}

TEST(VerifyPlan, AnOperandElsewhere) {
  Planned p = planned();
  const TileStep& step = p.program.steps[1];
  p.plan.operand_addresses[step.first_operand] += 64;
  EXPECT_INTERNAL_ERROR(p.verify(), "names x[0:32, 0:32] at");
}

TEST(VerifyPlan, AResultElsewhere) {
  Planned p = planned();
  p.plan.uops[p.find(PlannedKind::execute, 1)].address += 64;
  EXPECT_INTERNAL_ERROR(p.verify(), "writes tile");
}

TEST(VerifyPlan, ADropTooEarly) {
  Planned p = planned();
  const size_t drop = p.find(PlannedKind::drop);
  size_t user = drop;
  while (p.plan.uops[user].kind != PlannedKind::execute) --user;
  p.swap(drop, user);
  EXPECT_INTERNAL_ERROR(p.verify(), "which is not in SRAM");
}

TEST(VerifyPlan, ADropOfWhatIsNotThere) {
  Planned p = planned();
  p.plan.uops[p.find(PlannedKind::drop)].address += 64;
  EXPECT_INTERNAL_ERROR(p.verify(), "which is not there");
}

TEST(VerifyPlan, AnExecuteBeforeItsLoadLands) {
  Planned p = planned();
  const size_t execute = p.find(PlannedKind::execute, 1);
  p.timing.spans[execute].start -= 1;
  p.timing.spans[execute].end -= 1;
  EXPECT_INTERNAL_ERROR(p.verify(), "lands at");
}

TEST(VerifyPlan, ALoadIntoSpaceThatIsInUse) {
  Planned p = planned(3 * 4096 + 64);
  for (size_t i = 0; i < p.plan.uops.size(); ++i) {
    if (p.plan.uops[i].kind != PlannedKind::load) continue;
    Planned early = p;
    --early.timing.spans[i].start;
    --early.timing.spans[i].end;
    EXPECT_THROW(early.verify(), InternalError) << "load " << i;
  }
}

TEST(VerifyPlan, AnyUopOneCycleEarlier) {
  for (bool double_buffer : {false, true}) {
    Planned p = planned(4 * 4096, double_buffer);
    for (size_t i = 0; i < p.plan.uops.size(); ++i) {
      if (p.plan.uops[i].kind == PlannedKind::drop) continue;
      Planned early = p;
      --early.timing.spans[i].start;
      --early.timing.spans[i].end;
      EXPECT_THROW(early.verify(), InternalError) << "uOp " << i;
    }
  }
}

TEST(VerifyPlan, AUopThatIsTooQuick) {
  for (PlannedKind kind : {PlannedKind::load, PlannedKind::execute, PlannedKind::store}) {
    Planned p = planned();
    --p.timing.spans[p.find(kind)].end;
    EXPECT_INTERNAL_ERROR(p.verify(), "cycles, not");
  }
}

TEST(VerifyPlan, TwoUopsOfAUnitAtOnce) {
  Planned p = planned();
  p.timing.spans[p.find(PlannedKind::load, 1)] = p.timing.spans[p.find(PlannedKind::load, 0)];
  EXPECT_INTERNAL_ERROR(p.verify(), "its unit is busy until");
}

TEST(VerifyPlan, AnotherTotal) {
  Planned p = planned();
  ++p.timing.total;
  EXPECT_INTERNAL_ERROR(p.verify(), "ends at");
}

TEST(VerifyPlan, ATableThatIsTooShort) {
  Planned p = planned();
  p.timing.spans.pop_back();
  EXPECT_INTERNAL_ERROR(p.verify(), "spans for");
  p = planned();
  p.plan.operand_addresses.pop_back();
  EXPECT_INTERNAL_ERROR(p.verify(), "addresses for");
}

// The tile that a store brings home is loaded again before it is computed anew.
bool loaded_back(const ScratchpadPlan& plan, size_t store) {
  for (size_t i = store + 1; i < plan.uops.size(); ++i) {
    if (plan.uops[i].tile != plan.uops[store].tile) continue;
    if (plan.uops[i].kind == PlannedKind::load) return true;
    if (plan.uops[i].kind == PlannedKind::execute) return false;
  }
  return false;
}

TEST(VerifyPlan, ASpillThatIsLeftOut) {
  int64_t caught = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Planned p;
    p.program = random_program(seed, 8, 40, seed % 2 == 1);
    p.plan = plan_scratchpad(p.program, machine_with(largest_need(p.program)), EvictionPolicy::lru);
    p.timing = time_plan(p.program, p.plan);
    for (size_t i = 0; i < p.plan.uops.size(); ++i) {
      if (p.plan.uops[i].reason != PlannedReason::spill || !loaded_back(p.plan, i)) continue;
      Planned without = p;
      without.erase(i);
      without.timing = time_plan(without.program, without.plan);
      EXPECT_THROW(without.verify(), InternalError) << "seed " << seed << ", uOp " << i;
      ++caught;
    }
  }
  EXPECT_GT(caught, 50);
}

// The halves of h are written, and what lies between them is read.
Planned with_neighbours() {
  TileProgramBuilder builder;
  const BufferId h = builder.add_buffer("h", 4), y = builder.add_buffer("y", 4, true);
  builder.add_execute("h", {}, builder.add_tile(h, {0}, {16}), false, 0);
  builder.add_execute("h", {}, builder.add_tile(h, {16}, {16}), false, 0);
  builder.add_execute("y", {builder.add_tile(h, {8}, {16})}, builder.add_tile(y, {0}, {16}), false,
                      0);
  Planned result;
  result.program = builder.take();
  result.plan = plan_scratchpad(result.program, machine_with(4096, true));
  result.timing = time_plan(result.program, result.plan);
  return result;
}

TEST(VerifyPlan, ALoadOfWhatANeighbourHasNotStored) {
  Planned p = with_neighbours();
  EXPECT_NO_THROW(p.verify());
  p.erase(p.find(PlannedKind::store));
  p.timing = time_plan(p.program, p.plan);
  EXPECT_INTERNAL_ERROR(p.verify(), "loads what h[0:16] was before it was written");
}

TEST(VerifyPlan, ALoadOfWhatANeighbourIsStoring) {
  Planned p = with_neighbours();
  const size_t load = p.find(PlannedKind::load);
  --p.timing.spans[load].start;
  --p.timing.spans[load].end;
  EXPECT_INTERNAL_ERROR(p.verify(), "is being stored until");
}

TEST(VerifyPlan, ACopyOfWhatIsWrittenThatStays) {
  TileProgramBuilder builder;
  const BufferId h = builder.add_buffer("h", 4), y = builder.add_buffer("y", 4, true);
  const TileId wide = builder.add_tile(h, {0}, {32});
  builder.add_execute("y", {wide}, builder.add_tile(y, {0}, {16}), false, 0);
  builder.add_execute("h", {}, builder.add_tile(h, {8}, {8}), false, 0);
  builder.add_execute("y", {wide}, builder.add_tile(y, {16}, {16}), false, 0);
  Planned p;
  p.program = builder.take();
  p.plan = plan_scratchpad(p.program, machine_with(4096));
  size_t drop = p.plan.uops.size();
  while (p.plan.uops[drop - 1].reason != PlannedReason::stale) --drop;
  size_t load = drop;
  while (p.plan.uops[load].tile != wide) ++load;
  p.timing = time_plan(p.program, p.plan);
  EXPECT_NO_THROW(p.verify());
  p.erase(load);
  p.erase(drop - 1);
  p.plan.operand_addresses[p.program.steps[2].first_operand] = p.plan.operand_addresses[0];
  p.timing = time_plan(p.program, p.plan);
  EXPECT_INTERNAL_ERROR(p.verify(), "names h[0:32], whose value is not the newest");
}

// Anything left out or moved: caught, whatever it is.
TEST(VerifyPlan, RandomDamage) {
  const Planned whole = planned(4 * 4096);
  std::mt19937_64 random(3);
  for (int round = 0; round < 300; ++round) {
    Planned p = whole;
    const size_t at = random() % p.plan.uops.size();
    PlannedUop& uop = p.plan.uops[at];
    switch (random() % 3) {
      case 0:
        if (uop.kind == PlannedKind::drop) continue;  // space that is never given back is no error
        p.erase(at);
        break;
      case 1:
        uop.address += 64;
        break;
      case 2:
        uop.tile = static_cast<TileId>((uop.tile + 1) % p.program.tiles.size());
        break;
    }
    EXPECT_THROW(p.verify(), InternalError) << "round " << round << ", uOp " << at;
  }
}

}  // namespace
}  // namespace emulsion
