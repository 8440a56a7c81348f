#include "passes/nest/split_choices.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "dsl/condition_facts.h"
#include "passes/index/index_table.h"
#include "passes/index/simplify_index.h"
#include "passes/nest/loop_steps.h"
#include "passes/nest/read_indices.h"
#include "passes/nest/visit_nest.h"

namespace emulsion {
namespace {

// When a condition holds: at no step before `from` and at every one from `to` on, or the other way
// round.
struct Turn {
  bool rises;
  Expr from, to;
  // At other steps a tail keeps the indices inside, and nothing is said.
  std::optional<Expr> first, end;
};

using Key = std::pair<const UopNode*, const ExprNode*>;  // a comparison in the body of a uOp
using Turns = std::map<Key, std::optional<Turn>>;        // nothing: it cannot be told

bool is_logical(ExprOp op) {
  return op == ExprOp::logical_and || op == ExprOp::logical_or || op == ExprOp::logical_not;
}

// The comparisons that decide which branches of selects are taken inside a loop.
class TurnFinder : public NestVisitor {
 public:
  TurnFinder(const LoopNest& nest, const std::vector<const Loop*>& around, const Loop& loop)
      : nest_(nest), variable_(loop.variable()) {
    for (const Loop* outer : around) ranges_.insert_or_assign(outer->variable(), range_of(*outer));
  }

  Turns turns;

 private:
  void visit_loop(const Loop& loop) override {
    ranges_.insert_or_assign(loop.variable(), range_of(loop));
    NestVisitor::visit_loop(loop);
    ranges_.erase(loop.variable());
  }

  void visit_uop(const UopNode& uop) override {
    if (uop.part == Part::init) return;
    const Stage& stage = nest_.stage(uop.stage);
    SparedSteps steps(variable_, &ranges_);
    std::map<std::string, Expr> point = point_of(stage, uop);
    for (auto& [axis, index] : point) index = steps.without_clamps(index);
    visit(body_of(stage, uop), [&](const Expr& e) {
      if (e->op == ExprOp::select && is_index(e->args[0])) add(uop, point, steps, e->args[0]);
    });
  }

  void add(const UopNode& uop, const std::map<std::string, Expr>& point, const SparedSteps& steps,
           const Expr& condition) {
    if (is_logical(condition->op)) {
      for (const Expr& part : condition->args) add(uop, point, steps, part);
      return;
    }
    const std::optional<Expr> order = as_order(condition, domain_of(nest_.stage(uop.stage)));
    const std::optional<Turn> turn = turn_of(order.value_or(condition), point, steps);
    auto [known, is_new] = turns.try_emplace({&uop, &condition.node()}, turn);
    if (is_new || !known->second) return;
    // The node is at several places of the tree, or of the body.
    if (!turn || !is_same(*known->second, *turn)) known->second.reset();
  }

  static bool is_same(const Turn& a, const Turn& b) {
    const auto same = [](const std::optional<Expr>& x, const std::optional<Expr>& y) {
      return x && y ? equal(*x, *y) : !x && !y;
    };
    return a.rises == b.rises && equal(a.from, b.from) && equal(a.to, b.to) &&
           same(a.first, b.first) && same(a.end, b.end);
  }

  // `steps`: at which the point is this one.
  std::optional<Turn> turn_of(const Expr& condition, const std::map<std::string, Expr>& point,
                              SparedSteps steps) const {
    const std::optional<Expr> spare = spare_of(condition, point);
    if (!spare) return std::nullopt;
    std::optional<Slope> slope = slope_along(*spare, variable_, ranges_);
    // Of a stage that is computed beyond its domain, and of what its reader's tail keeps inside,
    // conditions have clamps of their own (clamp_reads.cc).
    if (!slope) slope = slope_along(steps.without_clamps(*spare), variable_, ranges_);
    if (!slope) return std::nullopt;
    const auto& [factor, low, high] = *slope;
    // It holds where factor * v + [low, high] is not negative.
    if (factor > 0) {
      return Turn{true, floor_of(Extent(factor - 1) - high, factor),
                  floor_of(Extent(factor - 1) - low, factor), steps.first, steps.end};
    }
    return Turn{false, floor_of(low - Extent(factor), -factor),
                floor_of(high - Extent(factor), -factor), steps.first, steps.end};
  }

