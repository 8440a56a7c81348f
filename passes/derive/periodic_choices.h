#ifndef EMULSION_PASSES_DERIVE_PERIODIC_CHOICES_H_
#define EMULSION_PASSES_DERIVE_PERIODIC_CHOICES_H_

// What is computed by turns: pairs that are rotated, a row of the one and a row of the other.
// Vectors along such an axis, and loops over it, would compute all choices at each step.
//
//   y[i] = select(i % 2 == 0, a[i / 2], b[i / 2])  as  y'[i, turn] = select(turn == 0, a[i], b[i])
//
// The schedule says so by `split`: the turn is an axis of its own then, of the values of a pixel or
// of planes, whose steps are known where they are computed.

#include <optional>
#include <vector>

#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "dsl/target.h"

namespace emulsion {

struct PeriodicAxis {
  Axis axis, turn;  // the loops that it becomes, `axis` with as many steps as there are periods
};

struct PeriodicChoices {
  Op view;  // the operation, as if its tensor had the axes of the turns
  std::vector<PeriodicAxis> axes;

  // The loops of `view`; before all other directives on the stage's loops.
  void split(StageSchedule* stage) const;
};

// The axes of an operation by whose turns alone, two to four of them, it chooses somewhere what it
// computes; nothing where there is none. A period that may not divide its axis is left alone, and
// so is one of the last axis where vectors would not go along the periods.
std::optional<PeriodicChoices> split_periods(const Op& op, const Target& target);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_PERIODIC_CHOICES_H_
