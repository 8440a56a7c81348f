#ifndef EMULSION_PASSES_REWRITE_CLEAN_UP_H_
#define EMULSION_PASSES_REWRITE_CLEAN_UP_H_

#include "dsl/graph.h"

namespace emulsion {

// simplify_values, fold_constants, merge_common_ops and remove_dead_ops, in turn until none of them
// changes anything. To the bit, the outputs stay as they were.
Graph clean_up(const Graph& graph);

}  // namespace emulsion

#endif  // EMULSION_PASSES_REWRITE_CLEAN_UP_H_
