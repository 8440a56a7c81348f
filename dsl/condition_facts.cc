#include "dsl/condition_facts.h"

#include <algorithm>
#include <optional>

namespace emulsion {
namespace {

bool is_never_less(const Expr& a, const Expr& b, const AxisExtents& axes) {
  if (a.dtype() != DType::i32) return false;
  const std::optional<Affine> more = affine_of(a - b);
  if (!more) return false;
  const auto in_scope = [&](const auto& term) { return axes.count(term.first) > 0; };
  return std::all_of(more->coefficients.begin(), more->coefficients.end(), in_scope) &&
         never_negative(least_value(*more, axes));
}

}  // namespace

std::optional<Expr> as_order(const Expr& condition, const AxisExtents& axes) {
  const bool is_eq = condition->op == ExprOp::eq;
  if (!is_eq && condition->op != ExprOp::ne) return std::nullopt;
  const Expr &a = condition->args[0], &b = condition->args[1];
  if (is_never_less(a, b, axes)) return is_eq ? a <= b : a > b;
  if (is_never_less(b, a, axes)) return is_eq ? a >= b : a < b;
  return std::nullopt;
}

void for_each_fact(const Expr& condition, bool holds, const AxisExtents& axes,
                   const std::function<void(const Expr&)>& take) {
  const std::vector<Expr>& args = condition->args;
  const auto take_at_most = [&](const Expr& a, const Expr& b, int difference) {
    if (a.dtype() != DType::i32) return;
    const Expr fact = b - a - int_constant(difference);
    if (affine_of(fact)) take(fact);
  };
  const auto less = [&](const Expr& a, const Expr& b) { take_at_most(a, b, 1); };
  const auto at_most = [&](const Expr& a, const Expr& b) { take_at_most(a, b, 0); };
  switch (condition->op) {
    case ExprOp::logical_not:
      return for_each_fact(args[0], !holds, axes, take);
    case ExprOp::logical_and:
    case ExprOp::logical_or:
      if (holds == (condition->op == ExprOp::logical_and)) {
        for (const Expr& part : args) for_each_fact(part, holds, axes, take);
      }
      return;
    case ExprOp::lt:
      return holds ? less(args[0], args[1]) : at_most(args[1], args[0]);
    case ExprOp::le:
      return holds ? at_most(args[0], args[1]) : less(args[1], args[0]);
    case ExprOp::gt:
      return holds ? less(args[1], args[0]) : at_most(args[0], args[1]);
    case ExprOp::ge:
      return holds ? at_most(args[1], args[0]) : less(args[0], args[1]);
    case ExprOp::eq:
    case ExprOp::ne:
      if (holds == (condition->op == ExprOp::eq)) {
        at_most(args[0], args[1]);
        return at_most(args[1], args[0]);
      }
      if (const auto order = as_order(condition, axes)) for_each_fact(*order, holds, axes, take);
      return;
    default:
      return;
  }
}

}  // namespace emulsion
