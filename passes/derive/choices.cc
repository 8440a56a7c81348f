#include "passes/derive/choices.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "dsl/affine.h"
#include "dsl/range_arithmetic.h"
#include "passes/derive/read_sources.h"
#include "passes/index/index_interval.h"
#include "passes/index/moved_index.h"
#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

// Whether it compares one axis at a time, and no data.
bool is_by_place(const Expr& condition) {
  const ExprOp op = condition->op;
  if (op == ExprOp::logical_and || op == ExprOp::logical_or || op == ExprOp::logical_not) {
    return std::all_of(condition->args.begin(), condition->args.end(), is_by_place);
  }
  if (!is_order(op)) return false;
  std::set<std::string> axes;
  visit(condition, [&](const Expr& part) {
    if (part->op == ExprOp::axis) axes.insert(part->name);
  });
  return axes.size() == 1 && !reads_data(condition);
}

bool is_chosen_by_place(const Expr& e, Choice choice) {
  if (e->op == ExprOp::select) {
    return is_by_place(e->args[0]) && is_chosen_by_place(e->args[1], choice) &&
           is_chosen_by_place(e->args[2], choice);
  }
  if (choice == Choice::of_elements && e->op != ExprOp::read) return e->op == ExprOp::constant;
  const std::vector<Expr> reads = reads_in(e);
  return std::all_of(reads.begin(), reads.end(), [](const Expr& read) {
    return std::none_of(read->args.begin(), read->args.end(), reads_data);
  });
}

// The index of min(index, bound) or max(index, bound).
Expr without_clamp(const Expr& e) {
  if (e->op != ExprOp::min && e->op != ExprOp::max) return Expr();
  const auto is_bound = [](const Expr& bound) {
    const auto affine = affine_of(bound);
    return affine && affine->coefficients.empty();
  };
  if (is_bound(e->args[1])) return e->args[0];
  return is_bound(e->args[0]) ? e->args[1] : Expr();
}

int64_t slope_of(const Expr& index, const std::string& axis) {
  const std::optional<Affine> affine = affine_of(index);
  return affine && affine->coefficients.count(axis) > 0 ? affine->coefficients.at(axis) : 0;
}

bool wraps_once(const Expr& e, const Op& op, const std::string& axis) {
  const std::optional<size_t> i = axis_index(op.axes, axis);
  const std::optional<Extent> by = as_extent(e->args[1]);
  return i && by && slope_of(e->args[0], axis) == 1 && never_negative(*by - op.axes[*i].extent());
}

// Whether a condition on numbers is 1, 0, or open (from 0 to 1): data and axes may be anything.
IntegerRange truth_of(const Expr& condition) {
  const ExprOp op = condition->op;
  const bool is_of_numbers = is_comparison(op);
  const bool is_of_truths =
      op == ExprOp::logical_not || op == ExprOp::logical_and || op == ExprOp::logical_or;
  std::vector<IntegerRange> args;
  for (const Expr& arg : condition->args) {
    if (is_of_truths) args.push_back(truth_of(arg));
    const std::optional<int64_t> number =
        is_of_numbers ? constant_value(simplify_index(arg)) : std::nullopt;
    if (number) args.push_back({*number, *number});
  }
  if (args.empty() || args.size() < condition->args.size()) return {0, 1};
  return range_of(op, args.front(), args.back());
}

}  // namespace

bool reads_data(const Expr& e) {
  return any_part(e, [](const Expr& part) { return part->op == ExprOp::read; });
}

bool chooses_by_place(const Expr& body, Choice choice) {
  return body->op == ExprOp::select && is_chosen_by_place(body, choice);
}

bool chooses_by(const Expr& body, const std::string& axis) {
  return any_part(body, [&](const Expr& e) {
    return e->op == ExprOp::select && mentions(e->args[0], axis) && !reads_data(e->args[0]);
  });
}

Expr chosen_at(const Expr& body, const std::string& axis, int64_t step) {
  return transform(body, [&](const Expr& e) -> Expr {
    if (e->op != ExprOp::select || !mentions(e->args[0], axis)) return Expr();
    const IntegerRange holds = truth_of(substitute_axes(e->args[0], [&](const std::string& name) {
      return name == axis ? int_constant(step) : Expr();
    }));
    return holds.is_point() ? e->args[holds.lowest == 1 ? 1 : 2] : Expr();
  });
}

