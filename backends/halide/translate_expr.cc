#include "backends/halide/translate_expr.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <unordered_map>

#include "backends/halide/scalar_ops.h"
#include "dsl/error.h"
#include "dsl/types.h"
#include "passes/index/index_table.h"
#include "passes/nest/bounded_exponent.h"

namespace emulsion {
namespace {

// What is known of the values of an integer expression.
struct Magnitude {
  int64_t most = 0;      // no absolute value is greater
  bool of_data = false;  // made of what was read: of indices alone nothing leaves i32
};

int64_t most_of_type(DType type) {
  const IntegerRange range = integer_range(type);
  return std::max(range.highest, -range.lowest);
}

int64_t most_of(ExprOp op, int64_t a, int64_t b) {
  int64_t product = 0;
  switch (op) {
    case ExprOp::add:
    case ExprOp::sub:
      return a + b;
    case ExprOp::mul:
      return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
    case ExprOp::mod:
      return std::min(a, b);
    case ExprOp::min:
    case ExprOp::max:
      return std::max(a, b);
    default:  // neg, abs, div
      return a;
  }
}

class Translator {
 public:
  explicit Translator(const HalideScope& scope) : scope_(scope) {}

  const Halide::Expr& translate(const Expr& expr) {
    auto known = done_.find(&expr.node());
    if (known != done_.end()) return known->second;
    Halide::Expr result = translate_new(expr.node());
    EMULSION_CHECK(result.type() == halide_type(expr.dtype()), "{}: a value of another type",
                   to_string(expr));
    return done_.emplace(&expr.node(), result).first->second;
  }

 private:
  Halide::Expr translate_new(const ExprNode& node) {
    switch (node.op) {
      case ExprOp::constant:
        return literal(node);
      case ExprOp::axis:
        return scope_.axis(node.name);
      case ExprOp::size:
        return scope_.size(node.name);
      case ExprOp::read:
        return scope_.read(node, translate_all(node.args));
      case ExprOp::cast:
        return halide_cast(node.dtype, translate(node.args[0]));
      case ExprOp::select: {
        std::vector<Halide::Expr> args = translate_all(node.args);
        if (is_index(node.args[0])) return Halide::select(args[0], args[1], args[2]);
        return halide_select(args[0], args[1], args[2]);
      }
      default:
        break;
    }
    if (node.op == ExprOp::exp) {
      const Halide::Expr exponent = translate(without_proved_bound(node.args[0]));
      return halide_unary(node.op, exponent, scope_.has_fma, is_bounded_exponent(node.args[0]));
    }
    std::vector<Halide::Expr> args = translate_all(node.args);
    if (may_wrap(node)) {
      if (args.size() == 2) return halide_wrapping(node.op, args[0], args[1]);
      return halide_wrapping(ExprOp::sub, Halide::Internal::make_zero(args[0].type()), args[0]);
    }
    if (args.size() == 2) return halide_binary(node.op, args[0], args[1]);
    return halide_unary(node.op, args[0], scope_.has_fma);
  }

  // Whether i32 may not hold the result: of the narrower types Halide's wrap by themselves.
  bool may_wrap(const ExprNode& node) {
    const bool computes = node.op == ExprOp::add || node.op == ExprOp::sub ||
                          node.op == ExprOp::mul || node.op == ExprOp::neg;
    if (!computes || node.dtype != i32) return false;
    int64_t most = 0;
    bool of_data = false;
    for (const Expr& argument : node.args) {
      const Magnitude of = magnitude(argument);
      of_data = of_data || of.of_data;
      most = &argument == node.args.data() ? of.most : most_of(node.op, most, of.most);
    }
    return of_data && most > integer_range(i32).highest;
  }

  Magnitude magnitude(const Expr& expr) {
    const auto known = magnitudes_.find(&expr.node());
    if (known != magnitudes_.end()) return known->second;
    return magnitudes_.emplace(&expr.node(), new_magnitude(expr.node())).first->second;
  }

  Magnitude new_magnitude(const ExprNode& node) {
    if (is_float(node.dtype)) return {0, true};
    if (node.op == ExprOp::constant) return {std::abs(node.int_value), false};
    const int64_t of_type = most_of_type(node.dtype);
    if (node.op == ExprOp::read) return {of_type, true};
    Magnitude result;
    const size_t first = node.op == ExprOp::select ? 1 : 0;
    for (size_t i = 0; i < node.args.size(); ++i) {
      const Magnitude of = magnitude(node.args[i]);
      result.of_data = result.of_data || of.of_data;
      if (i <= first) {
        result.most = of.most;
      } else {
        result.most = most_of(first == 1 ? ExprOp::max : node.op, result.most, of.most);
      }
    }
    const bool from_float = node.op == ExprOp::cast && is_float(node.args[0].dtype());
    const bool unknown = node.args.empty() || from_float || result.most > of_type;
    if (unknown || node.dtype == DType::boolean) result.most = of_type;
    return result;
  }

  static Halide::Expr literal(const ExprNode& node) {
    Halide::Type type = halide_type(node.dtype);
    if (is_float(node.dtype)) return Halide::Internal::make_const(type, node.float_value);
    return Halide::Internal::make_const(type, node.int_value);
  }

  std::vector<Halide::Expr> translate_all(const std::vector<Expr>& exprs) {
    std::vector<Halide::Expr> result;
    result.reserve(exprs.size());
    for (const Expr& expr : exprs) result.push_back(translate(expr));
    return result;
  }

  const HalideScope& scope_;
  std::unordered_map<const ExprNode*, Halide::Expr> done_;
  std::unordered_map<const ExprNode*, Magnitude> magnitudes_;
};

}  // namespace

Halide::Expr translate_expr(const Expr& expr, const HalideScope& scope) {
  return Translator(scope).translate(expr);
}

}  // namespace emulsion
