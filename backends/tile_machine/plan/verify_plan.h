#ifndef EMULSION_BACKENDS_TILE_MACHINE_PLAN_VERIFY_PLAN_H_
#define EMULSION_BACKENDS_TILE_MACHINE_PLAN_VERIFY_PLAN_H_

// Whether a scratchpad plan and its timing are what they claim to be. Shares no code with the
// planner and the clock: it follows the plan with one owner and one time for every aligned piece of
// the SRAM.
//
// - Every address is aligned and every tile inside the SRAM; no two live tiles share an address.
// - The steps of the program run once each and in its order.
// - Every operand is live at the address that the step names, has landed when the step starts, and
//   holds the newest value of all its elements. What is loaded has been stored before.
// - No uOp starts in a piece of SRAM before every earlier user of it is done.
// - Each unit does one uOp at a time, in order, for as many cycles as the model says.
// - At the end the home of every output has its value.

#include "backends/tile_machine/plan/scratchpad_plan.h"
#include "backends/tile_machine/plan/tile_program.h"
#include "backends/tile_machine/plan/time_plan.h"

namespace emulsion {

// InternalError naming the uOp, its position in the plan, and what is wrong.
void verify_plan(const TileProgram& program, const ScratchpadPlan& plan, const PlanTiming& timing);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_TILE_MACHINE_PLAN_VERIFY_PLAN_H_
