#ifndef EMULSION_PASSES_REWRITE_FOLD_SCALARS_H_
#define EMULSION_PASSES_REWRITE_FOLD_SCALARS_H_

// What an expression without axes and reads is worth, where every kernel has to agree on the bits:
// IEEE's exactly rounded operations (+ - * / sqrt, signs, minima, comparisons, casts) and integers.
// exp, log, tanh, erf and pow are left alone: a kernel has a polynomial of its own for them.

#include <optional>

#include "dsl/expr.h"

namespace emulsion {

// The constant that `op` makes of constants, `dtype` its type (of a cast: the type that is cast
// to); nothing where the bits are a kernel's own, or where the i32 that comes out does not fit.
std::optional<Expr> fold_operation(ExprOp op, DType dtype, const std::vector<Expr>& constants);

// The same for all operations in `root` that have only constants below them; the same node when
// there are none.
Expr fold_scalars(const Expr& root);

}  // namespace emulsion

#endif  // EMULSION_PASSES_REWRITE_FOLD_SCALARS_H_
