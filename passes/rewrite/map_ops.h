#ifndef EMULSION_PASSES_REWRITE_MAP_OPS_H_
#define EMULSION_PASSES_REWRITE_MAP_OPS_H_

#include <functional>

#include "dsl/graph.h"

namespace emulsion {

// The graph in which `change(op)` stands in the place of each op, producers first: the op itself, a
// new one of the same name, type and shape, or one that `change` returned before. `op` reads
// already what took the place of what it read. Outputs must not become one another. The same graph
// when nothing changed.
Graph map_ops(const Graph& graph, const std::function<OpPtr(const OpPtr& op)>& change);

// A compute op with another body; the same op when it is the same node.
OpPtr with_body(const OpPtr& op, const Expr& body);

}  // namespace emulsion

#endif  // EMULSION_PASSES_REWRITE_MAP_OPS_H_
