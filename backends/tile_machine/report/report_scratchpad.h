#ifndef EMULSION_BACKENDS_TILE_MACHINE_REPORT_REPORT_SCRATCHPAD_H_
#define EMULSION_BACKENDS_TILE_MACHINE_REPORT_REPORT_SCRATCHPAD_H_

// The scratchpad plan of a nest in one call, and what it comes to, as text and as JSON;
// draw_scratchpad.h makes a picture of it.
//
//   const ScratchpadReport report = report_scratchpad(nest, *target.tiles);
//   std::cout << to_string(report);

#include <cstdint>
#include <string>
#include <vector>

#include "backends/tile_machine/plan/scratchpad_plan.h"
#include "backends/tile_machine/plan/tile_program.h"
#include "backends/tile_machine/plan/time_plan.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

// What a plan with one policy comes to.
struct PolicyOutcome {
  EvictionPolicy policy;
  PlanCounts counts;
  int64_t cycles = 0;
};

struct ScratchpadReport {
  std::string name;
  TileProgram program;
  ScratchpadPlan plan;
  PlanTiming timing;
  std::vector<PolicyOutcome> outcomes;  // of every policy, the planned one among them
  // No plan of this program takes fewer cycles: the unit with the most work has so much of it, when
  // every tile is loaded and every output stored once.
  int64_t least_cycles = 0;
};

// Error: what collect_tiles() and plan_scratchpad() refuse.
ScratchpadReport report_scratchpad(const LoopNest& nest, const TileMachine& machine,
                                   const SizeValues& sizes = {},
                                   EvictionPolicy policy = EvictionPolicy::belady);
ScratchpadReport report_scratchpad(const std::string& name, TileProgram program,
                                   const TileMachine& machine,
                                   EvictionPolicy policy = EvictionPolicy::belady);

// About ten lines, whatever the length of the program.
std::string to_string(const ScratchpadReport& report);
// The same as one JSON object, with the first uOps of the plan: {"name": .., "machine": ..,
// "policy": "Belady", "policies": [{"policy": .., "loads": .., ..}], "cycles": {"total": ..,
// "execute": .., "waiting for a load": .., ..}, "units": .., "sram": .., "uops": {"total": ..,
// "first": [{"kind": "load", "tile": "x[0:32, 0:32]", "address": 0, "start": 0, "end": 64}]}}.
std::string to_json(const ScratchpadReport& report, size_t most_uops = 1000);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_TILE_MACHINE_REPORT_REPORT_SCRATCHPAD_H_
