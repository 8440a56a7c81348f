#ifndef EMULSION_BACKENDS_HALIDE_WRAPPED_VECTORS_H_
#define EMULSION_BACKENDS_HALIDE_WRAPPED_VECTORS_H_

// Loads of vectors of neighbours from both ends of a row, of which one follows the other: a row
// that is rotated by what data say (x[(i + d[]) % W]), or whose index is chosen so. They would be
// gathered.

#include <map>
#include <string>

#include "Halide.h"

namespace emulsion {

// The same values, by one load where all lanes are on one side of the end, and by two under masks
// where they are not:
//
//   x[ramp(i, 1, 16) + select(ramp(i, 1, 16) < n, a, b)]
//     ->  if i + 15 < n || i >= n: x[ramp(i + select(i < n, a, b), 1, 16)]
//         else: select(ramp(i, 1, 16) < n, x[ramp(i + a, 1, 16)], x[ramp(i + b, 1, 16)])
//
// An index that is clamped in addition is one load where no lane is at a clamp. Of those that are
// only clamped, clamped_vectors.h makes more. To be run on vectors, before that. `least_bits`: of
// the smallest elements that the vector unit can mask.
Halide::Internal::Stmt mask_wrapped_vectors(const Halide::Internal::Stmt& statement,
                                            int least_bits);

// Of smaller elements, the same without masks: all lanes of both sides are loaded where both lie in
// the memory, whose elements `elements` counts (clamped_vectors.h). Others stay as they were, and
// so do vectors that have masks of their own. To be run where load_whole_vectors() is.
Halide::Internal::Stmt load_wrapped_vectors(const Halide::Internal::Stmt& statement, int least_bits,
                                            const std::map<std::string, Halide::Expr>& elements);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_WRAPPED_VECTORS_H_
