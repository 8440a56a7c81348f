#include "passes/fuse/fused_group.h"

#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace emulsion {

namespace {

// Puts groups and what is in none one after another, each behind all that it needs: otherwise in
// the order of the graph, in which a group is where its last member is.
class GroupPlacer {
 public:
  GroupPlacer(const Graph& graph, const std::vector<LoopGroup>& groups) : graph_(graph) {
    for (const LoopGroup& group : groups) {
      for (const OpPtr& member : group.members) group_of_[member.get()] = &group;
    }
  }

  Graph place() {
    for (const OpPtr& op : graph_.ops()) {
      const auto group = group_of_.find(op.get());
      if (group == group_of_.end() || op == group->second->members.back()) place(op);
    }
    Graph result(std::move(ops_), graph_.outputs(), std::move(in_order_));
    verify_graph(result);
    return result;
  }

 private:
  // Of a group all. Some may be asked for before it comes: what it keeps for others.
  void place(const OpPtr& op) {
    const auto group = group_of_.find(op.get());
    const std::vector<OpPtr> alone = {op};
    const std::vector<OpPtr>& members = group == group_of_.end() ? alone : group->second->members;
    if (!placed_.insert(members.back().get()).second) return;
    for (const OpPtr& member : members) {
      for (const OpPtr& operand : operands(*member)) place(operand);
    }
    ops_.insert(ops_.end(), members.begin(), members.end());
    if (group != group_of_.end()) in_order_.push_back(*group->second);
  }

  const Graph& graph_;
  std::unordered_map<const Op*, const LoopGroup*> group_of_;
  std::unordered_set<const Op*> placed_;  // of a group its last one
  std::vector<OpPtr> ops_;
  std::vector<LoopGroup> in_order_;
};

}  // namespace

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
  return GroupPlacer(graph, groups).place();
}

}  // namespace emulsion
