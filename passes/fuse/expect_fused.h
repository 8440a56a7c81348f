#ifndef EMULSION_PASSES_FUSE_EXPECT_FUSED_H_
#define EMULSION_PASSES_FUSE_EXPECT_FUSED_H_

// The strict mode of fusion: what a user names has to be there, and in one group.

#include <string>
#include <vector>

#include "dsl/graph.h"
#include "passes/fuse/fusion_report.h"

namespace emulsion {

// `names`: as in named_pattern.h, "matmul+bias+relu", of which each that `graph` holds has to be
// one group; and of fusion_patterns() all but the two of groups, "contraction epilogue" and
// "elementwise chain", which say of no operations that they belong together: "siblings", "sibling
// products", "recomputed values", "shared rows", "shared columns", "layer blocks", "sliding
// windows", "waiting sums", "moves read through" and "borders read through".
// `grouped` is `graph` after fuse_epilogues() and share_loops(), of whose groups either is one
// here, and `report` what these said, derive_schedule() of siblings, join_products() and
// recompute_producers(). Where values were copied, `graph` has the copies, too.
//
// Error: a name that is none of these; a graph that holds no such thing; one that did not become a
// group, siblings of which one is computed by itself, or a value that is stored for several users:
// with the reason from the report.
void expect_fused(const Graph& graph, const Graph& grouped, const FusionReport& report,
                  const std::vector<std::string>& names);

}  // namespace emulsion

#endif  // EMULSION_PASSES_FUSE_EXPECT_FUSED_H_
