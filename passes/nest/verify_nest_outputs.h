#ifndef EMULSION_PASSES_NEST_VERIFY_NEST_OUTPUTS_H_
#define EMULSION_PASSES_NEST_VERIFY_NEST_OUTPUTS_H_

// Storage in the memory of an output (Alloc::output): that the output has an element for each of
// the stage, that it is done with them when it overwrites them, and that nobody loses a value. The
// points are looked at in the first and the last iterations of the loops around the storage: one by
// one where there are few, else their boxes. Part of verify_nest.

#include "passes/nest/loop_nest.h"

namespace emulsion {

// InternalError naming the stage, the output and what is wrong.
void verify_nest_outputs(const LoopNest& nest);

}  // namespace emulsion

#endif  // EMULSION_PASSES_NEST_VERIFY_NEST_OUTPUTS_H_
