#include "passes/rewrite/match_pattern.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <numeric>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "dsl/affine.h"
#include "dsl/error.h"
#include "passes/rewrite/bindings.h"
#include "passes/rewrite/fold_scalars.h"
#include "passes/rewrite/literal_of.h"
#include "passes/rewrite/may_match.h"

namespace emulsion {
namespace {

struct Env;

// An expression of the graph, and what its axes stand for: an operation that is seen through is not
// written out, only read with its axes in mind.
struct Term {
  Expr e;
  const Env* env;  // null: axes stand for themselves, as "@0" does
};

struct Env {
  const Op* op;
  std::vector<Term> axes, reduction_axes;
};

struct Goal {
  Expr pattern;
  Term term;
  const Goal* next;
};

// Which of the pattern's operations something is, and for which of its outputs.
struct Reduction {
  const Op* op;
  size_t output;
};

struct State {
  std::unordered_map<std::string, Expr> axes;  // of the pattern -> "@3"
  SizeBindings sizes;
  std::map<std::string, Expr> wildcards;
  std::vector<OpPtr> results;                           // of the outputs so far
  std::vector<OpPtr> inner;                             // each once, the results too
  std::unordered_map<const Op*, Reduction> reductions;  // by the operation that was found
  std::vector<std::pair<Extent, Extent>> extents;       // to be compared when all sizes are known
  std::vector<std::pair<Expr, Expr>> values_of_sizes;   // the same
};

bool is_wildcard(const Expr& e) {
  return e->op == ExprOp::read &&
         (e->tensor->kind == OpKind::input || e->tensor->kind == OpKind::weight);
}

// Whether it says how large something is: sizes and numbers, no axis and no read.
bool is_value_of_sizes(const Expr& e) {
  const bool has_other = any_part(e, [](const Expr& node) {
    return node->op == ExprOp::axis || node->op == ExprOp::read || node->op == ExprOp::reduce;
  });
  return !has_other && any_part(e, [](const Expr& node) { return node->op == ExprOp::size; });
}

bool same_data(const Op& a, const Op& b) {
  return a.kind == b.kind && a.dtype == b.dtype && a.shape == b.shape && *a.data == *b.data;
}

class Matcher {
 public:
  Matcher(const CheckedRule& rule, const OpPtr& result, const GraphAround& around)
      : rule_(rule), result_(result), around_(around) {}

  MatchResult run() {
    if (!match_output(result_, State()) && comparisons_ > kMostComparisons) {
      refuse(fmt::format("expected at most {} comparisons with {}, got more", kMostComparisons,
                         result_->name));
    }
    return std::move(found_);
  }

 private:
  // --- the outputs -------------------------------------------------------------------------------

  // Whether the next output of the pattern is the value of `op`, and those behind it are found.
  bool match_output(const OpPtr& op, State state) {
    const CheckedRule::Output& output = rule_.outputs[state.results.size()];
    const size_t first = rule_.pointwise ? 0 : extents_.size();
    std::vector<Expr> indices;
    for (size_t i = 0; i < op->axes.size(); ++i) {
      const bool is_new = first + i >= extents_.size();
      indices.push_back(is_new ? new_axis(op->axes[i].extent())
                               : axis_value(result_axis_name(first + i)));
    }
    for (size_t i = 0; i < output.axes.size() && !rule_.pointwise; ++i) {
      if (!bind_axis(output.axes[i], first + i, &state)) return false;
    }
    state.results.push_back(op);
    const Goal goal{output.value, {read_op(op, indices), nullptr}, nullptr};
    return solve(&goal, std::move(state));
  }

  // Tries the operations around what the next output reads.
  bool match_others(const State& state) {
    for (const OpPtr& op : candidates(state)) {
      const auto& results = state.results;
      if (std::find(results.begin(), results.end(), op) != results.end()) continue;
      if (!may_match(rule_, results.size(), *op)) continue;
      if (rule_.pointwise && op->shape != result_->shape) continue;
      if (match_output(op, state)) return true;
      if (comparisons_ > kMostComparisons) return false;
    }
    return false;
  }

