#ifndef EMULSION_PASSES_APPLY_OPPORTUNITIES_H_
#define EMULSION_PASSES_APPLY_OPPORTUNITIES_H_

// Fuses what somebody chose of find_opportunities(), and nothing else:
//
//   std::vector<FusionOpportunity> found = find_opportunities(graph, target);
//   found.resize(3);  // those that save most
//   AppliedOpportunities made = apply_opportunities(graph, target, found);
//
// The passes are those of the pipeline, in its order: products are joined, groups made, values
// copied, loops shared. Of two opportunities that exclude one another the earlier pass has its
// turn, and the other one fails. So does one that needs others (passes/fuse/find_opportunities.h)
// of which not all were chosen.

#include <optional>
#include <string>
#include <vector>

#include "dsl/graph.h"
#include "dsl/target.h"
#include "passes/fuse/find_opportunities.h"
#include "passes/pipeline.h"

namespace emulsion {

struct AppliedOpportunities {
  Lowered lowered;
  std::vector<FusionOpportunity> applied;
  std::vector<FusionOpportunity> refused;  // those that are not legal
  // Legal when they were looked at, and yet not there now: `why_not` says what stood in the way, or
  // which others they need: "expected "contraction epilogue, h + a" to be fused as well", "expected
  // "moves read through, t + y" not to be fused". To find that out takes a few dozen trials at
  // most.
  std::vector<FusionOpportunity> failed;
  // Of all that was applied, together. Nothing where a size has no value.
  std::optional<FusionGain> gain;
};

// `chosen`: of find_opportunities(), at the same sizes. Each is in one of the lists, in the order
// in which it was chosen. Error: an operation that the graph does not have; a pattern and
// operations that are not one of find_opportunities(); a tile machine.
AppliedOpportunities apply_opportunities(const Graph& graph, const Target& target,
                                         const std::vector<FusionOpportunity>& chosen,
                                         const SizeValues& sizes = {});

// A line each, "applied: contraction epilogue, mm + t + y: legal: saves 4096 bytes, ..", then what
// is refused, what failed, and what all of it saves.
std::string to_string(const AppliedOpportunities& made);
// {"applied": [..], "refused": [..], "failed": [..], "bytes_saved": 4096,
// "estimated_speed_up": 1.5}, with opportunities as to_json() writes them.
std::string to_json(const AppliedOpportunities& made);

}  // namespace emulsion

#endif  // EMULSION_PASSES_APPLY_OPPORTUNITIES_H_
