#ifndef EMULSION_BACKENDS_HALIDE_ONE_STEP_LOOPS_H_
#define EMULSION_BACKENDS_HALIDE_ONE_STEP_LOOPS_H_

// Loops in which data say which one step changes anything, as sums by class have them:
//
//   for c in C: y[c] = select(which[m] == c, y[c] + x[m], y[c])
//     ->  let place = which[m]
//         if place >= 0 && place < C: let c = place: y[c] = y[c] + x[m]
//
// Before Halide's passes: the values of stores have no names inside yet.

#include "Halide.h"

namespace emulsion {

Halide::Internal::Stmt one_step_loops(const Halide::Internal::Stmt& statement);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_ONE_STEP_LOOPS_H_
