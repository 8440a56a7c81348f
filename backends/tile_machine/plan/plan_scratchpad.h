#ifndef EMULSION_BACKENDS_TILE_MACHINE_PLAN_PLAN_SCRATCHPAD_H_
#define EMULSION_BACKENDS_TILE_MACHINE_PLAN_PLAN_SCRATCHPAD_H_

// Places the tiles of a program in SRAM: the scratchpad scheduler.
//
// Step by step: what the step names and SRAM does not hold is given an address (sram_arena.h) and
// loaded; a tile that is still there is not loaded again, and one whose value is not needed again
// goes after its last use. Addresses that nothing uses any more at that time are taken first: the
// planner keeps the clock of its own plan (plan_clock.h). Where there is no hole, tiles are taken
// out in the order of the policy until one appears, and those of them that are not in its way stay.
// A written value that is needed again goes to its home first (a spill) and is loaded back.
//
// Holes between the operands of one step can each be too small for the next operand although their
// sum is not. Then all of SRAM is emptied and the step's operands are placed side by side from
// address 0 (a repack): they fit, because their footprints were checked before anything was placed.
// With tiles of one footprint it never happens.
//
// Double buffering (TileMachine::double_buffer): before a step is queued, the loads of the next
// step that needs any are queued too, into space that the step and that next one do not use. Where
// there is none they wait.
//
// Belady's choice makes the fewest loads when all footprints are equal and nothing is loaded ahead
// (each step asks for a set of tiles at once; keeping those that are asked for soonest is the best
// that any planner can do). With tiles of several sizes it is a heuristic.
//
// Time O(n log t) for n operands and t tiles in SRAM; memory O(n).

#include "backends/tile_machine/plan/scratchpad_plan.h"

namespace emulsion {

// Error: a machine that is none (check_tile_machine); a step whose operands do not fit in SRAM
// together, naming the step, its operands, the need, the limit and the largest tile that fits.
ScratchpadPlan plan_scratchpad(const TileProgram& program, const TileMachine& machine,
                               EvictionPolicy policy = EvictionPolicy::belady);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_TILE_MACHINE_PLAN_PLAN_SCRATCHPAD_H_
