#ifndef EMULSION_PASSES_DERIVE_DERIVE_POINTS_H_
#define EMULSION_PASSES_DERIVE_DERIVE_POINTS_H_

// The loops of a result that combines nothing, along the axes that fill vectors best: its own, or
// some that are one axis, as they lie in memory (merge_axes.h). Private to passes/derive/.

#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "dsl/target.h"

namespace emulsion {

// `group`: the operation, or the group that the result is the last member of; its other members are
// computed inline.
void derive_points(const Op& group, const Target& target, Schedule* schedule);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_DERIVE_POINTS_H_
