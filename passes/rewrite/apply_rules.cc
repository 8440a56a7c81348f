#include "passes/rewrite/apply_rules.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "dsl/count_text.h"
#include "dsl/error.h"
#include "passes/rewrite/make_replacement.h"
#include "passes/rewrite/match_pattern.h"
#include "passes/rewrite/working_graph.h"

namespace emulsion {
namespace {

using Id = WorkingGraph::Id;

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

// The first of them.
std::string some_of(const std::vector<std::string>& names) {
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
    around_.users = [this](const Op& op) { return graph_.users(graph_.id_of(op)); };
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
    std::set<Id> results;
    for (const OpPtr& op : match.results()) results.insert(graph_.id_of(*op));
    std::set<Id> inside = results;
    for (const OpPtr& op : match.inner) inside.insert(graph_.id_of(*op));
    for (const OpPtr& op : match.inner) {
      const Id id = graph_.id_of(*op);
      if (graph_.is_output(id)) {
        return fmt::format("expected {} to be no output of the graph", op->name);
      }
      const std::vector<std::string> others = graph_.other_users(id, inside);
      if (!others.empty()) {
        return fmt::format("expected {} to have no user outside of the match, got {} ({})",
                           op->name, others.size(), some_of(others));
      }
    }
    return results.size() > 1 ? why_not_at_once(match, results) : std::nullopt;
  }

  // All results take their places together, so what they are made of must be there before each of
  // them: else they would need themselves.
  std::optional<std::string> why_not_at_once(const Match& match,
                                             const std::set<Id>& results) const {
    std::set<Id> read;
    for (const auto& [unused, value] : match.wildcards) {
      visit(value, [&](const Expr& e) {
        if (e->op == ExprOp::read) read.insert(graph_.id_of(*e->tensor));
      });
    }
    const std::optional<Id> found = graph_.depends_on(read, results);
    if (!found) return std::nullopt;
    std::vector<std::string> names;
    for (const OpPtr& op : match.results()) names.push_back(op->name);
    return fmt::format("expected {}, which the match reads, to depend on none of its results ({})",
                       graph_.op(*found)->name, some_of(names));
  }

  bool sweep() {
    before_ = applied_.size();
    refused_.clear();
    bool is_over = false;   // the rest waits for the next sweep
    std::vector<Id> order;  // users first
    for (size_t i = graph_.order().size(); i-- > 0;) {
      std::vector<Id> open = {graph_.order()[i]};  // the next one last
      while (!open.empty()) {
        const Id id = open.back();
        open.pop_back();
        if (!graph_.is_alive(id)) continue;
        const OpPtr op = graph_.op(id);
        std::vector<Id> made;
        if (!is_over && op->kind == OpKind::compute && rewrite(id, op, &made, &is_over)) {
          open.insert(open.end(), made.begin(), made.end());
        } else {
          order.push_back(id);
        }
      }
    }
    graph_.set_order({order.rbegin(), order.rend()});
    if (is_over) graph_.sort();
    graph_.rewire();
    return applied_.size() > before_;
  }

  // `is_over`: what was replaced stands at several places, of which the sweep was at one.
  bool rewrite(Id id, const OpPtr& op, std::vector<Id>* made, bool* is_over) {
    for (const CheckedRule& rule : rules_) {
      const bool has_others = rule.outputs.size() > 1;
      // Its other results may stand behind this one, where operations still read what this sweep
      // has replaced.
      if (has_others && applied_.size() > before_) continue;
      MatchResult found = match_pattern(rule, op, around_);
      if (!found.match) {
        if (!found.refused.empty()) {
          refused_.push_back({rule.rule->name, op->name, {}, false, std::move(found.refused)});
        }
        continue;
      }
      RewriteDecision decision{rule.rule->name, op->name, {}, true, ""};
      std::vector<Id> results = {id};
      for (const OpPtr& inner : found.match->inner) decision.inner.push_back(inner->name);
      for (const OpPtr& other : found.match->other_results) {
        decision.other_results.push_back(other->name);
        results.push_back(graph_.id_of(*other));
      }
      Replacement replacement;
      try {
        replacement = make_replacement(
            rule, *found.match,
            [&](const Op& result) { return graph_.is_output(graph_.id_of(result)); },
            [&](const std::string& name) {
              return graph_.new_name(proposed_name(found.match->result->name, name));
            });
      } catch (const Error& error) {  // a read that only the select around it had kept inside
        expect_no_growth(rule.rule->name, *op);
        decision.applied = false;
        decision.reason =
            fmt::format("expected a replacement that is legal here, got: {}", error.what());
        refused_.push_back(std::move(decision));
        continue;
      }
      if (applied_.size() >= step_limit_) {
        fail(
            "rewriting: expected the rules to come to an end within {}, got more; the next "
            "one is {} at {}; legal: rules that do not undo each other, replacements that do not "
            "match their own pattern",
            count_text(step_limit_, "step", "steps"), rule.rule->name, op->name);
      }
      replaced_.insert_or_assign({rule.rule->name, op->name}, op->body);
      applied_.push_back(std::move(decision));
      *made = graph_.replace(results, replacement);
      *is_over = has_others;
      return true;
    }
    return false;
  }

  // A rule that makes one expression larger time and again ends where expressions may be no larger,
  // which is no reason to keep what it has made so far.
  void expect_no_growth(const std::string& rule, const Op& op) const {
    const auto last = replaced_.find({rule, op.name});
    if (last == replaced_.end()) return;
    const ExprSize before = size_of(last->second), now = size_of(op.body);
    // The next one adds as much, or is as many times as large.
    const auto grows_beyond = [](int64_t from, int64_t to, int64_t most) {
      return to > from && std::max(to + (to - from), to * to / from) > most;
    };
    if (grows_beyond(before.height, now.height, ExprSize::kMostHeight) ||
        grows_beyond(before.nodes, now.nodes, ExprSize::kMostNodes)) {
      fail(
          "rewriting: expected the rules to come to an end, got {} at {} until no expression may "
          "be larger; legal: replacements that do not match their own pattern",
          rule, op.name);
    }
  }

  WorkingGraph graph_;
  const std::vector<CheckedRule>& rules_;
  size_t step_limit_;
  size_t before_ = 0;  // how many had been applied when the sweep began
  GraphAround around_;
  std::vector<RewriteDecision> applied_, refused_;
  // By rule and result: what it replaced there last.
  std::map<std::pair<std::string, std::string>, Expr> replaced_;
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
