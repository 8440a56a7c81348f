#ifndef EMULSION_BACKENDS_HALIDE_VECTOR_MATH_H_
#define EMULSION_BACKENDS_HALIDE_VECTOR_MATH_H_

// exp, log, pow, tanh and erf of floats. Of f32 they are ours: Halide's exp and log turn NaN and
// infinity into numbers, its tanh is a call for every element, its erf loses bits. Every operation
// in them is strict, so one value has one result, in scalar and in vector code, on every target
// that has fused multiply-adds (`has_fma`), and one on all that have none. Of f64 they are libm's,
// element by element.
//
// Bounds, by function_errors_test: 4 units in the last place, of log 1, of exp 2; of pow 0.501, by
// vector_math_test: it is computed in f64, so what is a float comes out exactly. Subnormal results
// are included.

#include "Halide.h"

namespace emulsion {

Halide::Expr float_exp(const Halide::Expr& x, bool has_fma);
// The same bits of an f32 that is not above 0, in fewer instructions.
Halide::Expr exp_of_nonpositive(const Halide::Expr& x, bool has_fma);
Halide::Expr float_log(const Halide::Expr& x, bool has_fma);
Halide::Expr float_pow(const Halide::Expr& x, const Halide::Expr& y);
Halide::Expr float_tanh(const Halide::Expr& x, bool has_fma);
Halide::Expr float_erf(const Halide::Expr& x, bool has_fma);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_VECTOR_MATH_H_
