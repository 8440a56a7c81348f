#include "backends/halide/lanes_in_front.h"

#include <utility>

#include "backends/halide/equal_indices.h"
#include "backends/halide/one_lane.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;

class WithoutClamps : public hi::IRMutator {
 public:
  explicit WithoutClamps(const Front& front) : front_(front) {}

 private:
  using hi::IRMutator::visit;

  Halide::Expr visit(const hi::Min* op) override {
    const auto* bound = op->b.as<hi::Broadcast>();
    const Halide::Expr index = hi::remove_likelies(op->a);
    const bool is_of_front = bound != nullptr && is_as_far(index, bound->value);
    return is_of_front ? mutate(index) : hi::IRMutator::visit(op);
  }

  // Whether each lane is as far from the bound as its place is from the last one.
  bool is_as_far(const Halide::Expr& index, const Halide::Expr& bound) const {
    for (int lane = 0; lane < index.type().lanes(); ++lane) {
      const Halide::Expr at = one_lane(index, lane), place = one_lane(front_.places, lane);
      if (!at.defined() || !place.defined()) return false;
      if (!are_equal_indices(bound - at, front_.last - place)) return false;
    }
    return true;
  }

  const Front& front_;
};

}  // namespace

std::optional<Front> front_of(const Halide::Expr& condition) {
  const auto* less = condition.as<hi::LT>();
  const auto* most = condition.as<hi::LE>();
  if (less == nullptr && most == nullptr) return std::nullopt;
  const Halide::Expr places = hi::unwrap_tags(less != nullptr ? less->a : most->a);
  const auto* end = hi::unwrap_tags(less != nullptr ? less->b : most->b).as<hi::Broadcast>();
  if (end == nullptr || !places.type().is_int()) return std::nullopt;
  return Front{condition, places, less != nullptr ? end->value - 1 : end->value};
}

std::optional<Halide::Expr> last_lane_of(const Front& front) {
  const auto* ramp = front.places.as<hi::Ramp>();
  if (ramp == nullptr || !hi::is_const_one(ramp->stride)) return std::nullopt;
  return front.last - ramp->base;
}

void add_fronts(const Halide::Expr& condition, std::vector<Front>* fronts) {
  const Halide::Expr plain = hi::unwrap_tags(condition);
  if (const auto* both = plain.as<hi::And>()) {
    add_fronts(both->a, fronts);
    add_fronts(both->b, fronts);
  } else if (std::optional<Front> front = front_of(plain)) {
    fronts->push_back(*std::move(front));
  }
}

Halide::Expr without_clamps(const Halide::Expr& index, const Front& front) {
  return WithoutClamps(front).mutate(index);
}

}  // namespace emulsion