  // What depends on values that wildcards of the next output stand for already, the nearest first.
  std::vector<OpPtr> candidates(const State& state) const {
    std::vector<OpPtr> found;
    std::unordered_set<const Op*> seen;
    const auto add_users = [&](const Op& op) {
      for (OpPtr& user : around_.users(op)) {
        if (found.size() == kMostCandidates) return;
        if (user->kind == OpKind::compute && seen.insert(user.get()).second) {
          found.push_back(std::move(user));
        }
      }
    };
    for (const std::string& name : rule_.outputs[state.results.size()].reads) {
      const auto bound = state.wildcards.find(name);
      if (bound == state.wildcards.end()) continue;
      visit(bound->second, [&](const Expr& e) {
        if (e->op == ExprOp::read) add_users(*e->tensor);
      });
    }
    for (size_t next = 0; next < found.size();) add_users(*OpPtr(found[next++]));
    return found;
  }

  // --- axes and extents of the graph -------------------------------------------------------------

  Expr new_axis(const Extent& extent) {
    extents_.push_back(extent);
    return axis_value(result_axis_name(extents_.size() - 1));
  }

  bool bind_axis(const Axis& pattern, size_t axis, State* state) {
    state->axes[pattern.name()] = axis_value(result_axis_name(axis));
    return bind_extent(pattern.extent(), extents_[axis], state);
  }

  static bool bind_extent(const Extent& pattern, const Extent& extent, State* state) {
    const std::optional<bool> bound = unify(pattern, extent, &state->sizes);
    if (!bound) state->extents.emplace_back(pattern, extent);
    return bound.value_or(true);
  }

  // --- terms of the graph ------------------------------------------------------------------------

  static Term value_of_axis(const Env& env, const std::string& name) {
    if (auto i = axis_index(env.op->axes, name)) return env.axes[*i];
    return env.reduction_axes[axis_index(env.op->reduction_axes, name).value()];
  }

  static Term resolved(Term term) {
    while (term.env != nullptr && term.e->op == ExprOp::axis) {
      term = value_of_axis(*term.env, term.e->name);
    }
    if (auto literal = literal_of(term.e)) term.e = *literal;
    return term;
  }

  // The same without an environment: at axes "@0", ...
  Expr written_out(const Term& term) {
    ++comparisons_;
    if (term.env == nullptr) return term.e;
    return substitute_axes(term.e, [&](const std::string& name) {
      return written_out(value_of_axis(*term.env, name));
    });
  }

  const Env* env_of(const Term& read) {
    envs_.push_back({read.e->tensor.get(), {}, {}});
    for (const Expr& index : read.e->args) envs_.back().axes.push_back({index, read.env});
    return &envs_.back();
  }

  static void add_inner(const OpPtr& op, State* state) {
    const auto& inner = state->inner;
    if (std::find(inner.begin(), inner.end(), op) == inner.end()) state->inner.push_back(op);
  }

  static bool reads_comprehension(const Expr& e) {
    return e->op == ExprOp::read && e->tensor->kind == OpKind::compute;
  }

  // --- goals -------------------------------------------------------------------------------------

  const Goal* goal(const Expr& pattern, const Term& term, const Goal* next) {
    goals_.push_back({pattern, term, next});
    return &goals_.back();
  }

