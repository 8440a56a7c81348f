#ifndef EMULSION_BACKENDS_HALIDE_FIRST_LANES_H_
#define EMULSION_BACKENDS_HALIDE_FIRST_LANES_H_

// Masks of the lanes of a vector that lie in front of an end.

#include <optional>

#include "Halide.h"

namespace emulsion {

// The last lane for which a condition holds that neighbours are in front of an end, or at it, which
// is the same for all: ramp < end, ramp <= last. It may be before the first lane or behind all.
std::optional<Halide::Expr> last_lane_of(const Halide::Expr& condition);

// Of a mask how many lanes it has, when these are the first ones: all of them, or those before an
// end; none where that is zero or less.
std::optional<Halide::Expr> first_lanes(const Halide::Expr& mask, int lanes);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_FIRST_LANES_H_
