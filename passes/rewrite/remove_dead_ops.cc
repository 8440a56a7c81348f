#include "passes/rewrite/remove_dead_ops.h"

#include <unordered_set>
#include <vector>

namespace emulsion {

Graph remove_dead_ops(const Graph& graph) {
  const std::vector<OpPtr>& ops = graph.ops();
  std::unordered_set<const Op*> needed;
  for (const OpPtr& output : graph.outputs()) needed.insert(output.get());
  for (size_t i = ops.size(); i-- > 0;) {  // users come after what they read
    if (!needed.count(ops[i].get())) continue;
    for (const OpPtr& operand : operands(*ops[i])) needed.insert(operand.get());
  }
  std::vector<OpPtr> kept;
  for (const OpPtr& op : ops) {
    const bool is_argument = op->kind == OpKind::input || op->kind == OpKind::weight;
    if (is_argument || needed.count(op.get())) kept.push_back(op);
  }
  if (kept.size() == ops.size()) return graph;
  return Graph(kept, graph.outputs());
}

}  // namespace emulsion
