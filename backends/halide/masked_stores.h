#ifndef EMULSION_BACKENDS_HALIDE_MASKED_STORES_H_
#define EMULSION_BACKENDS_HALIDE_MASKED_STORES_H_

// Stores of the first lanes of a vector, as at the end of a row, where the vector unit cannot mask
// elements so small, so that each lane would be a branch and a store, or takes long for it.

#include "Halide.h"

namespace emulsion {

// As a whole, or in parts of half the length, a quarter, ..:
//
//   y[ramp(i, 1, 16)] = f where ramp(0) < n
//     ->  let v = f
//         if n >= 16: y[ramp(i, 1, 16)] = v
//         else: if n & 8: y[ramp(i, 1, 8)] = v's first 8 lanes
//               let v4 = n & 8 ? v's last 8 lanes : its first ones
//               if n & 4: y[ramp(i + (n & 8), 1, 4)] = v4's first 4 lanes
//               ..
//
// Other masks and lanes that are no power of two stay. `least_bits`: of the smallest elements that
// the vector unit masks well.
Halide::Internal::Stmt store_masked_parts(const Halide::Internal::Stmt& statement, int least_bits);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_MASKED_STORES_H_
