#ifndef EMULSION_BACKENDS_HALIDE_CLAMPED_VECTORS_H_
#define EMULSION_BACKENDS_HALIDE_CLAMPED_VECTORS_H_

// Loads of vectors of neighbours whose index is clamped: lanes beyond an edge of a tensor read the
// element at the edge. They would be gathered.

#include "Halide.h"

namespace emulsion {

// The same values, by a masked load of the lanes inside, and one load of the element at each edge:
//
//   x[max(min(ramp(i, 1, 16), N - 1), 0)]
//     ->  select(ramp < 0, x[edge of lane 0], select(ramp > N - 1, x[edge of lane 15],
//                                                    x[ramp] where 0 <= ramp <= N - 1))
//
// The last step of sums in lanes uses the load only in the lanes in front of the end,
// select(ramp < N, x[..], 0): the element at the end is not loaded then. Of every second to fourth
// element all that lies between is loaded too. A tail may mask the load already, up to some lane. A
// guard of a tensor that may be empty, select(W > 0, index, 0), becomes a mask: without elements
// nothing is read, and no lane's value is used (safe_indices of emit_uop.cc). `least_bits`: of the
// smallest elements that the vector unit can mask.
Halide::Internal::Stmt mask_clamped_vectors(const Halide::Internal::Stmt& statement,
                                            int least_bits);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_CLAMPED_VECTORS_H_
