#ifndef EMULSION_BACKENDS_HALIDE_RAMP_INDICES_H_
#define EMULSION_BACKENDS_HALIDE_RAMP_INDICES_H_

// Indices that are a place and data, of which all lanes of a vector have the same: x[i + at[]].
// They are added up modulo 2^32 (scalar_ops.h), as numbers that are data are, and Halide, which
// does not see that such lanes lie side by side, would load them one by one.

#include <cstdint>
#include <optional>

#include "Halide.h"

namespace emulsion {

// base, base + stride, base + 2 stride, ..: both of 32 bits without a sign, modulo 2^32.
struct LaneSteps {
  Halide::Expr base;
  uint32_t stride;
};

// Those of the sum, the difference or the product of two vectors; nothing where the lanes of that
// are not a step apart.
std::optional<LaneSteps> sum_of_steps(const LaneSteps& a, const LaneSteps& b);
std::optional<LaneSteps> difference_of_steps(const LaneSteps& a, const LaneSteps& b);
std::optional<LaneSteps> product_of_steps(const LaneSteps& a, const LaneSteps& b);
// Of a ramp, or of what is the same in all lanes, of integers of 32 bits.
std::optional<LaneSteps> steps_of_ramp(const Halide::Expr& vector);

// In loads of vectorized statements:
//   x[i32(u32(ramp(i, 1, 16)) + x16(u32(at[0])))]  ->  x[ramp(i32(u32(i) + u32(at[0])), 1, 16)]
// The lanes are the same numbers. None of them wraps around, since each is a place of memory.
Halide::Internal::Stmt ramp_indices(const Halide::Internal::Stmt& statement);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_RAMP_INDICES_H_
