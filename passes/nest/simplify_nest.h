#ifndef EMULSION_PASSES_NEST_SIMPLIFY_NEST_H_
#define EMULSION_PASSES_NEST_SIMPLIFY_NEST_H_

#include "passes/nest/loop_nest.h"

namespace emulsion {

// Each integer expression of a nest as a person would write it (collect_terms.h), with the same
// values: in the tree, in the indices of the reads of its stages, in its tile grids and its packs.
// The condition of a branch stays as the schedule says it, and so does an index that is seen to
// stay inside its buffer only as it is. A node without anything to simplify comes back as it is.
LoopNest simplify_nest(const LoopNest& nest);

}  // namespace emulsion

#endif  // EMULSION_PASSES_NEST_SIMPLIFY_NEST_H_
