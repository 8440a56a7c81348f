#ifndef EMULSION_PASSES_FUSE_FIND_OPPORTUNITIES_H_
#define EMULSION_PASSES_FUSE_FIND_OPPORTUNITIES_H_

// Everything in a graph that could be one operation, whether it may be, and what that would gain:
// for whoever decides, a person or a policy. It changes nothing.

#include <optional>
#include <string>
#include <vector>

#include "dsl/extent.h"
#include "dsl/graph.h"
#include "passes/analyse/machine_model.h"
#include "passes/fuse/fusion_report.h"

namespace emulsion {

// A group that is legal, with all its members; operations that are computed in the loops of the
// last of them; a move that is read through, and its readers; siblings that may share a loop, each
// by the name of the operation or group that it is; products that may be joined; a value that
// several read, and these, which may each compute it again; or one edge, pair or value that is not
// legal. What of them excludes one another is up to who decides. Each is legal beside all the
// others, and some need others: loops that are shared by the last operations of groups, or read
// through a move, may not be there without these. apply_opportunities() says which those are.
struct FusionOpportunity {
  std::string pattern;                  // of fusion_patterns(); empty when it fits none
  std::vector<std::string> operations;  // in the order of the graph; the last one's value remains
  // "expected ..."; nothing when it is legal.
  std::optional<std::string> why_not = std::nullopt;
  // Of these operations, were they one. Nothing where a size has no value.
  std::optional<FusionGain> gain = std::nullopt;

  bool legal() const { return !why_not; }
};

// Error: a size that the graph does not have, or below 0.
void check_sizes_of(const Graph& graph, const SizeValues& sizes);

// Those that save most time first; those of which that is not known last, in the order of the
// graph. `loops`: what a derived schedule of the graph after fuse_epilogues() computes in the loops
// of others (the find_opportunities() of passes/pipeline.h asks one). Error: check_machine_model(),
// a size that the graph does not have.
std::vector<FusionOpportunity> find_opportunities(const Graph& graph, const MachineModel& machine,
                                                  const SizeValues& sizes = {},
                                                  const FusionReport& loops = {});

// A line each: "contraction epilogue, mm + t + y: legal: saves 4096 bytes, 1.50 times as fast by
// the model"; for what is not legal "s + z: not legal: expected ...; would save ...".
std::string to_string(const std::vector<FusionOpportunity>& opportunities);
// [{"pattern": "contraction epilogue", "operations": ["mm", "t", "y"], "legal": true, "reason": "",
// "bytes_saved": 4096, "estimated_speed_up": 1.5, "operations_added": 0, "seconds_saved": 1e-6},
// ...]
std::string to_json(const std::vector<FusionOpportunity>& opportunities);

}  // namespace emulsion

#endif  // EMULSION_PASSES_FUSE_FIND_OPPORTUNITIES_H_
