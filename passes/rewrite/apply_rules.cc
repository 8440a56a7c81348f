#include "passes/rewrite/apply_rules.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "dsl/error.h"
#include "passes/rewrite/make_replacement.h"
#include "passes/rewrite/match_pattern.h"

namespace emulsion {
namespace {

using Id = size_t;

// A graph that changes: users are known at any time, and what nobody needs any more is gone.
class WorkingGraph {
 public:
  explicit WorkingGraph(const Graph& graph) {
    for (const OpPtr& op : graph.ops()) names_.insert(op->name);
    for (const std::string& size : graph.sizes()) names_.insert(size);
    for (const OpPtr& op : graph.ops()) order_.push_back(add(op));
    for (const OpPtr& output : graph.outputs()) {
      outputs_.push_back(ids_.at(output.get()));
      nodes_[outputs_.back()].is_output = true;
    }
  }

  const std::vector<Id>& order() const { return order_; }
  void set_order(const std::vector<Id>& order) {
    order_.clear();
    std::copy_if(order.begin(), order.end(), std::back_inserter(order_),
                 [&](Id id) { return nodes_[id].alive; });
  }
  bool is_alive(Id id) const { return nodes_[id].alive; }
  bool is_output(Id id) const { return nodes_[id].is_output; }
  Id id_of(const Op& op) const { return ids_.at(&op); }
  bool is_known(const Op& op) const { return nodes_[id_of(op)].is_known; }

  const OpPtr& op(Id id) const { return nodes_[id].op; }

