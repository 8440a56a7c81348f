#ifndef EMULSION_PASSES_REWRITE_FOLD_SCALARS_H_
#define EMULSION_PASSES_REWRITE_FOLD_SCALARS_H_

// What operations make of numbers, where every kernel has to agree on the bits: IEEE's exactly
// rounded ones (+ - * / sqrt, signs, minima, comparisons, casts) and integers. Left alone are exp,
// log, tanh, erf and pow, for which a kernel has polynomials of its own, whatever makes a NaN, the
// smaller and the larger of +0 and -0, and an i32 that does not fit.

#include <cstdint>
#include <optional>

#include "dsl/expr.h"

namespace emulsion {

struct Number {
  DType dtype = DType::i32;
  double float_value = 0;  // of a float type
  int64_t int_value = 0;   // of any other
};

// A constant's. Nothing of a NaN.
std::optional<Number> number_of(const Expr& constant);
Expr constant_of(const Number& number);

// `dtype`: of the result. `numbers`: the arguments, one to three.
std::optional<Number> fold_operation(ExprOp op, DType dtype, const Number* numbers);

// Folds all operations in `root` that have only constants below them; the same node when there are
// none.
Expr fold_scalars(const Expr& root);

}  // namespace emulsion

#endif  // EMULSION_PASSES_REWRITE_FOLD_SCALARS_H_
