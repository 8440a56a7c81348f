#ifndef EMULSION_PASSES_NEST_CHOSEN_PLACES_H_
#define EMULSION_PASSES_NEST_CHOSEN_PLACES_H_

// Combinations of which each term goes to one place along an axis of the result:
//
//   y[c, d] = sum(m) select(which[m] == c, x[m, d], 0)
//   counts[c] = sum(m) cast(i32, which[m] == c)
//
// All other steps along that axis combine an element with the identity, which leaves it as it is:
// a sum starts from 0 and is never -0. So a loop over the axis needs no more than the one step.

#include <optional>
#include <string>
#include <vector>

#include "dsl/expr.h"

namespace emulsion {

// A body that is combined where the condition holds; elsewhere it is the identity.
struct ChosenTerm {
  Expr condition, value;
};
std::optional<ChosenTerm> chosen_term(const Expr& body, Combiner combiner);

// That the condition can hold at one place of the axis alone.
struct ChosenPlace {
  std::string axis;
  Expr place;  // i32; the axis is not in it
};
// Those of a body of that combiner that reads data to choose, one for an axis at most. The axes are
// of the result.
std::vector<ChosenPlace> chosen_places(const Expr& body, Combiner combiner,
                                       const std::vector<Axis>& axes);

}  // namespace emulsion

#endif  // EMULSION_PASSES_NEST_CHOSEN_PLACES_H_