Expr without_clamps(const Expr& index) { return transform(index, without_clamp); }

Expr between_ends(const Expr& index, const Op& op, const std::string& axis) {
  return transform(index, [&](const Expr& e) -> Expr {
    if (const Expr free = without_clamp(e); free.defined()) return free;
    if (e->op == ExprOp::abs) return e->args[0];
    if (e->op == ExprOp::mod) return wraps_once(e, op, axis) ? e->args[0] : Expr();
    if (e->op != ExprOp::min && e->op != ExprOp::max) return Expr();
    const int64_t a = slope_of(e->args[0], axis), b = slope_of(e->args[1], axis);
    if (a > 0 && b < 0) return e->args[0];
    return a < 0 && b > 0 ? e->args[1] : Expr();
  });
}

Op without_moves_by_data(const Op& op) {
  Op moved_nowhere = op;
  if (!op.body.defined()) return moved_nowhere;
  const AxisExtents extents = extents_of(op);
  moved_nowhere.body = transform(op.body, [&](const Expr& e) -> Expr {
    if (e->op != ExprOp::read || std::none_of(e->args.begin(), e->args.end(), reads_data))
      return Expr();
    std::vector<Expr> indices;
    for (const Expr& index : e->args) {
      const std::optional<MovedIndex> moved = moved_index(index, extents);
      indices.push_back(moved ? moved->place : index);
    }
    return read_op(e->tensor, std::move(indices));
  });
  return moved_nowhere;
}

bool is_turned_at_ends(const Op& op, const std::string& axis) {
  return any_part(op.body, [&](const Expr& read) {
    if (read->op != ExprOp::read || read->args.empty()) return false;
    const Expr& last = read->args.back();
    return mentions(last, axis) && !affine_of(without_clamps(last)) &&
           affine_of(between_ends(last, op, axis));
  });
}

bool is_clamped_along(const Op& op, const Axis& axis) {
  if (is_turned_at_ends(op, axis.name())) return true;
  const auto clamps = [&](const Expr& e) {
    return (e->op == ExprOp::min || e->op == ExprOp::max) && mentions(e, axis.name()) &&
           !reads_data(e);
  };
  const auto is_held = [&](const Expr& e) {
    const auto clamped = [&](const Expr& index) { return any_part(index, clamps); };
    return e->op == ExprOp::read && std::any_of(e->args.begin(), e->args.end(), clamped);
  };
  const auto chooses_held = [&](const Expr& e) {
    return e->op == ExprOp::select && reads_data(e->args[0]) &&
           (any_part(e->args[1], is_held) || any_part(e->args[2], is_held));
  };
  return axis.extent().is_constant() ? any_part(op.body, chooses_held) : any_part(op.body, is_held);
}

Expr without_clamped_indices(const Expr& read) {
  std::vector<Expr> indices;
  for (const Expr& index : read->args) indices.push_back(without_clamps(index));
  return read_op(read->tensor, std::move(indices));
}

std::vector<Expr> reads_in(const Expr& body, const Op* of) {
  std::vector<Expr> reads;
  visit(body, [&](const Expr& e) {
    if (e->op == ExprOp::read && (of == nullptr || e->tensor.get() == of)) reads.push_back(e);
  });
  return reads;
}

Borders borders_by_axis(const Op& op) {
  Borders borders;
  std::set<std::string> counted;
  const auto add = [&](const Expr& condition) {
    visit(condition, [&](const Expr& e) {
      if (!is_order(e->op) || reads_data(e)) return;
      std::set<std::string> axes;
      visit(e, [&](const Expr& part) {
        if (part->op == ExprOp::axis) axes.insert(part->name);
      });
      if (axes.size() != 1) return;
      if (counted.insert(to_string(e)).second) ++borders[*axes.begin()];
    });
  };
  visit(op.body, [&](const Expr& e) {
    if (e->op == ExprOp::select) add(e->args[0]);
  });
  return borders;
}

}  // namespace emulsion
