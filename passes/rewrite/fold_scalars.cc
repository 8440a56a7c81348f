#include "passes/rewrite/fold_scalars.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "dsl/types.h"

namespace emulsion {
namespace {

Expr constant_node(DType dtype, double float_value, int64_t int_value) {
  auto node = std::make_shared<ExprNode>();
  node->op = ExprOp::constant;
  node->dtype = dtype;
  node->float_value = float_value;
  node->int_value = int_value;
  return Expr(std::shared_ptr<const ExprNode>(std::move(node)));
}

std::optional<Expr> float_result(DType dtype, double value) {
  // The sum, product, quotient or root of two floats in double, rounded again, is the float one:
  // double has more than twice the digits.
  return constant_node(dtype, dtype == DType::f32 ? static_cast<float>(value) : value, 0);
}

std::optional<Expr> bool_result(bool value) {
  return constant_node(DType::boolean, 0, value ? 1 : 0);
}

// The narrow types wrap; what leaves i32 is unspecified, so nobody may rely on it, and it is kept.
std::optional<Expr> integer_result(DType dtype, int64_t value) {
  if (dtype == DType::i32 && !integer_range(dtype).contains(value)) return std::nullopt;
  return constant_node(dtype, 0, wrap_integer(dtype, value));
}

template <typename T>
std::optional<Expr> compared(ExprOp op, T a, T b) {
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

std::optional<Expr> fold_floats(ExprOp op, DType dtype, double a, double b) {
  switch (op) {
    case ExprOp::neg:
      return float_result(dtype, -a);
    case ExprOp::abs:
      return float_result(dtype, std::fabs(a));
    case ExprOp::sqrt:
      return float_result(dtype, std::sqrt(a));
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
      // Which zero the smaller of +0 and -0 is, and which NaN: a kernel's own.
      if (std::isnan(a) || std::isnan(b) || (a == 0 && b == 0)) return std::nullopt;
      return float_result(dtype, op == ExprOp::min ? std::min(a, b) : std::max(a, b));
    default:
      return compared(op, a, b);
  }
}

int64_t floor_quotient(int64_t a, int64_t b) {
  if (b == 0) return 0;
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

// Values of at most 32 bits: nothing here leaves 64.
std::optional<Expr> fold_integers(ExprOp op, DType dtype, int64_t a, int64_t b) {
  switch (op) {
    case ExprOp::neg:
      return integer_result(dtype, -a);
    case ExprOp::abs:
      return integer_result(dtype, std::abs(a));
    case ExprOp::add:
      return integer_result(dtype, a + b);
    case ExprOp::sub:
      return integer_result(dtype, a - b);
    case ExprOp::mul:
      return integer_result(dtype, a * b);
    case ExprOp::div:
      return integer_result(dtype, floor_quotient(a, b));
    case ExprOp::mod:
      return integer_result(dtype, b == 0 ? 0 : a - b * floor_quotient(a, b));
    case ExprOp::min:
      return integer_result(dtype, std::min(a, b));
    case ExprOp::max:
      return integer_result(dtype, std::max(a, b));
    case ExprOp::logical_not:
      return bool_result(a == 0);
    case ExprOp::logical_and:
      return bool_result(a != 0 && b != 0);
    case ExprOp::logical_or:
      return bool_result(a != 0 || b != 0);
    default:
      return compared(op, a, b);
  }
}

std::optional<Expr> fold_cast(DType to, const Expr& from) {
  const bool is_from_float = is_float(from.dtype());
  if (to == DType::boolean) {
    return bool_result(is_from_float ? from->float_value != 0 : from->int_value != 0);
  }
  if (is_float(to)) {
    return float_result(to,
                        is_from_float ? from->float_value : static_cast<double>(from->int_value));
  }
  if (!is_from_float) return constant_node(to, 0, wrap_integer(to, from->int_value));
  if (std::isnan(from->float_value)) return constant_node(to, 0, 0);
  const IntegerRange range = integer_range(to);
  const double whole = std::clamp(std::trunc(from->float_value), static_cast<double>(range.lowest),
                                  static_cast<double>(range.highest));
  return constant_node(to, 0, static_cast<int64_t>(whole));
}

}  // namespace

std::optional<Expr> fold_operation(ExprOp op, DType dtype, const std::vector<Expr>& constants) {
  const auto is_constant = [](const Expr& e) { return e->op == ExprOp::constant; };
  if (constants.empty() || !std::all_of(constants.begin(), constants.end(), is_constant)) {
    return std::nullopt;
  }
  const Expr& a = constants.front();
  if (op == ExprOp::cast) return fold_cast(dtype, a);
  if (op == ExprOp::select) return constants[a->int_value != 0 ? 1 : 2];
  const Expr& b = constants.back();
  if (is_float(a.dtype())) return fold_floats(op, dtype, a->float_value, b->float_value);
  return fold_integers(op, dtype, a->int_value, b->int_value);
}

Expr fold_scalars(const Expr& root) {
  return transform(root, [](const Expr& e) {
    return fold_operation(e->op, e.dtype(), e->args).value_or(Expr());
  });
}

}  // namespace emulsion
