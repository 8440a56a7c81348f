#ifndef EMULSION_BACKENDS_HALIDE_CLAMPED_VECTORS_H_
#define EMULSION_BACKENDS_HALIDE_CLAMPED_VECTORS_H_

// Vectors of neighbours of which some lanes are beyond an edge and read its element again: what a
// read outside of a domain is clamped to. Element by element they would be gathered.

#include "Halide.h"

namespace emulsion {

// The same values: a masked vector (of every second or third element, several with what is between)
// and, in the lanes beyond, the one element that the first or the last of them reads.
//
//   x[max(min(ramp(i, 1, 16), N - 1), 0)]
//     ->  select(ramp < 0, x[edge of lane 0], select(ramp > N - 1, x[edge of lane 15],
//                                                    x[ramp] where 0 <= ramp <= N - 1))
//
// A load that is masked already is so treated when its mask is one of the first lanes: what a tail
// leaves. Where the guard of what may be empty does not hold, select(W > 0, index, 0), nothing is
// read: the value is not used (safe_indices of emit_uop.cc). `least_bits`: of the elements of which
// the vector unit can mask some.
Halide::Internal::Stmt mask_clamped_vectors(const Halide::Internal::Stmt& statement,
                                            int least_bits);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_CLAMPED_VECTORS_H_
