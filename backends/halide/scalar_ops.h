#ifndef EMULSION_BACKENDS_HALIDE_SCALAR_OPS_H_
#define EMULSION_BACKENDS_HALIDE_SCALAR_OPS_H_

// Scalar operators as Emulsion means them, on Halide's expressions. Halide's own operators treat
// floats as reals: x * 0 is 0, x - x is 0, max drops a NaN. Here every float operator is Halide's
// strict one, so kernels are IEEE to the bit, NaN and infinities pass through, and scalar and
// vector code agree.
//
// Strict operators are never fused into an FMA, so a contraction asks for it by name:
// fused_multiply_add.

#include "Halide.h"
#include "dsl/expr.h"
#include "dsl/types.h"

namespace emulsion {

Halide::Type halide_type(DType dtype);

// Any ExprOp of one argument but cast. exp, log, tanh, erf: vector_math.h, which says what
// `has_fma` changes; `is_bounded`: an f32 `a` is never above 0.
Halide::Expr halide_unary(ExprOp op, const Halide::Expr& a, bool has_fma = false,
                          bool is_bounded = false);
// Any ExprOp of two arguments; both of the same type. pow: vector_math.h.
Halide::Expr halide_binary(ExprOp op, const Halide::Expr& a, const Halide::Expr& b);
// add, sub or mul of i32 whose result i32 may not hold: it wraps around, which is what an
// unspecified result is then. Halide and LLVM take an i32 for a number that never leaves its type.
// They would know of the product of two u16 that it is not negative and drop the clamp around it,
// which keeps an index inside its tensor.
Halide::Expr halide_wrapping(ExprOp op, const Halide::Expr& a, const Halide::Expr& b);
// Float to an integer truncates; what the type does not hold saturates, NaN gives 0. To bool:
// whether it is not zero.
Halide::Expr halide_cast(DType to, const Halide::Expr& a);
// a * b + c, rounded once. Only for a target with FMA: elsewhere it would be a library call per
// element.
Halide::Expr fused_multiply_add(const Halide::Expr& a, const Halide::Expr& b,
                                const Halide::Expr& c);
bool is_fused_multiply_add(const Halide::Internal::Call& call);
Halide::Expr halide_is_nan(const Halide::Expr& a);
// A select by data. Halide's partition of loops would end a loop where they say: it would leave out
// what is of a NaN, and the steps behind the greatest i32 would start at the lowest one. It leaves
// a select alone of which both sides are likely.
Halide::Expr halide_select(const Halide::Expr& condition, const Halide::Expr& a,
                           const Halide::Expr& b);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_SCALAR_OPS_H_
