#ifndef EMULSION_BACKENDS_HALIDE_LANES_IN_FRONT_H_
#define EMULSION_BACKENDS_HALIDE_LANES_IN_FRONT_H_

// Lanes of a vector that lie in front of an end: of others no value is used. What a clamp at that
// end makes of an index concerns no lane in front of it.

#include <optional>
#include <vector>

#include "Halide.h"

namespace emulsion {

// The lanes in which places <= last, which is the same for all: what `condition` says.
struct Front {
  Halide::Expr condition, places, last;
};

// Those that a condition says; nothing of others.
std::optional<Front> front_of(const Halide::Expr& condition);
// Of neighbours the last of these lanes. It may be before the first lane or behind all.
std::optional<Halide::Expr> last_lane_of(const Front& front);
// Adds those that the parts of a condition say.
void add_fronts(const Halide::Expr& condition, std::vector<Front>* fronts);

// The index without the clamps that no lane in front is beyond; itself where it has none.
//   min(ramp / 6 + r, R - 1) * 6 + ramp % 6 in front of ramp / 6 + r < R
//     ->  (ramp / 6 + r) * 6 + ramp % 6
Halide::Expr without_clamps(const Halide::Expr& index, const Front& front);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_LANES_IN_FRONT_H_
