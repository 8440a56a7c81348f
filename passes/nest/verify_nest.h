#ifndef EMULSION_PASSES_NEST_VERIFY_NEST_H_
#define EMULSION_PASSES_NEST_VERIFY_NEST_H_

// What a LoopNest promises to whoever reads it, as code that runs: names and order of the tables,
// one legal form for each uOp, scopes, parts, loops that are exactly those of a stage's transforms,
// storage that is live where it is used, indices inside their buffers, and regions that are written
// before they are read. Runs between passes in tests and debug builds, and before code is made.
//
// Indices are checked by evaluation at the corners of the loops and at sampled points, for a few
// values of the run-time sizes: a nest that passes may still be wrong, one that fails is. What only
// data decide is left out.

#include "passes/nest/loop_nest.h"

namespace emulsion {

// Throws InternalError naming the nest, the node and the rule.
void verify_nest(const LoopNest& nest);

}  // namespace emulsion

#endif  // EMULSION_PASSES_NEST_VERIFY_NEST_H_
