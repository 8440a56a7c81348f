#ifndef EMULSION_PASSES_DERIVE_SHARE_LOOPS_H_
#define EMULSION_PASSES_DERIVE_SHARE_LOOPS_H_

// Operations that no one expression holds become loop groups (dsl/graph.h), each computed in the
// loops of its last one, so that no more than a part of the others is stored at a time:
//
//   highest = max of rows of x;  p = exp(x - highest);  total = sum of rows of p;  y = p / total
//     ->  fused_rows_max_sub_exp_sum_div y over [i] { highest; p; total; y }
//
// Which can be: row_groups.h, small_rows.h, column_groups.h, row_blocks.h, layer_blocks.h,
// window_chains.h, waiting_sums.h, each with why not and whether it pays on a target. Whether it is
// wanted is said by a policy (loop_policy.h), and the rewrite is with_loop_groups()
// (fused_group.h). These two are in passes/fuse. This is not, though it goes from graph to graph:
// which operations can share loops depends on what loops the rest of this folder derives, and
// passes/fuse does not read passes/derive.

#include "dsl/graph.h"
#include "dsl/target.h"
#include "passes/fuse/fusion_report.h"
#include "passes/fuse/loop_policy.h"

namespace emulsion {

// The grouped graph with the groups that pay and that `policy` wants, and their members one after
// another; the same graph where there are none. Groups that it carries already are decided again.
// The report has what was decided of what is read through (moves, and what has borders, which
// derive_stages() reads through again), then of what is computed in the loops of another, then of
// what could be but for something else that needs it too: an output, or a value that is read
// outside; one decision for each.
Graph share_loops(const Graph& grouped, const Target& target,
                  const LoopPolicy& policy = share_all_loops, FusionReport* report = nullptr);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_SHARE_LOOPS_H_
