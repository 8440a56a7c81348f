#include "passes/rewrite/working_graph.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>
#include <utility>

#include "passes/rewrite/graph_names.h"

namespace emulsion {

WorkingGraph::WorkingGraph(const Graph& graph) : names_(names_of(graph)) {
  for (const OpPtr& op : graph.ops()) order_.push_back(add(op));
  for (const OpPtr& output : graph.outputs()) {
    outputs_.push_back(ids_.at(output.get()));
    nodes_[outputs_.back()].is_output = true;
  }
}

void WorkingGraph::set_order(const std::vector<Id>& order) {
  order_.clear();
  std::copy_if(order.begin(), order.end(), std::back_inserter(order_),
               [&](Id id) { return nodes_[id].alive; });
}

void WorkingGraph::sort() {
  std::vector<Id> sorted;
  std::vector<bool> seen(nodes_.size(), false);
  for (const Id first : order_) {
    std::vector<std::pair<Id, bool>> open = {{first, false}};  // and whether its operands are done
    while (!open.empty()) {
      const auto [id, is_ready] = open.back();
      open.pop_back();
      if (is_ready) sorted.push_back(id);
      if (is_ready || seen[id]) continue;
      seen[id] = true;
      open.emplace_back(id, true);
      for (const Id operand : nodes_[id].operands) open.emplace_back(operand, false);
    }
  }
  order_ = std::move(sorted);
}

void WorkingGraph::rewire() {
  for (Id id : order_) {
    Node& node = nodes_[id];
    std::unordered_map<const Op*, OpPtr> moved;
    for (const OpPtr& operand : operands(*node.op)) {
      const OpPtr& now = nodes_[forwarded(id_of(*operand))].op;
      if (now != operand) moved[operand.get()] = now;
    }
    if (moved.empty()) continue;
    node.op = replace_reads(node.op, moved);
    ids_[node.op.get()] = id;
    kept_.push_back(node.op);
  }
}

std::string WorkingGraph::new_name(const std::string& proposal) {
  return take_name(proposal, &names_);
}

std::vector<OpPtr> WorkingGraph::users(Id id) const {
  std::vector<OpPtr> ops;
  for (const Id user : nodes_[id].users) ops.push_back(nodes_[user].op);
  return ops;
}

std::vector<std::string> WorkingGraph::other_users(Id id, const std::set<Id>& inside) const {
  std::vector<std::string> names;
  for (Id user : nodes_[id].users) {
    if (!inside.count(user)) names.push_back(nodes_[user].op->name);
  }
  return names;
}

std::optional<WorkingGraph::Id> WorkingGraph::depends_on(const std::set<Id>& from,
                                                         const std::set<Id>& these) const {
  for (const Id first : from) {
    std::vector<Id> open = {first};
    std::unordered_set<Id> seen = {first};
    while (!open.empty()) {
      const Id id = open.back();
      open.pop_back();
      if (these.count(id)) return first;
      for (const Id operand : nodes_[id].operands) {
        if (seen.insert(operand).second) open.push_back(operand);
      }
    }
  }
  return std::nullopt;
}

std::vector<WorkingGraph::Id> WorkingGraph::replace(const std::vector<Id>& replaced,
                                                    const Replacement& replacement) {
  std::vector<Id> made;
  for (const OpPtr& op : replacement.made) made.push_back(add(op));
  for (size_t i = 0; i < replaced.size(); ++i) {
    const Id result = id_of(*replacement.results[i]);
    Node& old = nodes_[replaced[i]];
    for (Id user : old.users) {
      nodes_[user].operands.erase(replaced[i]);
      nodes_[user].operands.insert(result);
      nodes_[result].users.insert(user);
    }
    old.users.clear();
    old.forward = result;
    if (old.is_output) {
      old.is_output = false;
      nodes_[result].is_output = true;
      std::replace(outputs_.begin(), outputs_.end(), replaced[i], result);
    }
  }
  for (const Id id : replaced) {
    if (nodes_[id].alive) remove(id);
  }
  return made;
}

Graph WorkingGraph::graph() {
  std::vector<OpPtr> ops, outputs;
  for (Id id : order_) {
    if (nodes_[id].alive) ops.push_back(nodes_[id].op);
  }
  for (Id id : outputs_) outputs.push_back(nodes_[id].op);
  return Graph(std::move(ops), std::move(outputs));
}

WorkingGraph::Id WorkingGraph::forwarded(Id id) const {
  while (nodes_[id].forward != kNone) id = nodes_[id].forward;
  return id;
}

WorkingGraph::Id WorkingGraph::add(const OpPtr& op) {
  const Id id = nodes_.size();
  nodes_.push_back({op, {}, {}});
  ids_[op.get()] = id;
  kept_.push_back(op);
  bool is_known = op->kind != OpKind::input;
  for (const OpPtr& operand : operands(*op)) {
    const Id from = forwarded(id_of(*operand));
    nodes_[id].operands.insert(from);
    nodes_[from].users.insert(id);
    is_known = is_known && nodes_[from].is_known;
  }
  nodes_[id].is_known = is_known;
  return id;
}

void WorkingGraph::remove(Id first) {
  std::vector<Id> open = {first};
  while (!open.empty()) {
    const Id id = open.back();
    open.pop_back();
    Node& node = nodes_[id];
    node.alive = false;
    for (Id operand : node.operands) {
      Node& from = nodes_[operand];
      from.users.erase(id);
      const OpKind kind = from.op->kind;
      const bool is_argument = kind == OpKind::input || kind == OpKind::weight;
      if (from.users.empty() && !from.is_output && !is_argument) open.push_back(operand);
    }
    node.operands.clear();
  }
}

}  // namespace emulsion
