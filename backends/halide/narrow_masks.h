#ifndef EMULSION_BACKENDS_HALIDE_NARROW_MASKS_H_
#define EMULSION_BACKENDS_HALIDE_NARROW_MASKS_H_

// Masks of vectors of 8 and 16 bits in lanes of as many bits. A place is an i32: compared as such,
// a mask of 32 bytes would be four vectors that have to become one.

#include "Halide.h"

namespace emulsion {

// In choices among such vectors, and in the masks of their loads and stores, what is compared with
// neighbours:
//
//   select(ramp(i, 1, 32) < x32(n), a, b)
//     ->  select(ramp(0, 1, 32) < x32(i8(max(min(n - i, 32), 0))), a, b)     a ramp of i8
//
// Where data is in n or i, the difference is an i64.
Halide::Internal::Stmt narrow_masks(const Halide::Internal::Stmt& statement);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_NARROW_MASKS_H_
