#ifndef EMULSION_PASSES_DERIVE_DERIVE_SUM_IN_PARTS_H_
#define EMULSION_PASSES_DERIVE_DERIVE_SUM_IN_PARTS_H_

// Threads for sums, maxima and the like of a whole tensor. Private to passes/derive/.

#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "dsl/target.h"

namespace emulsion {

// A sum of everything has no axis that threads could share: they share parts of its outermost one,
// of a known length, equal ones where it can be cut so.
//   s = sum({r0, r1}, e)  ->  parallel block: parts[block] = sum({r0, r1}, e), in lanes;
//                             s = sum(block, parts)
// False of another sum, of what is too little for threads, and of a run-time length.
bool derive_sum_in_parts(const Op& op, const Target& target, Schedule* schedule);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_DERIVE_SUM_IN_PARTS_H_
