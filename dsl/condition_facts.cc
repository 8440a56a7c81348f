#include "dsl/condition_facts.h"

#include "dsl/affine.h"

namespace emulsion {

void for_each_fact(const Expr& condition, bool holds,
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
      return for_each_fact(args[0], !holds, take);
    case ExprOp::logical_and:
    case ExprOp::logical_or:
      if (holds == (condition->op == ExprOp::logical_and)) {
        for (const Expr& part : args) for_each_fact(part, holds, take);
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
      if (holds != (condition->op == ExprOp::eq)) return;
      at_most(args[0], args[1]);
      return at_most(args[1], args[0]);
    default:
      return;
  }
}

}  // namespace emulsion