  // What is not negative where the condition holds.
  static std::optional<Expr> spare_of(const Expr& condition,
                                      const std::map<std::string, Expr>& point) {
    const ExprOp op = condition->op;
    const bool is_less = op == ExprOp::lt || op == ExprOp::le;
    if (!is_less && op != ExprOp::gt && op != ExprOp::ge) return std::nullopt;
    if (condition->args[0].dtype() != DType::i32) return std::nullopt;
    const auto in_loops = [&](const Expr& e) {
      return substitute_axes(e, [&](const std::string& axis) { return point.at(axis); });
    };
    const bool is_strict = op == ExprOp::lt || op == ExprOp::gt;
    const Expr a = in_loops(condition->args[is_less ? 1 : 0]);
    const Expr b = in_loops(condition->args[is_less ? 0 : 1]);
    const Expr more = int_constant(is_strict ? 1 : 0);  // than `b` that `a` has to be
    return without_idle_clamps(a, b + more, true) - without_idle_clamps(b, a - more, false) - more;
  }

  // An index of what is itself chosen by place may be clamped: min(i, 43) >= 24 where i >= 24, and
  // nowhere else, for 43 is enough. `is_large`: whether `e` has to be as large as `other`, or may
  // be no larger.
  static Expr without_idle_clamps(const Expr& e, const Expr& other, bool is_large) {
    const std::optional<int64_t> limit = constant_value(simplify_index(other));
    Expr index = simplify_index(e);
    while (limit && (index->op == ExprOp::min || index->op == ExprOp::max)) {
      std::optional<int64_t> bound = constant_value(index->args[1]);
      const size_t free = bound ? 0 : 1;
      if (!bound) bound = constant_value(index->args[0]);
      if (!bound) break;
      // A bound that decides the comparison by itself is not idle.
      const bool holds = is_large ? *bound >= *limit : *bound <= *limit;
      if (holds != (is_large == (index->op == ExprOp::min))) break;
      index = Expr(index->args[free]);
    }
    return index;
  }

