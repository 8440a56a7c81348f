#include "tests/random/gradient_indices.h"

namespace emulsion {

Expr index_along_equal(const Axis& axis, const std::vector<Axis>& axes, const Extent& extent,
                       RandomNumbers* random) {
  const int distance = random->between(1, 3);
  const Expr last = extent - 1;
  switch (random->below(16)) {
    case 0:
      return last - axis;
    case 1:
      return (axis + distance) % extent;
    case 2:
      return max(axis - distance, 0);
    case 3:
      return min(axis + distance, last);
    case 4:
      return select(axis == 0, last, axis - 1);
    case 5:
      return axis / random->between(2, 3);
    case 6:
      return clamp(min(abs(axis - distance), 2 * last - (axis - distance)), 0, last);
    case 7:
      return clamp(min(axis + distance, 2 * last - (axis + distance)), 0, last);
    case 8:
      return (axis + random->of(axes)) % extent;
    case 9:
      return axis / 2 * 2;
    default:
      return axis;
  }
}

Expr index_along_any(const Axis& axis, const Axis& other, const Extent& extent,
                     RandomNumbers* random) {
  const Expr last = extent - 1;
  const int offset = random->between(-3, 3);
  const auto number = extent.as_constant();
  switch (random->below(11)) {
    case 0:
      if (number) return axis % static_cast<int>(*number);
      return axis % extent;
    case 1:
      return clamp(axis + other + offset, 0, last);
    case 2:
      return clamp(axis - other + offset, 0, last);
    case 3:
      return clamp(max(Expr(axis), Expr(other)), 0, last);
    case 4:
      return min(max(axis * 2 + offset, 0), last);
    case 5:
      return clamp((axis + other * 2) / 3 + offset, 0, last);
    case 6:
      return clamp(abs(axis - other), 0, last);
    case 7:
      return clamp(select(axis < other, axis, other) + offset, 0, last);
    case 8:
      return (axis * 3 + other) % extent;
    case 9:
      return number ? Expr(random->below(static_cast<int>(*number))) : last;
    default:
      return clamp(axis * random->between(1, 2) + offset, 0, last);
  }
}

}  // namespace emulsion
