#ifndef EMULSION_PASSES_NEST_VERIFY_NEST_BOUNDS_H_
#define EMULSION_PASSES_NEST_VERIFY_NEST_BOUNDS_H_

// The last rule of verify_nest: every element that a uOp reads or writes is inside its buffer, or
// inside the part of it that is stored. A part of verify_nest; expects a nest that keeps all the
// other rules.

#include "passes/nest/loop_nest.h"

namespace emulsion {

void verify_nest_bounds(const LoopNest& nest);

}  // namespace emulsion

#endif  // EMULSION_PASSES_NEST_VERIFY_NEST_BOUNDS_H_