  const LoopNest& nest_;
  const std::string variable_;
  std::map<std::string, Range> ranges_;  // of the other loops
};

// All steps at which something changes, in order as far as that can be told.
std::vector<Expr> borders_of(const Turns& turns) {
  std::vector<int64_t> numbers;
  std::vector<Expr> others;
  for (const auto& [key, turn] : turns) {
    if (!turn) continue;
    for (const std::optional<Expr>& border :
         {std::optional(turn->from), std::optional(turn->to), turn->first, turn->end}) {
      if (!border) continue;
      const Expr& step = *border;
      if (const auto number = constant_value(step)) {
        numbers.push_back(*number);
      } else {
        others.push_back(step);
      }
    }
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::vector<Expr> borders;
  borders.reserve(numbers.size() + others.size());
  for (int64_t number : numbers) borders.push_back(int_constant(number));
  for (const Expr& step : others) {
    const auto behind = std::find_if(borders.begin(), borders.end(),
                                     [&](const Expr& border) { return at_least(border, step); });
    if (behind == borders.end() || !equal(*behind, step)) borders.insert(behind, step);
  }
  return borders;
}

// The steps of a piece: from each of the `least` on, before `past`.
struct Steps {
  std::vector<Expr> least;
  Expr past;
};

// Bodies of uOps, without the choices in front that are the same at a piece and at all behind it:
// of many parts that are joined, each piece then looks at its own choice alone.
using LaterBodies = std::unordered_map<const UopNode*, Expr>;

// Writes the bodies of the uOps inside a piece. `later`: as the pieces before it left them.
class Chooser : public NestMutator {
 public:
  Chooser(const LoopNest& nest, const Turns& turns, const Steps& steps, LaterBodies* later)
      : nest_(nest), turns_(turns), steps_(steps), later_(*later) {}

 private:
  NodePtr mutate_uop(const NodePtr& node, const UopNode& uop) override {
    if (uop.part == Part::init) return node;
    done_.clear();
    uop_ = &uop;
    const Expr& body = body_of(nest_.stage(uop.stage), uop);
    Expr& later = later_.emplace(&uop, body).first->second;
    while (later->op == ExprOp::select) {
      const std::optional<bool> holds = truth_from_here(later->args[0]);
      if (!holds) break;
      later = Expr(later->args[*holds ? 1 : 2]);
    }
    Expr chosen = choose(later);
    if (chosen.same_as(body)) return node;
    UopNode made = uop;
    made.body = std::move(chosen);
    return make_node(std::move(made));
  }

  // From above: what is not chosen is not looked at.
  Expr choose(const Expr& e) {
    if (e->op == ExprOp::select) {
      if (const auto holds = truth_of(e->args[0])) return choose(e->args[*holds ? 1 : 2]);
    }
    if (auto found = done_.find(&e.node()); found != done_.end()) return found->second;
    std::vector<Expr> args;
    for (size_t i = 0; i < e->args.size(); ++i) {
      const bool is_condition = e->op == ExprOp::select && i == 0;
      args.push_back(is_condition ? without_known(e->args[i]) : choose(e->args[i]));
    }
    return done_.emplace(&e.node(), with_args(e, std::move(args))).first->second;
  }

  // Of a && b, where a holds, b.
  Expr without_known(const Expr& condition) const {
    const bool both = condition->op == ExprOp::logical_and;
    if (!both && condition->op != ExprOp::logical_or) return condition;
    const Expr &a = condition->args[0], &b = condition->args[1];
    if (truth_of(a) == both) return without_known(b);
    if (truth_of(b) == both) return without_known(a);
    const Expr x = without_known(a), y = without_known(b);
    if (x.same_as(a) && y.same_as(b)) return condition;
    return both ? x && y : x || y;
  }

  std::optional<bool> truth_of(const Expr& condition) const {
    switch (condition->op) {
      case ExprOp::logical_not: {
        const std::optional<bool> holds = truth_of(condition->args[0]);
        return holds ? std::optional(!*holds) : std::nullopt;
      }
      case ExprOp::logical_and:
      case ExprOp::logical_or: {
        const bool decides = condition->op == ExprOp::logical_or;
        const auto a = truth_of(condition->args[0]), b = truth_of(condition->args[1]);
        if (a == decides || b == decides) return decides;
        return a && b ? std::optional(!decides) : std::nullopt;
      }
      default:
        break;
    }
    const Turn* found = turn_of(condition);
    if (found == nullptr) return std::nullopt;
    const Turn& turn = *found;
    if (turn.first && !starts_from(*turn.first)) return std::nullopt;
    if (turn.end && !at_least(*turn.end, steps_.past)) return std::nullopt;
    if (at_least(turn.from, steps_.past)) return !turn.rises;
    return starts_from(turn.to) ? std::optional(turn.rises) : std::nullopt;
  }

  // What a comparison is at this piece and at all behind it, where that is known.
  std::optional<bool> truth_from_here(const Expr& condition) const {
    const Turn* turn = turn_of(condition);
    if (turn == nullptr || turn->end || !starts_from(turn->to)) return std::nullopt;
    if (turn->first && !starts_from(*turn->first)) return std::nullopt;
    return turn->rises;
  }

  const Turn* turn_of(const Expr& condition) const {
    const auto found = turns_.find({uop_, &condition.node()});
    return found == turns_.end() || !found->second ? nullptr : &*found->second;
  }

  // Whether all steps of the piece are at that one or behind it.
  bool starts_from(const Expr& step) const {
    return std::any_of(steps_.least.begin(), steps_.least.end(),
                       [&](const Expr& least) { return at_least(least, step); });
  }

  const LoopNest& nest_;
  const Turns& turns_;
  const Steps& steps_;
  LaterBodies& later_;
  const UopNode* uop_ = nullptr;
  std::unordered_map<const ExprNode*, Expr> done_;
};

// Of a piece between run-time sizes, which has one step or none.
bool may_be_one_step(const Expr& begin, const Expr& end) {
  const Expr steps = difference(end, begin);
  return !constant_value(steps) && at_least(int_constant(1), steps);
}

}  // namespace

std::vector<LoopPiece> split_at_choices(const LoopNest& nest,
                                        const std::vector<const Loop*>& around, const Loop& loop) {
  TurnFinder finder(nest, around, loop);
  finder.walk(*loop.body);
  const Expr past = simplify_index(loop.min + loop.extent);
  std::vector<Expr> borders = borders_of(finder.turns);
  if (borders.empty()) return {};
  borders.push_back(past);
  std::vector<LoopPiece> pieces;
  Steps steps{{loop.min}, past};
  LaterBodies later;
  Expr begin = loop.min;
  bool changed = false, joins = false;
  for (size_t i = 0; i < borders.size(); ++i) {
    const Expr& border = borders[i];
    const bool is_last = i + 1 == borders.size();
    // Borders that cannot be ordered may be before this piece, or behind the end.
    const Expr next = greatest_of(border, begin), end = least_of(next, past);
    const bool is_short =
        may_be_one_step(begin, end) || (i > 0 && may_be_one_step(borders[i - 1], border));
    joins = !joins && !is_last && is_short && may_be_one_step(border, borders[i + 1]);
    if (joins) continue;
    if (!at_least(begin, end)) {
      steps.past = border;
      Loop piece = loop;
      piece.partition = false;
      piece.min = begin;
      piece.extent = steps_between(begin, end);
      piece.body = Chooser(nest, finder.turns, steps, &later).mutate(loop.body);
      changed = changed || piece.body != loop.body;
      pieces.push_back({std::move(piece), end});
      begin = next;
    }
    // All numbers are in order.
    if (constant_value(border) && constant_value(steps.least.back())) steps.least.pop_back();
    steps.least.push_back(border);
  }
  return changed ? pieces : std::vector<LoopPiece>{};
}

}  // namespace emulsion
