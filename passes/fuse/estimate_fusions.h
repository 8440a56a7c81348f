#ifndef EMULSION_PASSES_FUSE_ESTIMATE_FUSIONS_H_
#define EMULSION_PASSES_FUSE_ESTIMATE_FUSIONS_H_

// What fusions gain, by a model: from the graph alone, before anything is scheduled. An operation
// or a group is one pass, as in measure_traffic(): it reads each operand once, whole, and writes
// its result once. A pass takes as long as the machine's roofline says. A value inside a group is
// neither written nor read; when others need it, too, fusing saves only the read.

#include <optional>
#include <vector>

#include "dsl/extent.h"
#include "dsl/graph.h"
#include "passes/analyse/machine_model.h"
#include "passes/fuse/fusion_report.h"

namespace emulsion {

// `report`, which fuse_epilogues() wrote for `graph`, and behind it what find_siblings() wrote for
// the graph that it made, with its gains. The gain of a decision is that of joining what the two
// were by then, with all that had been fused to either. Siblings read once what both read; so do
// products, for which join_products() wrote the report alone: what their join moves is its policy's
// business. The gains of values that are computed again are recompute_producers()'s own.
// Where a size has no value among `sizes` there are none. Error: check_machine_model().
FusionReport estimate_fusions(const Graph& graph, FusionReport report, const MachineModel& machine,
                              const SizeValues& sizes = {});

// What is gained when `after` is computed in place of `before`, operations and groups, each a pass;
// what is no computation does not count. Nothing where a size has no value.
std::optional<FusionGain> estimate_change(const std::vector<OpPtr>& before,
                                          const std::vector<OpPtr>& after,
                                          const MachineModel& machine,
                                          const SizeValues& sizes = {});

}  // namespace emulsion

#endif  // EMULSION_PASSES_FUSE_ESTIMATE_FUSIONS_H_
