#include "passes/fuse/fused_group.h"

#include <memory>
#include <unordered_map>
#include <utility>

namespace emulsion {

bool is_computed(const Op& op) { return op.kind == OpKind::compute || op.kind == OpKind::fused; }

std::vector<OpPtr> comprehensions(const OpPtr& op) {
  return op->kind == OpKind::fused ? op->members : std::vector<OpPtr>{op};
}

// Looks up operands only: replace_reads() copies its map for a group.
OpPtr rewired(const OpPtr& op, const Replaced& replaced) {
  Replaced local;
  for (const OpPtr& operand : operands(*op)) {
    auto found = replaced.find(operand.get());
    if (found != replaced.end()) local.insert(*found);
  }
  return local.empty() ? op : replace_reads(op, local);
}

void append_members(const OpPtr& op, std::vector<OpPtr>* members, Replaced* replaced) {
  for (const OpPtr& comprehension : comprehensions(op)) {
    members->push_back(rewired(comprehension, *replaced));
    if (members->back() != comprehension) (*replaced)[comprehension.get()] = members->back();
  }
  if (members->back() != op) (*replaced)[op.get()] = members->back();
}

OpPtr make_group(std::vector<OpPtr> members) {
  const Op& result = *members.back();
  auto group = std::make_shared<Op>();
  group->kind = OpKind::fused;
  group->name = result.name;
  group->dtype = result.dtype;
  group->shape = result.shape;
  group->members = std::move(members);
  return group;
}

Graph unfuse(const Graph& graph) {
  std::vector<OpPtr> ops, outputs;
  Replaced replaced;
  for (const OpPtr& op : graph.ops()) append_members(op, &ops, &replaced);
  for (const OpPtr& output : graph.outputs()) {
    auto found = replaced.find(output.get());
    outputs.push_back(found == replaced.end() ? output : found->second);
  }
  return Graph(std::move(ops), std::move(outputs));
}

Graph with_loop_groups(const Graph& graph, const std::vector<LoopGroup>& groups) {
  if (groups.empty() && graph.loop_groups().empty()) return graph;
  std::unordered_map<const Op*, const LoopGroup*> ends, inside;
  for (const LoopGroup& group : groups) {
    for (const OpPtr& member : group.members) inside[member.get()] = &group;
    if (!group.members.empty()) ends[group.members.back().get()] = &group;
  }
  std::vector<OpPtr> ops;
  std::vector<LoopGroup> in_order;
  for (const OpPtr& op : graph.ops()) {
    const auto end = ends.find(op.get());
    if (end != ends.end()) {
      ops.insert(ops.end(), end->second->members.begin(), end->second->members.end());
      in_order.push_back(*end->second);
    } else if (inside.count(op.get()) == 0) {
      ops.push_back(op);
    }
  }
  Graph result(std::move(ops), graph.outputs(), std::move(in_order));
  verify_graph(result);
  return result;
}

}  // namespace emulsion
