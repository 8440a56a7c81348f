#ifndef EMULSION_PASSES_NEST_GUARD_TAILS_H_
#define EMULSION_PASSES_NEST_GUARD_TAILS_H_

// Which tail each guard of a uOp is of: an `if`, or a mask of its loads, its stores or both.

#include <set>
#include <string>
#include <vector>

#include "passes/nest/loop_nest.h"

namespace emulsion {

// What a guard of that tail masks.
GuardMask mask_of(Tail tail);
// Whether a split with that tail leaves out iterations past the end: by a guard of its uOps.
bool has_guard(Tail tail);
// The reduction axes of a stage and whatever its transforms make of them; `of_reduction`, when
// given: for each transform, whether it is of one.
std::set<std::string> reduction_loops(const Stage& stage,
                                      std::vector<bool>* of_reduction = nullptr);
// The tails of the guards of the stage's uOps of that part, in their order.
std::vector<Tail> guard_tails(const Stage& stage, Part part);

}  // namespace emulsion

#endif  // EMULSION_PASSES_NEST_GUARD_TAILS_H_
