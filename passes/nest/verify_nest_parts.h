#ifndef EMULSION_PASSES_NEST_VERIFY_NEST_PARTS_H_
#define EMULSION_PASSES_NEST_VERIFY_NEST_PARTS_H_

// Whether what is computed part by part and stored whole is all computed, each element in one step
// of the loops around its parts; and whether a step reads no part but its own, so that the loops
// may be shared by threads, and who reads it elsewhere comes behind them. Part of verify_nest.

#include "passes/nest/loop_nest.h"

namespace emulsion {

// Whether a window is a part of an output: that has no alloc.
bool is_part_of_output(const LoopNest& nest, const WindowNode& window);

// InternalError naming the stage and the element, or of a part that slides. At several values of
// each run-time size; of long loops only the first and the last steps, and then nobody asks whether
// everything is computed.
void verify_nest_parts(const LoopNest& nest);

}  // namespace emulsion

#endif  // EMULSION_PASSES_NEST_VERIFY_NEST_PARTS_H_
