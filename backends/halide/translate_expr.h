#ifndef EMULSION_BACKENDS_HALIDE_TRANSLATE_EXPR_H_
#define EMULSION_BACKENDS_HALIDE_TRANSLATE_EXPR_H_

// Emulsion's scalar expressions as Halide's. What names mean is the caller's: this file knows
// operators only.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "Halide.h"
#include "dsl/affine.h"
#include "dsl/expr.h"

namespace emulsion {

struct HalideScope {
  std::function<Halide::Expr(const std::string& name)> axis;
  std::function<Halide::Expr(const std::string& name)> size;
  // How large the value of an axis may be, where that is a number.
  std::function<std::optional<int64_t>(const std::string& name)> most_of_axis;
  // One element of a buffer; indices row-major, as in the read.
  std::function<Halide::Expr(const ExprNode& read, const std::vector<Halide::Expr>& indices)> read;
  // The extents of all axes, where they are known: what data move around wraps around once then.
  const AxisExtents* extents = nullptr;
  // Whether functions may use fused multiply-adds.
  bool has_fma = false;
};

// A shared subexpression becomes a shared Halide expression.
Halide::Expr translate_expr(const Expr& expr, const HalideScope& scope);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_TRANSLATE_EXPR_H_
