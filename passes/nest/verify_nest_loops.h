#ifndef EMULSION_PASSES_NEST_VERIFY_NEST_LOOPS_H_
#define EMULSION_PASSES_NEST_VERIFY_NEST_LOOPS_H_

// Every element of a region is computed exactly once: the loops of a stage are as long as its
// transforms make them, or end where its domain ends (end_at_domains.h); the parts of a loop follow
// each other with neither gap nor overlap; a point is what the transforms make of the loops, and
// what is guarded is what they leave out. At samples of the iterations of the loops around. Used by
// verify_nest.

#include "passes/nest/loop_nest.h"

namespace emulsion {

// InternalError: a loop whose parts leave out steps, or take some twice, or in another order, or
// end elsewhere; a uOp at another point; one whose guards leave out, of its loads or of its stores,
// too much or too little; one whose own body reads what that of its stage does not.
void verify_nest_loops(const LoopNest& nest);

}  // namespace emulsion

#endif  // EMULSION_PASSES_NEST_VERIFY_NEST_LOOPS_H_
