#ifndef EMULSION_BACKENDS_HALIDE_INTERLEAVINGS_H_
#define EMULSION_BACKENDS_HALIDE_INTERLEAVINGS_H_

// Vectors that are made of every second lane, and of the others: of k % 2 and k / 2 of lanes
// Halide's pass computes either half by itself.

#include "Halide.h"

namespace emulsion {

// That pass, where it is of use. Not of what adds up lanes: that is one element, and has no lane
// then. Nor of a store of what is loaded by quotients and remainders in one index: its lanes read
// near one another, in an order of their own, and are shuffled out of one load (shuffled_loads.h).
//
//   y[ramp(i, 1, 64)] = x[ramp(i, 1, 64) / 8 * 4 + ramp(i, 1, 64) % 4]
Halide::Internal::Stmt with_interleavings(const Halide::Internal::Stmt& statement);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_INTERLEAVINGS_H_
