#ifndef EMULSION_PASSES_FUSE_LOOP_POLICY_H_
#define EMULSION_PASSES_FUSE_LOOP_POLICY_H_

// The loop groups of a graph (dsl/graph.h), which are computed in the loops of the last of their
// operations, so that no more than a part of each is stored at a time: rows that are combined
// (softmax, norms, attention), windows that slide (stencils), sums that wait in registers; and what
// is read through: moves (reshape, transpose, slice, broadcast) and what has borders (concat, pad).
// What can be, and whether it pays on a target, is passes/derive's (share_loops.h); whether it is
// wanted is said by a policy.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dsl/graph.h"
#include "passes/fuse/fusion_report.h"

namespace emulsion {

struct LoopCandidate {
  const std::string& pattern;  // of fusion_patterns()
  // The last one first, each behind all that read it; of what is read through, the move alone.
  const std::vector<const Op*>& operations;
};
// Nothing when it is wanted.
using LoopPolicy = std::function<std::optional<FusionRefusal>(const LoopCandidate&)>;
inline std::optional<FusionRefusal> share_all_loops(const LoopCandidate& /*candidate*/) {
  return std::nullopt;
}

// `fusions` without what was refused as a group and is computed in loops of another all the same:
// `loops` says so of the operations of `grouped`.
FusionReport without_what_loops_do(FusionReport fusions, const Graph& grouped,
                                   const FusionReport& loops);

}  // namespace emulsion

#endif  // EMULSION_PASSES_FUSE_LOOP_POLICY_H_
