#ifndef EMULSION_BACKENDS_HALIDE_EQUAL_INDICES_H_
#define EMULSION_BACKENDS_HALIDE_EQUAL_INDICES_H_

// Whether two indices are the same, written otherwise: Halide's simplifier takes what it can out of
// a comparison, and leaves an index beside it as it was.

#include "Halide.h"

namespace emulsion {

// Whether two integer expressions are equal whatever their variables are, as sums of multiples tell
// it, in which a % n is a - a / n * n. False where that leaves it open.
//
//   (N / 64 * 4 + b) * 16 + N % 64 - N  and  b * 16
bool are_equal_indices(const Halide::Expr& a, const Halide::Expr& b);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_EQUAL_INDICES_H_
