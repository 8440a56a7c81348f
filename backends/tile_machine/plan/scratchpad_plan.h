#ifndef EMULSION_BACKENDS_TILE_MACHINE_PLAN_SCRATCHPAD_PLAN_H_
#define EMULSION_BACKENDS_TILE_MACHINE_PLAN_SCRATCHPAD_PLAN_H_

// A tile program with an SRAM address for everything: the list of uOps in the order in which they
// are queued. The execute, load and store units take theirs from it in order (tile_cost.h).
// Between its Load (or the Execute that makes it) and its Drop a tile lives at one address.

#include <cstdint>
#include <string>
#include <vector>

#include "backends/tile_machine/plan/tile_program.h"
#include "dsl/tile_machine.h"

namespace emulsion {

// Which goes first of the tiles that are needed again.
enum class EvictionPolicy : uint8_t {
  lru,     // least recently used: knows only the past
  belady,  // used again last, or never (L. A. Belady, 1966): the optimum for tiles of one size
};

enum class PlannedKind : uint8_t { load, execute, store, drop };

enum class PlannedReason : uint8_t {
  program,  // execute, store: the program says so
  first,    // load: of a tile that was not in SRAM before
  again,    // load: of a tile that had to go
  spill,    // store: of a value that is needed again, its space being needed first
  overlap,  // store: memory has to be up to date for a tile that shares elements
  flush,    // store: of an output that no step stores, at the end
  evict,    // drop: space is needed
  dead,     // drop: the value is not needed again
  stale,    // drop: a tile that shares elements is written
};

struct PlannedUop {
  PlannedKind kind;
  PlannedReason reason;
  StepId step;      // execute and store of the program: this one; else: the one it is done for
  TileId tile;      // load, store, drop; execute: the one that it writes
  int64_t address;  // of that tile
};

struct PlanCounts {
  int64_t executes = 0;
  int64_t loads = 0;       // misses: tiles brought in
  int64_t cold_loads = 0;  // tiles that have to be loaded once whatever the policy: a lower bound
  int64_t reads = 0;       // operands read: loads + reads that found their tile
  int64_t stores = 0;      // all of them
  int64_t spills = 0;      // stores of what the program does not store
  int64_t evictions = 0;
  int64_t repacks = 0;  // times that an execute's own operands had to make way: see the planner
  int64_t load_bytes = 0;
  int64_t store_bytes = 0;
  int64_t peak_bytes = 0;  // of SRAM taken up, alignment included
};

struct ScratchpadPlan {
  TileMachine machine;
  EvictionPolicy policy = EvictionPolicy::belady;
  std::vector<PlannedUop> uops;
  // Where each operand is when its step runs; parallel to TileProgram::operands.
  std::vector<int64_t> operand_addresses;
  PlanCounts counts;
};

std::string to_string(EvictionPolicy policy);
std::string to_string(PlannedKind kind);
std::string to_string(PlannedReason reason);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_TILE_MACHINE_PLAN_SCRATCHPAD_PLAN_H_
