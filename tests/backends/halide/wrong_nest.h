#ifndef EMULSION_TESTS_BACKENDS_HALIDE_WRONG_NEST_H_
#define EMULSION_TESTS_BACKENDS_HALIDE_WRONG_NEST_H_

// A mistake that verify_nest does not find, for tests of checked code.

#include "passes/nest/loop_nest.h"

namespace emulsion {

// y[m, n] = a[m, n] + 1, a[m, n] = x[m, n] * 2, of B rows of 5. The storage of `a` has room for 40
// rows at most: the verifier tries fewer.
LoopNest nest_that_is_wrong_for_many_rows();

}  // namespace emulsion

#endif  // EMULSION_TESTS_BACKENDS_HALIDE_WRONG_NEST_H_
