#include "backends/halide/first_lanes.h"

#include "backends/halide/lanes_in_front.h"

namespace emulsion {

namespace hi = Halide::Internal;

std::optional<Halide::Expr> first_lanes(const Halide::Expr& mask, int lanes) {
  if (hi::is_const_one(mask)) return Halide::Expr(lanes);
  const std::optional<Front> front = front_of(hi::unwrap_tags(mask));
  const std::optional<Halide::Expr> last = front ? last_lane_of(*front) : std::nullopt;
  return last ? std::optional(min(*last + 1, lanes)) : std::nullopt;
}

}  // namespace emulsion
