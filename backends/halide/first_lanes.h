#ifndef EMULSION_BACKENDS_HALIDE_FIRST_LANES_H_
#define EMULSION_BACKENDS_HALIDE_FIRST_LANES_H_

// Masks of the lanes of a vector that lie in front of an end.

#include <optional>

#include "Halide.h"

namespace emulsion {

// Of a mask how many lanes it has, when these are the first ones: all of them, or those before an
// end; none where that is zero or less.
std::optional<Halide::Expr> first_lanes(const Halide::Expr& mask, int lanes);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_FIRST_LANES_H_