  // Whether all of the goals can be reached together. Deterministic steps stay in the loop; a
  // choice is tried on a copy of the state.
  bool solve(const Goal* open, State state) {
    for (; open != nullptr;) {
      if (++comparisons_ > kMostComparisons) return false;
      const Goal current = *open;
      open = current.next;
      const Expr& pattern = current.pattern;
      Term term = resolved(current.term);
      if (is_wildcard(pattern)) {
        if (!bind_wildcard(pattern, term, &open, &state)) return false;
        continue;
      }
      if (is_value_of_sizes(pattern)) {
        state.values_of_sizes.emplace_back(pattern, written_out(term));
        continue;
      }
      if (pattern->op == ExprOp::axis) {
        if (!same_value(state.axes.at(pattern->name), written_out(term))) return false;
        continue;
      }
      while (reads_comprehension(term.e) && term.e->tensor->combiner == Combiner::none) {
        if (++comparisons_ > kMostComparisons) return false;
        add_inner(term.e->tensor, &state);
        term = resolved({term.e->tensor->body, env_of(term)});
      }
      if (pattern->op == ExprOp::reduce) return match_reduction(pattern, term, open, state);
      if (term.e.dtype() != pattern.dtype()) return false;
      if (pattern->op == ExprOp::constant) {
        if (term.e->op != ExprOp::constant || !same_value(pattern, term.e)) return false;
        continue;
      }
      if (pattern->op == ExprOp::read) {  // a constant with several elements
        if (term.e->op != ExprOp::read || !same_data(*pattern->tensor, *term.e->tensor)) {
          return false;
        }
        open = goals_for_args(pattern->args, term, open);
        continue;
      }
      const std::vector<Expr>& args = pattern->args;
      if (flipped(pattern->op) == term.e->op && term.e->args.size() == 2) {
        open = goals_for_args({args[1], args[0]}, term, open);
        continue;
      }
      if (term.e->op != pattern->op || term.e->args.size() != args.size()) return false;
      if (is_commutative(pattern->op)) {
        return solve(goals_for_args(args, term, open), state) ||
               solve(goals_for_args({args[1], args[0]}, term, open), std::move(state));
      }
      open = goals_for_args(args, term, open);
    }
    return accept(state);
  }

  const Goal* goals_for_args(const std::vector<Expr>& args, const Term& term, const Goal* next) {
    for (size_t i = args.size(); i-- > 0;) {
      next = goal(args[i], {term.e->args[i], term.env}, next);
    }
    return next;
  }

  // Every order of the reduction axes in turn, that of the graph first.
  bool match_reduction(const Expr& pattern, const Term& term, const Goal* open,
                       const State& state) {
    if (!reads_comprehension(term.e)) return false;
    const OpPtr& op = term.e->tensor;
    if (op->combiner != pattern->combiner || op->dtype != pattern.dtype() ||
        op->reduction_axes.size() != pattern->axes.size()) {
      return false;
    }
    const Reduction found{rule_.reductions.at(pattern->axes[0].name()), state.results.size() - 1};
    const auto before = state.reductions.find(op.get());
    if (before != state.reductions.end() && before->second.op != found.op &&
        before->second.output != found.output) {
      return false;
    }
    const Env* read = env_of(term);
    Env env = *read;
    const size_t first = extents_.size();
    for (const Axis& axis : op->reduction_axes) {
      env.reduction_axes.push_back({new_axis(axis.extent()), nullptr});
    }
    envs_.push_back(std::move(env));
    const Goal* body = goal(pattern->args[0], {op->body, &envs_.back()}, open);
    std::vector<size_t> order(pattern->axes.size());
    std::iota(order.begin(), order.end(), first);
    do {
      State tried = state;
      add_inner(op, &tried);
      tried.reductions.emplace(op.get(), found);
      bool fits = true;
      for (size_t i = 0; i < order.size() && fits; ++i) {
        fits = bind_axis(pattern->axes[i], order[i], &tried);
      }
      if (fits && solve(body, std::move(tried))) return true;
    } while (comparisons_++ <= kMostComparisons &&
             std::next_permutation(order.begin(), order.end()));
    return false;
  }

  // --- wildcards ---------------------------------------------------------------------------------

