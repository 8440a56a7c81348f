#include "passes/rewrite/fold_scalars.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "dsl/index_arithmetic.h"
#include "dsl/types.h"

namespace emulsion {
namespace {

using Folded = std::optional<Number>;

Folded float_result(DType dtype, double value) {
  // The sum, product, quotient or root of two floats in double, rounded again, is the float one:
  // double has more than twice the digits.
  if (std::isnan(value)) return std::nullopt;
  return Number{dtype, dtype == DType::f32 ? static_cast<float>(value) : value, 0};
}

Folded bool_result(bool value) { return Number{DType::boolean, 0, value ? 1 : 0}; }

// The narrow types wrap; what leaves i32 is unspecified, so nobody may rely on it, and it is kept.
Folded integer_result(DType dtype, int64_t value) {
  if (dtype == DType::i32 && !integer_range(dtype).contains(value)) return std::nullopt;
  return Number{dtype, 0, wrap_integer(dtype, value)};
}

Folded compared(ExprOp op, double a, double b) {
  switch (op) {
    case ExprOp::eq:
      return bool_result(a == b);
    case ExprOp::ne:
      return bool_result(a != b);
    case ExprOp::lt:
      return bool_result(a < b);
    case ExprOp::le:
      return bool_result(a <= b);
    case ExprOp::gt:
      return bool_result(a > b);
    case ExprOp::ge:
      return bool_result(a >= b);
    default:
      return std::nullopt;
  }
}

Folded fold_floats(ExprOp op, DType dtype, double a, double b) {
  switch (op) {
    case ExprOp::neg:
      return float_result(dtype, -a);
    case ExprOp::abs:
      return float_result(dtype, std::fabs(a));
    case ExprOp::sqrt:
      return float_result(dtype, std::sqrt(a));
    case ExprOp::floor:
      return float_result(dtype, std::floor(a));
    case ExprOp::ceil:
      return float_result(dtype, std::ceil(a));
    case ExprOp::round:
      return float_result(dtype, std::nearbyint(a));
    case ExprOp::trunc:
      return float_result(dtype, std::trunc(a));
    case ExprOp::add:
      return float_result(dtype, a + b);
    case ExprOp::sub:
      return float_result(dtype, a - b);
    case ExprOp::mul:
      return float_result(dtype, a * b);
    case ExprOp::div:
      return float_result(dtype, a / b);
    case ExprOp::min:
    case ExprOp::max:
      if (a == 0 && b == 0) return std::nullopt;
      return float_result(dtype, op == ExprOp::min ? std::min(a, b) : std::max(a, b));
    default:
      return compared(op, a, b);
  }
}

// Values of at most 32 bits: nothing here leaves 64.
Folded fold_integers(ExprOp op, DType dtype, int64_t a, int64_t b) {
  const std::optional<int64_t> value = index_operator(op, a, b);
  return value ? integer_result(dtype, *value) : std::nullopt;
}

Folded fold_cast(DType to, const Number& from) {
  const bool is_from_float = is_float(from.dtype);
  if (to == DType::boolean) {
    return bool_result(is_from_float ? from.float_value != 0 : from.int_value != 0);
  }
  if (is_float(to)) {
    return float_result(to, is_from_float ? from.float_value : static_cast<double>(from.int_value));
  }
  if (!is_from_float) return Number{to, 0, wrap_integer(to, from.int_value)};
  const IntegerRange range = integer_range(to);
  const double whole = std::clamp(std::trunc(from.float_value), static_cast<double>(range.lowest),
                                  static_cast<double>(range.highest));
  return Number{to, 0, static_cast<int64_t>(whole)};
}

int arity(ExprOp op) {
  if (op == ExprOp::select) return 3;
  const bool is_unary = op == ExprOp::neg || op == ExprOp::abs || op == ExprOp::sqrt ||
                        (op >= ExprOp::floor && op <= ExprOp::trunc) || op == ExprOp::logical_not ||
                        op == ExprOp::cast;
  return is_unary ? 1 : 2;
}

}  // namespace

std::optional<Number> number_of(const Expr& constant) {
  if (constant->op != ExprOp::constant || std::isnan(constant->float_value)) return std::nullopt;
  return Number{constant.dtype(), constant->float_value, constant->int_value};
}

Expr constant_of(const Number& number) {
  auto node = std::make_shared<ExprNode>();
  node->op = ExprOp::constant;
  node->dtype = number.dtype;
  node->float_value = number.float_value;
  node->int_value = number.int_value;
  return Expr(std::shared_ptr<const ExprNode>(std::move(node)));
}

std::optional<Number> fold_operation(ExprOp op, DType dtype, const Number* numbers) {
  const Number& a = numbers[0];
  if (op == ExprOp::cast) return fold_cast(dtype, a);
  if (op == ExprOp::select) return numbers[a.int_value != 0 ? 1 : 2];
  const Number& b = numbers[arity(op) - 1];
  if (is_float(a.dtype)) return fold_floats(op, dtype, a.float_value, b.float_value);
  return fold_integers(op, dtype, a.int_value, b.int_value);
}

Expr fold_scalars(const Expr& root) {
  return transform(root, [](const Expr& e) {
    if (e->args.empty() || e->op == ExprOp::read || e->op == ExprOp::reduce) return Expr();
    std::vector<Number> numbers;
    for (const Expr& arg : e->args) {
      const std::optional<Number> number = number_of(arg);
      if (!number) return Expr();
      numbers.push_back(*number);
    }
    if (static_cast<int>(numbers.size()) < arity(e->op)) return Expr();
    const std::optional<Number> folded = fold_operation(e->op, e.dtype(), numbers.data());
    return folded ? constant_of(*folded) : Expr();
  });
}

}  // namespace emulsion
