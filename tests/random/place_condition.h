#ifndef EMULSION_TESTS_RANDOM_PLACE_CONDITION_H_
#define EMULSION_TESTS_RANDOM_PLACE_CONDITION_H_

#include "dsl/expr.h"

namespace emulsion {

constexpr int kPlaceConditions = 6;

// Of the place along an axis with an extent: the condition with this number, in front of
// kPlaceConditions.
inline Expr place_condition(int number, const Axis& axis, int place) {
  switch (number) {
    case 0:
      return axis < place;
    case 1:
      return axis % 2 == 0;
    case 2:
      return axis == axis.extent() - 1;
    case 3:
      return axis >= 1 && axis < axis.extent() - 1;
    case 4:
      return axis == 0 || axis >= place;
    default:
      return axis > place;
  }
}

}  // namespace emulsion

#endif  // EMULSION_TESTS_RANDOM_PLACE_CONDITION_H_
