#ifndef EMULSION_BACKENDS_HALIDE_ONE_LANE_H_
#define EMULSION_BACKENDS_HALIDE_ONE_LANE_H_

// What one lane of a vector is.

#include "Halide.h"

namespace emulsion {

// Simplified. Of what is made of ramps, and of what is the same in all lanes; undefined of others.
Halide::Expr one_lane(const Halide::Expr& vector, int lane);
// A vector whose lanes are numbers one behind the other, as a ramp; undefined of others.
Halide::Expr ramp_of_neighbours(const Halide::Expr& vector);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_ONE_LANE_H_
