#include "passes/nest/bounded_exponent.h"

#include <memory>
#include <utility>

namespace emulsion {
namespace {

// Only axes, sizes and reads have names otherwise.
constexpr char kProved[] = "proved";

}  // namespace

bool is_bounded_exponent(const Expr& e) {
  return e->op == ExprOp::min && e->dtype == DType::f32 && e->args[1]->op == ExprOp::constant &&
         e->args[1]->float_value <= 0;
}

Expr bounded_exponent(const Expr& e) {
  auto node = std::make_shared<ExprNode>(min(e, Expr(0.0f)).node());
  node->name = kProved;
  return Expr(std::shared_ptr<const ExprNode>(std::move(node)));
}

Expr without_proved_bound(const Expr& exponent) {
  const bool is_proved = is_bounded_exponent(exponent) && exponent->name == kProved;
  return is_proved ? exponent->args[0] : exponent;
}

}  // namespace emulsion
