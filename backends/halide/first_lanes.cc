#include "backends/halide/first_lanes.h"

namespace emulsion {

namespace hi = Halide::Internal;

std::optional<Halide::Expr> last_lane_of(const Halide::Expr& condition) {
  const auto* less = condition.as<hi::LT>();
  const auto* most = condition.as<hi::LE>();
  if (less == nullptr && most == nullptr) return std::nullopt;
  const auto* ramp = hi::unwrap_tags(less != nullptr ? less->a : most->a).as<hi::Ramp>();
  const auto* end = hi::unwrap_tags(less != nullptr ? less->b : most->b).as<hi::Broadcast>();
  if (ramp == nullptr || end == nullptr || !hi::is_const_one(ramp->stride)) return std::nullopt;
  return end->value - ramp->base - (less != nullptr ? 1 : 0);
}

std::optional<Halide::Expr> first_lanes(const Halide::Expr& mask, int lanes) {
  if (hi::is_const_one(mask)) return Halide::Expr(lanes);
  const std::optional<Halide::Expr> last = last_lane_of(hi::unwrap_tags(mask));
  return last ? std::optional(min(*last + 1, lanes)) : std::nullopt;
}

}  // namespace emulsion
