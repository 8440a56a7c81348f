#include "backends/halide/translate_expr.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <unordered_map>
#include <vector>

#include "backends/halide/scalar_ops.h"
#include "dsl/error.h"
#include "dsl/types.h"
#include "passes/index/index_table.h"
#include "passes/index/moved_index.h"
#include "passes/nest/bounded_exponent.h"

namespace emulsion {
namespace {

// What is known of the values of an integer expression.
struct Magnitude {
  int64_t most = 0;      // no absolute value is greater
  int64_t of_ones = 0;   // the same, were all sizes 1, and what has sizes as extents
  bool of_data = false;  // made of what was read
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
    case ExprOp::eq:
    case ExprOp::ne:
      return a + b;
    case ExprOp::mul:
      return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
    case ExprOp::mod:  // 2 % -7 is -5
      return b;
    case ExprOp::min:
    case ExprOp::max:
      return std::max(a, b);
    default:  // neg, abs, div
      return a;
  }
}

// Also of the lowest number and -1.
Halide::Expr quotient_of_any(ExprOp op, const Halide::Expr& a, const Halide::Expr& b) {
  const Halide::Type bits = b.type().with_code(Halide::Type::UInt);
  const Halide::Expr by_minus_one = Halide::reinterpret(bits, b) == bits.max();
  const Halide::Expr zero = Halide::Internal::make_zero(a.type());
  return Halide::select(by_minus_one,
                        op == ExprOp::div ? halide_wrapping(ExprOp::sub, zero, a) : zero,
                        halide_binary(op, a, Halide::select(by_minus_one, 1, b)));
}

class Translator {
 public:
  explicit Translator(const HalideScope& scope) : scope_(scope) {}

  const Halide::Expr& translate(const Expr& expr) {
    auto known = done_.find(&expr.node());
    if (known != done_.end()) return known->second;
    const Halide::Expr around = moved_around(expr);
    const Halide::Expr result = around.defined() ? around : translate_new(expr.node());
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
    if (may_trap(node)) return quotient_of_any(node.op, args[0], args[1]);
    if (has_wide_difference(node)) {
      // Of numbers that are compared Halide computes the difference.
      const Halide::Type bits = args[0].type().with_code(Halide::Type::UInt);
      for (Halide::Expr& arg : args) arg = Halide::reinterpret(bits, arg);
    }
    if (args.size() == 2) return halide_binary(node.op, args[0], args[1]);
    return halide_unary(node.op, args[0], scope_.has_fma);
  }

  // Of a place that data move around a ring, one remainder for all places. Undefined of others.
  //   (i + d[]) % n  ->  i - r + select(i < r, n, 0), r = n - d[] % n
  Halide::Expr moved_around(const Expr& expr) {
    if (scope_.extents == nullptr) return {};
    const std::optional<MovedIndex> index = moved_index(expr, *scope_.extents);
    if (!index || !index->around.defined()) return {};
    const Expr shift = index->moved % index->around;
    made_.insert(made_.end(), {shift, index->place});  // both are known by their address
    const Halide::Expr n = translate(index->around), rest = n - translate(shift);
    const Halide::Expr place = translate(index->place);
    return place - rest + Halide::select(place < rest, n, 0);
  }

  // Processors end a program that divides the lowest i32 by -1.
  bool may_trap(const ExprNode& node) {
    const bool divides = node.op == ExprOp::div || node.op == ExprOp::mod;
    if (!divides || node.dtype != i32 || node.args[1]->op == ExprOp::constant) return false;
    const Magnitude of = of_arguments(node);
    return of.of_data && magnitude(node.args[0]).most > integer_range(i32).highest;
  }

  // Whether two numbers are asked to be equal whose difference i32 may not hold.
  bool has_wide_difference(const ExprNode& node) {
    const bool compares = node.op == ExprOp::eq || node.op == ExprOp::ne;
    if (!compares || node.args[0].dtype() != i32) return false;
    const Magnitude of = of_arguments(node);
    return !of.of_data && of.of_ones > integer_range(i32).highest;
  }

  // Whether i32 may not hold the result: of the narrower types Halide's wrap by themselves. What
  // numbers make beyond i32 ends Halide, which computes it. What sizes make is taken to fit: it
  // decides where loops end.
  bool may_wrap(const ExprNode& node) {
    const bool computes = node.op == ExprOp::add || node.op == ExprOp::sub ||
                          node.op == ExprOp::mul || node.op == ExprOp::neg;
    // Halide turns the sign of a negative factor in a sum: of the lowest number for ever.
    if (node.op == ExprOp::mul && (node.dtype == i8 || node.dtype == i16)) return true;
    if (!computes || node.dtype != i32) return false;
    const Magnitude of = of_arguments(node);
    return (of.of_data ? of.most : of.of_ones) > integer_range(i32).highest;
  }

  // As if nothing wrapped around.
  Magnitude of_arguments(const ExprNode& node) {
    Magnitude result;
    const size_t first = node.op == ExprOp::select ? 1 : 0;
    const ExprOp op = first == 1 ? ExprOp::max : node.op;
    for (size_t i = 0; i < node.args.size(); ++i) {
      const Magnitude of = magnitude(node.args[i]);
      result.of_data = result.of_data || of.of_data;
      result.most = i <= first ? of.most : most_of(op, result.most, of.most);
      result.of_ones = i <= first ? of.of_ones : most_of(op, result.of_ones, of.of_ones);
    }
    return result;
  }

  Magnitude magnitude(const Expr& expr) {
    const auto known = magnitudes_.find(&expr.node());
    if (known != magnitudes_.end()) return known->second;
    return magnitudes_.emplace(&expr.node(), new_magnitude(expr.node())).first->second;
  }

  Magnitude new_magnitude(const ExprNode& node) {
    if (is_float(node.dtype)) return {0, 0, true};
    const int64_t of_type = most_of_type(node.dtype);
    if (node.op == ExprOp::read) return {of_type, of_type, true};
    if (node.op == ExprOp::constant) {
      const int64_t most = std::abs(node.int_value);
      return {most, most, false};
    }
    if (node.args.empty()) {
      const bool has_most = node.op == ExprOp::axis && scope_.most_of_axis;
      const auto most = has_most ? scope_.most_of_axis(node.name) : std::nullopt;
      return {most.value_or(of_type), most.value_or(1), false};
    }
    Magnitude result = of_arguments(node);
    const bool from_float = node.op == ExprOp::cast && is_float(node.args[0].dtype());
    const bool unknown = from_float || node.dtype == DType::boolean;
    if (unknown || result.most > of_type) result.most = of_type;
    if (unknown || result.of_ones > of_type) result.of_ones = of_type;
    return result;
  }

  static Halide::Expr literal(const ExprNode& node) {
    Halide::Type type = halide_type(node.dtype);
    if (is_float(node.dtype) && node.float_value == 0 && std::signbit(node.float_value)) {
      // By its bits: to Halide 0 and -0 are one number, and of two in a kernel it keeps one.
      const Halide::Type bits = type.with_code(Halide::Type::UInt);
      return Halide::reinterpret(
          type, Halide::Internal::make_const(bits, uint64_t{1} << (type.bits() - 1)));
    }
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
  std::vector<Expr> made_;
};

}  // namespace

Halide::Expr translate_expr(const Expr& expr, const HalideScope& scope) {
  return Translator(scope).translate(expr);
}

}  // namespace emulsion
