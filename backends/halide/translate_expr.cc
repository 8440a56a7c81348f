#include "backends/halide/translate_expr.h"

#include <unordered_map>

#include "backends/halide/scalar_ops.h"
#include "dsl/error.h"
#include "passes/index/index_table.h"
#include "passes/nest/bounded_exponent.h"

namespace emulsion {
namespace {

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
    if (args.size() == 2) return halide_binary(node.op, args[0], args[1]);
    return halide_unary(node.op, args[0], scope_.has_fma);
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
};

}  // namespace

Halide::Expr translate_expr(const Expr& expr, const HalideScope& scope) {
  return Translator(scope).translate(expr);
}

}  // namespace emulsion
