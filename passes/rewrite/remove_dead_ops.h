#ifndef EMULSION_PASSES_REWRITE_REMOVE_DEAD_OPS_H_
#define EMULSION_PASSES_REWRITE_REMOVE_DEAD_OPS_H_

#include "dsl/graph.h"

namespace emulsion {

// Without the operations and constants that no output needs. Inputs and weights stay: they are what
// the kernel's callers pass. The same graph when there are none.
Graph remove_dead_ops(const Graph& graph);

}  // namespace emulsion

#endif  // EMULSION_PASSES_REWRITE_REMOVE_DEAD_OPS_H_
