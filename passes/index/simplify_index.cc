#include "passes/index/simplify_index.h"

#include <optional>

#include "dsl/index_arithmetic.h"
#include "dsl/types.h"

namespace emulsion {
namespace {

bool is_index_op(ExprOp op) {
  return op == ExprOp::add || op == ExprOp::sub || op == ExprOp::mul || op == ExprOp::div ||
         op == ExprOp::mod || op == ExprOp::min || op == ExprOp::max;
}

Expr simplify_node(const Expr& e) {
  if (!is_index_op(e->op) || e.dtype() != DType::i32) return Expr();
  const Expr& a = e->args[0];
  const Expr& b = e->args[1];
  auto x = constant_value(a);
  auto y = constant_value(b);
  if (x && y) {
    const std::optional<int64_t> folded = index_operator(e->op, *x, *y);
    return folded && integer_range(i32).contains(*folded) ? int_constant(*folded) : Expr();
  }
  switch (e->op) {
    case ExprOp::add:
      if (x == 0) return b;
      if (y == 0) return a;
      if (y && a->op == ExprOp::add && constant_value(a->args[1])) {  // (p + 2) + 3
        const int64_t number = *y + *constant_value(a->args[1]);
        if (!integer_range(i32).contains(number)) return Expr();
        return simplify_index(a->args[0] + int_constant(number));
      }
      return Expr();
    case ExprOp::sub:
      if (y == 0) return a;
      if (equal(a, b)) return int_constant(0);
      return Expr();
    case ExprOp::mul:
      if (x == 1) return b;
      if (y == 1) return a;
      if (x == 0 || y == 0) return int_constant(0);
      return Expr();
    case ExprOp::div:
      if (y == 1) return a;
      return Expr();
    case ExprOp::mod:
      if (y == 1) return int_constant(0);
      return Expr();
    case ExprOp::min:
    case ExprOp::max:
      if (equal(a, b)) return a;
      return Expr();
    default:
      return Expr();
  }
}

}  // namespace

std::optional<int64_t> constant_value(const Expr& index) {
  if (index->op != ExprOp::constant || !is_integer(index->dtype)) return std::nullopt;
  return index->int_value;
}

Expr simplify_index(const Expr& index) { return transform(index, simplify_node); }

Expr ceil_div(const Expr& a, int64_t b) {
  return simplify_index((a + int_constant(b - 1)) / int_constant(b));
}

bool mentions(const Expr& index, const std::string& variable) {
  return any_part(index,
                  [&](const Expr& e) { return e->op == ExprOp::axis && e->name == variable; });
}

bool depends_on_loops(const Expr& index) {
  return any_part(index, [](const Expr& e) { return e->op == ExprOp::axis; });
}

}  // namespace emulsion
