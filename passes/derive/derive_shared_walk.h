#ifndef EMULSION_PASSES_DERIVE_DERIVE_SHARED_WALK_H_
#define EMULSION_PASSES_DERIVE_DERIVE_SHARED_WALK_H_

// A few sums of what is read in one walk: sums by class, counts of a few kinds, moments. Each of
// them by itself would walk through all of it again. Private to passes/derive/.

#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "dsl/target.h"

namespace emulsion {

// Whether registers hold lanes of all sums, and one walk for all of them is faster than to change
// in memory the one that each term goes to, and than threads that share the sums.
bool shares_walk(const Op& op, const Target& target);

//   for m: unrolled c: lanes[c] += select(which[m] == c, x[m], 0);  y[c] = sum of the lanes
void derive_shared_walk(const Op& op, const Target& target, Schedule* schedule);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_DERIVE_SHARED_WALK_H_
