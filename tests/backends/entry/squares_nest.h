#ifndef EMULSION_TESTS_BACKENDS_ENTRY_SQUARES_NEST_H_
#define EMULSION_TESTS_BACKENDS_ENTRY_SQUARES_NEST_H_

// A nest whose storage grows with the square of a run-time size.

#include <string>

#include "passes/nest/loop_nest.h"

namespace emulsion {

// y[a, i] = sum over j of square[i, j] * z[a], square[i, j] = x[i] * x[j], for a in A and i, j in
// B, scheduled as the directives say: lines of a schedule's text.
LoopNest squares_nest(const std::string& directives);

}  // namespace emulsion

#endif  // EMULSION_TESTS_BACKENDS_ENTRY_SQUARES_NEST_H_