  // Lets every op read what took the place of what it read.
  void rewire() {
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

  std::string new_name(const std::string& proposal) {
    std::string name = proposal;
    for (int i = 1; !names_.insert(name).second; ++i) name = proposal + "_" + std::to_string(i);
    return name;
  }

  // Users of `id` that are none of these.
  std::vector<std::string> other_users(Id id, const std::set<Id>& inside) const {
    std::vector<std::string> names;
    for (Id user : nodes_[id].users) {
      if (!inside.count(user)) names.push_back(nodes_[user].op->name);
    }
    return names;
  }

  // The ids of what was made, in order. `replaced` goes, and all that only it needed.
  std::vector<Id> replace(Id replaced, const Replacement& replacement) {
    std::vector<Id> made;
    for (const OpPtr& op : replacement.made) made.push_back(add(op));
    const Id result = id_of(*replacement.result);
    Node& old = nodes_[replaced];
    for (Id user : old.users) {
      nodes_[user].operands.erase(replaced);
      nodes_[user].operands.insert(result);
      nodes_[result].users.insert(user);
    }
    old.users.clear();
    old.forward = result;
    if (old.is_output) {
      old.is_output = false;
      nodes_[result].is_output = true;
      std::replace(outputs_.begin(), outputs_.end(), replaced, result);
    }
    remove(replaced);
    return made;
  }

  Graph graph() {
    std::vector<OpPtr> ops, outputs;
    for (Id id : order_) {
      if (nodes_[id].alive) ops.push_back(nodes_[id].op);
    }
    for (Id id : outputs_) outputs.push_back(nodes_[id].op);
    return Graph(std::move(ops), std::move(outputs));
  }

 private:
  static constexpr Id kNone = static_cast<Id>(-1);
  struct Node {
    OpPtr op;
    std::set<Id> operands, users;
    Id forward = kNone;
    bool is_output = false, is_known = false, alive = true;
  };

  Id forwarded(Id id) const {
    while (nodes_[id].forward != kNone) id = nodes_[id].forward;
    return id;
  }

  Id add(const OpPtr& op) {
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

  void remove(Id first) {
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

  std::vector<Node> nodes_;
  std::vector<Id> order_, outputs_;
  std::unordered_map<const Op*, Id> ids_;
  std::vector<OpPtr> kept_;  // the keys above stay other objects' than those to come
  std::set<std::string> names_;
};

// "y_scaled": what the operation `made` of a replacement is called beside the result y.
std::string proposed_name(const std::string& result, const std::string& made) {
  constexpr size_t kRoom = 56;  // of the 128 characters of a name, for each, and for a number
  const auto trimmed = [](std::string name) {
    name = name.substr(0, kRoom);
    while (!name.empty() && name.back() == '_') name.pop_back();
    return name;
  };
  return trimmed(result) + "_" + trimmed(made);
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(names.size(), 3); ++i) {
    text += (i > 0 ? ", " : "") + names[i];
  }
  return text + (names.size() > 3 ? ", .." : "");
}

class Sweeper {
 public:
  Sweeper(const Graph& graph, const std::vector<CheckedRule>& rules, size_t step_limit)
      : graph_(graph), rules_(rules), step_limit_(step_limit) {
    around_.is_known = [this](const Op& op) { return graph_.is_known(op); };
    around_.why_not = [this](const Match& match) { return why_not(match); };
  }

  Rewritten run(const Graph& original) {
    while (sweep()) {
    }
    const bool changed = !applied_.empty();
    std::vector<RewriteDecision> decisions = std::move(applied_);
    std::move(refused_.begin(), refused_.end(), std::back_inserter(decisions));
    return {changed ? graph_.graph() : original, std::move(decisions)};
  }

 private:
  // An inner value goes with its match, so nobody else may need it.
  std::optional<std::string> why_not(const Match& match) const {
    std::set<Id> inside = {graph_.id_of(*match.result)};
    for (const OpPtr& op : match.inner) inside.insert(graph_.id_of(*op));
    for (const OpPtr& op : match.inner) {
      const Id id = graph_.id_of(*op);
      if (graph_.is_output(id)) {
        return fmt::format("expected {} to be no output of the graph", op->name);
      }
      const std::vector<std::string> others = graph_.other_users(id, inside);
      if (!others.empty()) {
        return fmt::format("expected {} to have no user outside of the match, got {} ({})",
                           op->name, others.size(), joined(others));
      }
    }
    return std::nullopt;
  }

  bool sweep() {
    const size_t before = applied_.size();
    refused_.clear();
    std::vector<Id> order;  // users first
    for (size_t i = graph_.order().size(); i-- > 0;) {
      std::vector<Id> open = {graph_.order()[i]};  // the next one last
      while (!open.empty()) {
        const Id id = open.back();
        open.pop_back();
        if (!graph_.is_alive(id)) continue;
        const OpPtr op = graph_.op(id);
        std::vector<Id> made;
        if (op->kind == OpKind::compute && rewrite(id, op, &made)) {
          open.insert(open.end(), made.begin(), made.end());
        } else {
          order.push_back(id);
        }
      }
    }
    graph_.set_order({order.rbegin(), order.rend()});
    graph_.rewire();
    return applied_.size() > before;
  }

  bool rewrite(Id id, const OpPtr& op, std::vector<Id>* made) {
    for (const CheckedRule& rule : rules_) {
      MatchResult found = match_pattern(rule, op, around_);
      if (!found.match) {
        if (!found.refused.empty()) {
          refused_.push_back({rule.rule->name, op->name, {}, false, std::move(found.refused)});
        }
        continue;
      }
      RewriteDecision decision{rule.rule->name, op->name, {}, true, ""};
      for (const OpPtr& inner : found.match->inner) decision.inner.push_back(inner->name);
      Replacement replacement;
      try {
        replacement = make_replacement(
            rule, *found.match, graph_.is_output(id), [&](const std::string& name) {
              return graph_.new_name(proposed_name(found.match->result->name, name));
            });
      } catch (const Error& error) {  // a read that only the select around it had kept inside
        decision.applied = false;
        decision.reason =
            fmt::format("expected a replacement that is legal here, got: {}", error.what());
        refused_.push_back(std::move(decision));
        continue;
      }
      if (applied_.size() >= step_limit_) {
        fail(
            "rewriting: expected the rules to come to an end within {} steps, got more; the next "
            "one is {} at {}; legal: rules that do not undo each other, replacements that do not "
            "match their own pattern",
            step_limit_, rule.rule->name, op->name);
      }
      applied_.push_back(std::move(decision));
      *made = graph_.replace(id, replacement);
      return true;
    }
    return false;
  }

  WorkingGraph graph_;
  const std::vector<CheckedRule>& rules_;
  size_t step_limit_;
  GraphAround around_;
  std::vector<RewriteDecision> applied_, refused_;
};

}  // namespace

std::vector<RewriteDecision> Rewritten::matches() const {
  std::vector<RewriteDecision> result;
  std::copy_if(decisions.begin(), decisions.end(), std::back_inserter(result),
               [](const RewriteDecision& decision) { return decision.applied; });
  return result;
}

Rewritten apply_rules(const Graph& graph, const std::vector<RewriteRule>& rules,
                      const RewriteOptions& options) {
  std::vector<CheckedRule> checked;
  std::set<std::string> names;
  for (const RewriteRule& rule : rules) {
    checked.push_back(check_rule(rule));
    if (!names.insert(rule.name).second) {
      fail("rewriting: expected rules of distinct names, got two named {}", rule.name);
    }
  }
  constexpr size_t kStepsForEach = 10, kStepsForAll = 1000;
  const size_t limit = options.step_limit > 0 ? options.step_limit
                                              : kStepsForEach * graph.ops().size() + kStepsForAll;
  return Sweeper(graph, checked, limit).run(graph);
}

}  // namespace emulsion
