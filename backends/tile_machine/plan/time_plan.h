#ifndef EMULSION_BACKENDS_TILE_MACHINE_PLAN_TIME_PLAN_H_
#define EMULSION_BACKENDS_TILE_MACHINE_PLAN_TIME_PLAN_H_

// When each uOp of a whole scratchpad plan runs (plan_clock.h says under which model), and how long
// each tile stays in SRAM.

#include <cstdint>
#include <vector>

#include "backends/tile_machine/plan/plan_clock.h"
#include "backends/tile_machine/plan/scratchpad_plan.h"
#include "backends/tile_machine/plan/tile_program.h"

namespace emulsion {

PlanTiming time_plan(const TileProgram& program, const ScratchpadPlan& plan);

// A tile's stay in SRAM.
struct Residency {
  TileId tile = 0;
  int64_t address = 0;
  // From the start of its Load, or of the Execute that makes it, until it is dropped as dead or, if
  // it is evicted, until another tile takes its place; or until the end.
  Cycles span;
  int64_t last_use = 0;  // when its last uOp is done
};

// In the order of the starts in the plan.
std::vector<Residency> residencies(const TileProgram& program, const ScratchpadPlan& plan,
                                   const PlanTiming& timing);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_TILE_MACHINE_PLAN_TIME_PLAN_H_
