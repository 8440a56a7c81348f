#ifndef EMULSION_BACKENDS_TILE_MACHINE_PLAN_PLAN_CLOCK_H_
#define EMULSION_BACKENDS_TILE_MACHINE_PLAN_PLAN_CLOCK_H_

// When each uOp of a scratchpad plan runs, in cycles from 0, under the model of tile_cost.h: each
// as soon as its unit is done with the uOp before it and
//
//   Load     its addresses are free, and what it loads has been stored; without double buffering
//            also everything before it in the plan is done
//   Execute  its operands have landed, and the addresses of a tile that it makes are free
//   Store    its tile is computed
//
// Addresses are free when every uOp that used the tile that was there is done. The clock is told
// one uOp after another, so that the planner can ask it for the time that its plan has come to.

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "backends/tile_machine/plan/free_times.h"
#include "backends/tile_machine/plan/scratchpad_plan.h"
#include "backends/tile_machine/plan/tile_program.h"

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

class PlanClock {
 public:
  // Keeps references to the program and to its overlapping_tiles().
  PlanClock(const TileProgram& program, const std::vector<std::vector<TileId>>& overlaps,
            const TileMachine& machine);

  // Runs the next uOp of the plan. A drop: when its space is free.
  Cycles run(const PlannedUop& uop);
  // The timing of what ran; without its spans, which run() has returned.
  PlanTiming finish();

  // When a Load of the tile, or an Execute that makes its result, would start if it were the next
  // uOp and space were free.
  int64_t load_ready(TileId tile) const;
  int64_t execute_ready(const TileStep& step) const;
  // When every uOp that uses the tile is done.
  int64_t busy_until(TileId tile) const { return tiles_[tile].busy; }

 private:
  struct TileState {
    bool resident = false;
    int64_t ready = 0;       // its value is in SRAM
    int64_t busy = 0;        // nobody uses it any more
    int64_t home_ready = 0;  // its value is in memory
  };

  int64_t end_address(const PlannedUop& uop) const;
  Cycles load(const PlannedUop& uop);
  Cycles execute(const PlannedUop& uop);
  Cycles store(const PlannedUop& uop);
  Cycles drop(const PlannedUop& uop);
  void explain_wait(Cycles wait, int64_t data);
  void stall(int64_t start, int64_t end, StallCause cause);

  const TileProgram& program_;
  const std::vector<std::vector<TileId>>& overlaps_;
  const TileMachine machine_;
  std::vector<TileState> tiles_;
  FreeTimes free_times_;
  std::deque<Cycles> space_waits_;  // of the load unit, in order
  int64_t load_free_ = 0, execute_free_ = 0, store_free_ = 0;
  PlanTiming timing_;
};

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_TILE_MACHINE_PLAN_PLAN_CLOCK_H_
