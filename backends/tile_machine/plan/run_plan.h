#ifndef EMULSION_BACKENDS_TILE_MACHINE_PLAN_RUN_PLAN_H_
#define EMULSION_BACKENDS_TILE_MACHINE_PLAN_RUN_PLAN_H_

// Runs a scratchpad plan on real data: an array of bytes is the SRAM, and every Load, Execute and
// Store reads and writes at the addresses of the plan, in the order of its cycles. What a uOp
// writes is poison from its first cycle on and right from its last, so a plan that overwrites what
// is still read, or reads what has not landed, computes something else than the nest does.
//
// Scalar arithmetic is the interpreter's; everything about tiles, addresses and time is not.

#include "backends/interpreter/bind_arguments.h"
#include "backends/interpreter/tensor_value.h"
#include "backends/tile_machine/plan/collect_tiles.h"
#include "backends/tile_machine/plan/scratchpad_plan.h"
#include "backends/tile_machine/plan/time_plan.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

// The outputs by name. `tiles`: collect_tiles(nest, sizes, true), with the sizes that the arguments
// have. Error: arguments that do not fit.
TensorValues run_plan(const LoopNest& nest, const NestTiles& tiles, const ScratchpadPlan& plan,
                      const PlanTiming& timing, const TensorValues& arguments);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_TILE_MACHINE_PLAN_RUN_PLAN_H_
