#ifndef EMULSION_BACKENDS_HALIDE_RAMP_INDICES_H_
#define EMULSION_BACKENDS_HALIDE_RAMP_INDICES_H_

// Indices that are a place and data, of which all lanes of a vector have the same: x[i + at[]].
// They are added up modulo 2^32 (scalar_ops.h), as numbers that are data are, and Halide, which
// does not see that such lanes lie side by side, would load them one by one.

#include "Halide.h"

namespace emulsion {

// In loads of vectorized statements:
//   x[i32(u32(ramp(i, 1, 16)) + x16(u32(at[0])))]  ->  x[ramp(i32(u32(i) + u32(at[0])), 1, 16)]
// The lanes are the same numbers. None of them wraps around, since each is a place of memory.
Halide::Internal::Stmt ramp_indices(const Halide::Internal::Stmt& statement);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_RAMP_INDICES_H_
