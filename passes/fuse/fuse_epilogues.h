#ifndef EMULSION_PASSES_FUSE_FUSE_EPILOGUES_H_
#define EMULSION_PASSES_FUSE_FUSE_EPILOGUES_H_

// Fuses elementwise epilogues onto contractions, and elementwise ops onto each other:
//
//   mm = sum(k, x * w);  t = mm + b;  y = max(t, 0)    ->    y = fused { mm; t; y }
//
// The readers of each member but the last are in the group, and it is no output: where several read
// it, as in mm * sigmoid(mm), it goes in once they have. A group holds at most one contraction. The
// sweep, which alone knows what is in a group already, ends it before its members, written out, are
// more than FusionLegality::kMostOperations operations; what several read counts several times. So
// all that leaves a group leaves through its last member, and a path out of it and back in would be
// a cycle that the graph had before: fusing never makes one.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "dsl/graph.h"
#include "passes/fuse/fusion_report.h"

namespace emulsion {

// Nothing when `consumer` can take in `producer` (both ops of the graph; either may be a group
// already) alone, else the reason: "expected ...". Users are counted as comprehensions: members of
// a group one by one. What has several users goes into the group of them all, which the sweep
// makes.
std::optional<std::string> why_not_fusable(const Graph& graph, const Op& producer,
                                           const Op& consumer);

// The group of both: kind fused, named as the consumer, members in topological order and the nodes
// that they were. Checks what why_not_fusable() can tell without the graph; users and outputs are
// the caller's business.
OpPtr fuse(const OpPtr& producer, const OpPtr& consumer);

// A fusion that is legal. The ops are those of the graph as it was given to the pass.
struct FusionCandidate {
  const Op& producer;
  const Op& consumer;
  const std::string& pattern;  // of fusion_patterns()
  int64_t members;             // how many comprehensions the group would hold
};
// Nothing when it is wanted.
using FusionPolicy = std::function<std::optional<FusionRefusal>(const FusionCandidate&)>;
inline std::optional<FusionRefusal> always_fuse(const FusionCandidate& /*candidate*/) {
  return std::nullopt;
}

// Fuses every edge that is legal and that `policy` wants, each consumer's operands in the order in
// which it reads them (of two contractions the first). Ops that are not fused and read nothing that
// was come back as the same nodes; a second run changes nothing. One sweep, a step for each edge; a
// run that takes more than `step_limit` steps (0: the number of edges) throws InternalError.
Graph fuse_epilogues(const Graph& graph, const FusionPolicy& policy = always_fuse,
                     FusionReport* report = nullptr, size_t step_limit = 0);

}  // namespace emulsion

#endif  // EMULSION_PASSES_FUSE_FUSE_EPILOGUES_H_
