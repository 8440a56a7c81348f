#ifndef EMULSION_PASSES_FUSE_RECOMPUTE_PRODUCERS_H_
#define EMULSION_PASSES_FUSE_RECOMPUTE_PRODUCERS_H_

// An elementwise value that several read is not stored, but computed again by each of them:
//
//   s = max(x, 0);  a = s * 2;  b = s + z
//     ->  a = fused { s_in_a = max(x, 0); a };  b = fused { s_in_b = max(x, 0); b }
//
// That is the one fusion that adds work, so it is a choice of its own, which a policy makes with
// the model of a machine: what is not moved against what is computed twice. It runs behind
// fuse_epilogues(): a group whose value several read is copied whole.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dsl/extent.h"
#include "dsl/graph.h"
#include "passes/analyse/machine_model.h"
#include "passes/fuse/fuse_epilogues.h"
#include "passes/fuse/fusion_report.h"

namespace emulsion {

// Nothing when the value of `producer`, an operation or a group of the graph, can be computed again
// in every comprehension that reads it, else the reason: "expected ...". Legal are elementwise
// values that are no output, read by elementwise comprehensions of the same shape, each at its own
// axes; with no more readers and operations than FusionLegality says. One reader is as legal as
// several: recompute_producers() passes it by, for it needs no copy.
std::optional<std::string> why_not_recomputed(const Graph& graph, const Op& producer);

// Copies that are legal.
struct RecomputeCandidate {
  const Op& producer;
  const std::vector<OpPtr>& users;        // operations and groups that read it, as they are
  const std::vector<OpPtr>& fused;        // the same, each with its copies
  const std::vector<const Op*>& readers;  // the comprehensions of the users that read it
  std::optional<FusionGain> gain;         // of all; nothing where a size is not known
};
using RecomputePolicy = std::function<std::optional<FusionRefusal>(const RecomputeCandidate&)>;
// Where sizes are known and the model says that it is faster.
std::optional<FusionRefusal> recompute_what_pays(const RecomputeCandidate& candidate);
inline std::optional<FusionRefusal> recompute_always(const RecomputeCandidate& /*candidate*/) {
  return std::nullopt;
}

// The graph, as fuse_epilogues() made it, without the values that are legal to compute again and
// that `policy` wants to be. Names of what is there stay; copies are named after what they copy and
// who reads it. Sweeps go on until one changes nothing, so a second run changes nothing either: a
// sweep that changes something leaves fewer values stored. The report has a decision for each value
// with several readers: what was done, then what stays, with the pattern where the value is
// elementwise, and the gain by the machine of all its readers together. Error:
// check_machine_model().
Graph recompute_producers(const Graph& graph, const MachineModel& machine,
                          const RecomputePolicy& policy = recompute_what_pays,
                          FusionReport* report = nullptr, const SizeValues& sizes = {});

}  // namespace emulsion

#endif  // EMULSION_PASSES_FUSE_RECOMPUTE_PRODUCERS_H_