  bool bind_wildcard(const Expr& pattern, const Term& term, const Goal** open, State* state) {
    const Op& wildcard = *pattern->tensor;
    if (term.e.dtype() != wildcard.dtype) return false;
    const auto bound = state->wildcards.find(wildcard.name);
    if (bound != state->wildcards.end()) {
      std::vector<Expr> indices;
      for (const Expr& index : pattern->args) indices.push_back(at_graph_axes(index, *state));
      return same_seen_through(value_at(bound->second, indices), written_out(term), &state->inner);
    }
    const Expr value = written_out(term);
    if (size_of(value).nodes > kMostPatternNodes) return false;
    std::optional<Expr> function = as_function(pattern, value, *state);
    if (!function) {
      if (term.e->op != ExprOp::read || !bind_shape(wildcard, *term.e->tensor, state)) return false;
      std::vector<Expr> parameters;
      for (size_t i = 0; i < wildcard.shape.size(); ++i) {
        parameters.push_back(axis_value(parameter_name(i)));
      }
      function = read_op(term.e->tensor, parameters);
      *open = goals_for_args(pattern->args, term, *open);
    }
    if (wildcard.kind == OpKind::weight && !is_known(*function)) return false;
    state->wildcards[wildcard.name] = *function;
    return true;
  }

  static bool is_seen_through(const Expr& e) {
    return reads_comprehension(e) && e->tensor->combiner == Combiner::none;
  }

  static Expr seen_through(const Expr& read) {
    return substitute_axes(read->tensor->body, [&](const std::string& name) {
      return read->args[*axis_index(read->tensor->axes, name)];
    });
  }

  // Whether both are the same value when operations are written out in the one or the other: the
  // transpose of x and x, x + v written twice. What is written out of `found` goes to `inner`.
  bool same_seen_through(Expr expected, Expr found, std::vector<OpPtr>* inner) {
    while (!same_value(expected, found)) {
      if (++comparisons_ > kMostComparisons) return false;
      const bool is_move = is_seen_through(expected) && expected->tensor->body->op == ExprOp::read;
      if (is_seen_through(found) && !is_move) {
        if (std::find(inner->begin(), inner->end(), found->tensor) == inner->end()) {
          inner->push_back(found->tensor);
        }
        const bool both = found->tensor->body->op != ExprOp::read && is_seen_through(expected);
        if (both) expected = seen_through(expected);
        found = seen_through(found);
      } else if (is_seen_through(expected)) {
        expected = seen_through(expected);
      } else {
        break;
      }
    }
    if (same_value(expected, found)) return true;
    if (expected->op != found->op || expected->dtype != found->dtype || expected->args.empty() ||
        expected->args.size() != found->args.size() || expected->tensor != found->tensor) {
      return false;
    }
    for (size_t i = 0; i < expected->args.size(); ++i) {
      if (!same_seen_through(expected->args[i], found->args[i], inner)) return false;
    }
    return true;
  }

  static Expr at_graph_axes(const Expr& index, const State& state) {
    return with_known_sizes(
        substitute_axes(index, [&](const std::string& name) { return state.axes.at(name); }),
        state.sizes);
  }

  static Expr with_known_sizes(const Expr& e, const SizeBindings& sizes) {
    return transform(e, [&](const Expr& node) {
      if (node->op != ExprOp::size) return Expr();
      auto found = sizes.find(node->name);
      return found == sizes.end() ? Expr() : extent_value(found->second);
    });
  }

