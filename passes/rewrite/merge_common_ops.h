#ifndef EMULSION_PASSES_REWRITE_MERGE_COMMON_OPS_H_
#define EMULSION_PASSES_REWRITE_MERGE_COMMON_OPS_H_

#include "dsl/graph.h"

namespace emulsion {

// Common subexpressions: of several operations that are the same comprehension, whatever they and
// their axes are called, and of several constants with the same bits, the first one is read
// everywhere and the others go. An output stays what it is, and stays the one of its name. Groups
// are left alone. The same graph when there is nothing to merge.
Graph merge_common_ops(const Graph& graph);

}  // namespace emulsion

#endif  // EMULSION_PASSES_REWRITE_MERGE_COMMON_OPS_H_
