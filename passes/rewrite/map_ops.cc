#include "passes/rewrite/map_ops.h"

#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace emulsion {

Graph map_ops(const Graph& graph, const std::function<OpPtr(const OpPtr& op)>& change) {
  std::unordered_map<const Op*, OpPtr> changed;
  std::unordered_set<const Op*> placed;
  std::vector<OpPtr> ops;
  for (const OpPtr& op : graph.ops()) {
    std::unordered_map<const Op*, OpPtr> reads;
    for (const OpPtr& operand : operands(*op)) {
      auto found = changed.find(operand.get());
      if (found != changed.end()) reads.insert(*found);
    }
    OpPtr result = change(reads.empty() ? op : replace_reads(op, reads));
    if (result != op) changed[op.get()] = result;
    if (placed.insert(result.get()).second) ops.push_back(std::move(result));
  }
  if (changed.empty()) return graph;
  std::vector<OpPtr> outputs;
  for (const OpPtr& output : graph.outputs()) {
    auto found = changed.find(output.get());
    outputs.push_back(found == changed.end() ? output : found->second);
  }
  return Graph(std::move(ops), std::move(outputs));
}

OpPtr with_body(const OpPtr& op, const Expr& body) {
  if (body.same_as(op->body)) return op;
  auto copy = std::make_shared<Op>(*op);
  copy->body = body;
  return copy;
}

}  // namespace emulsion
