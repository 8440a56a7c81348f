#ifndef EMULSION_PASSES_FUSE_FIND_SIBLINGS_H_
#define EMULSION_PASSES_FUSE_FIND_SIBLINGS_H_

// Siblings: independent elementwise operations, or groups of them, over one domain, that read a
// tensor in common. One loop can compute them all, and reads that tensor once:
//
//   for i: a[i] = f(x[i]);  for i: b[i] = g(x[i])    ->    for i: a[i] = f(x[i]); b[i] = g(x[i])
//
// They stay operations of the graph: that they share loops is a directive, compute_with. This says
// which may. What a target's loops ask besides, whether it pays, and the schedule are
// passes/derive/sibling_loops.h.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dsl/graph.h"
#include "passes/fuse/fusion_report.h"

namespace emulsion {

// Nothing when the two, operations or groups, can share a loop for all that they tell by
// themselves: both elementwise, with elements, of equal shapes (run-time sizes included), and with
// an operand in common; else the reason: "expected ...". Whether one needs the other only a graph
// knows.
std::optional<std::string> why_not_siblings(const Op& first, const Op& sibling);

// One more that is legal. The first of a group leads.
struct SiblingCandidate {
  const std::vector<OpPtr>& group;
  const OpPtr& sibling;
};
// Nothing when it is wanted.
using SiblingPolicy = std::function<std::optional<FusionRefusal>(const SiblingCandidate&)>;
inline std::optional<FusionRefusal> share_always(const SiblingCandidate& /*candidate*/) {
  return std::nullopt;
}

// Whether both read a tensor of their own shape: not only a bias along the columns.
bool shares_whole_operand(const Op& first, const Op& sibling);

// The groups of two and more of a graph, each in the order of the graph: an operation joins the
// first before it that it may join and that `policy` wants. Groups do not need one another in a
// cycle, and none has more than kMostSiblings. The report has a decision for each operation that
// joins, and one for each that could not, with what kept it out of the first, or of the first that
// it does not need: the one that leads as the producer. An operation is compared with few groups,
// and what lies between it and them is looked at only kMostBetweenSiblings reads far, so the time
// grows as the graph does.
std::vector<std::vector<OpPtr>> find_siblings(const Graph& graph, const SiblingPolicy& policy,
                                              FusionReport* report = nullptr);

constexpr size_t kMostSiblings = 8;  // each a stream to memory
constexpr size_t kMostBetweenSiblings = 1000;

}  // namespace emulsion

#endif  // EMULSION_PASSES_FUSE_FIND_SIBLINGS_H_
