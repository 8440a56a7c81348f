#ifndef EMULSION_BACKENDS_TILE_MACHINE_TIME_PLAN_H_
#define EMULSION_BACKENDS_TILE_MACHINE_TIME_PLAN_H_

// When each uOp of a scratchpad plan runs, in cycles from 0, under the model of tile_cost.h: each
// as soon as its unit is done with the uOp before it and
//
//   Load     its addresses are free, and what it loads has been stored; without double buffering
//            also everything before it in the plan is done
//   Execute  its operands have landed, and the addresses of a tile that it makes are free
//   Store    its tile is computed
//
// Addresses are free when every uOp that used the tile that was there is done.

#include <cstdint>
#include <string>
#include <vector>

#include "backends/tile_machine/scratchpad_plan.h"
#include "backends/tile_machine/tile_program.h"

namespace emulsion {

struct Cycles {
  int64_t start = 0;
  int64_t end = 0;
};

enum class StallCause : uint8_t {
  load,   // an operand is on its way
  space,  // the addresses of an operand, or of the result, are still in use
  store,  // all is computed, the last Stores are on their way
};

// A time in which the execute unit does nothing.
struct Stall {
  Cycles span;
  StallCause cause;
};

struct PlanTiming {
  std::vector<Cycles> spans;  // parallel to ScratchpadPlan::uops; a drop: when its space is free
  int64_t total = 0;          // when the last uOp is done
  // How long each unit works.
  int64_t load_busy = 0, execute_busy = 0, store_busy = 0;
  std::vector<Stall> stalls;  // in order; with execute_busy they add up to total

  int64_t stalled(StallCause cause) const;
};

std::string to_string(StallCause cause);  // "waiting for a load"

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

#endif  // EMULSION_BACKENDS_TILE_MACHINE_TIME_PLAN_H_
