#include "passes/nest/bounded_exponent.h"

namespace emulsion {

bool is_bounded_exponent(const Expr& e) {
  return e->op == ExprOp::min && e->dtype == DType::f32 && e->args[1]->op == ExprOp::constant &&
         e->args[1]->float_value <= 0;
}

Expr bounded_exponent(const Expr& e) { return min(e, Expr(0.0f)); }

}  // namespace emulsion