  // The value at "$0", "$1", ..., when the pattern reads each dimension of the wildcard from end to
  // end at an axis of its own, or the one place that there is: then whatever the graph has there
  // will do, as long as it depends on these axes only. Nothing: it is not so.
  std::optional<Expr> as_function(const Expr& pattern, const Expr& value, const State& state) {
    if (rule_.pointwise) return value;
    const Op& wildcard = *pattern->tensor;
    std::unordered_map<std::string, Expr> parameters;
    for (size_t i = 0; i < wildcard.shape.size(); ++i) {
      const Expr& index = pattern->args[i];
      if (index->op == ExprOp::constant && wildcard.shape[i] == Extent(1)) continue;
      if (index->op != ExprOp::axis) return std::nullopt;
      const Expr axis = state.axes.at(index->name);
      const Extent& extent = extents_[std::stoul(axis->name.substr(1))];
      SizeBindings sizes = state.sizes;
      if (unify(wildcard.shape[i], extent, &sizes) != true || sizes != state.sizes) {
        return std::nullopt;
      }
      if (!parameters.emplace(axis->name, axis_value(parameter_name(i))).second) {
        return std::nullopt;  // a diagonal
      }
    }
    const bool depends_on_others = any_part(value, [&](const Expr& e) {
      return e->op == ExprOp::axis && parameters.count(e->name) == 0;
    });
    if (depends_on_others) return std::nullopt;
    return substitute_axes(value, [&](const std::string& name) { return parameters.at(name); });
  }

  static bool bind_shape(const Op& wildcard, const Op& tensor, State* state) {
    if (wildcard.shape.size() != tensor.shape.size()) return false;
    for (size_t i = 0; i < tensor.shape.size(); ++i) {
      if (!bind_extent(wildcard.shape[i], tensor.shape[i], state)) return false;
    }
    return true;
  }

  bool is_known(const Expr& value) const {
    return !any_part(value, [&](const Expr& e) {
      return e->op == ExprOp::read && !around_.is_known(*e->tensor);
    });
  }

  // --- the end -----------------------------------------------------------------------------------

  bool accept(State state) {
    if (state.results.size() < rule_.outputs.size()) return match_others(state);
    for (const auto& [pattern, extent] : state.extents) {
      if (unify(pattern, extent, &state.sizes) != true) return false;
    }
    for (const auto& [pattern, value] : state.values_of_sizes) {
      for (const std::string& name : sizes_in(pattern)) {
        if (!state.sizes.count(name)) return false;
      }
      const Expr expected = fold_scalars(with_sizes(pattern, state.sizes));
      if (!same_value(expected, fold_scalars(value))) return false;
    }
    for (const std::string& size : rule_.rule->pattern.sizes()) {
      if (!state.sizes.count(size)) return false;
    }
    const std::vector<OpPtr>& results = state.results;
    Match match{rule_.rule->name, result_, {}, std::move(state.wildcards), std::move(state.sizes)};
    match.other_results.assign(results.begin() + 1, results.end());
    for (const OpPtr& op : state.inner) {
      if (std::find(results.begin(), results.end(), op) == results.end()) match.inner.push_back(op);
    }
    std::optional<std::string> reason = around_.why_not(match);
    if (!reason && rule_.rule->why_not) reason = rule_.rule->why_not(match);
    if (reason) {
      refuse(*reason);
      return false;
    }
    found_ = {std::move(match), ""};
    return true;
  }

  static std::vector<std::string> sizes_in(const Expr& e) {
    std::vector<std::string> names;
    visit(e, [&](const Expr& node) {
      if (node->op == ExprOp::size) names.push_back(node->name);
    });
    return names;
  }

  void refuse(const std::string& reason) {
    if (found_.refused.empty()) found_.refused = reason;
  }

  const CheckedRule& rule_;
  const OpPtr& result_;
  const GraphAround& around_;
  MatchResult found_;
  int64_t comparisons_ = 0;
  std::vector<Extent> extents_;  // of "@0", "@1", ...
  std::deque<Env> envs_;         // pointers into them stay good
  std::deque<Goal> goals_;
};

}  // namespace

MatchResult match_pattern(const CheckedRule& rule, const OpPtr& result, const GraphAround& around) {
  EMULSION_CHECK(result->kind == OpKind::compute, "{} is no comprehension", result->name);
  if (!may_match(rule, 0, *result)) return {};
  return Matcher(rule, result, around).run();
}

}  // namespace emulsion
