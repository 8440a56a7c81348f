#ifndef EMULSION_BACKENDS_HALIDE_SHUFFLED_LOADS_H_
#define EMULSION_BACKENDS_HALIDE_SHUFFLED_LOADS_H_

// Loads of vectors whose lanes lie near one another, at distances that are numbers: what is read by
// several elements of a row, or in another order.
//
//   x[n * 5 + ramp(0, 1, 15) % 5]  ->  shuffle(x[ramp(n * 5, 1, 5)], {0, 1, 2, 3, 4, 0, 1, ..})
//
// They would be loaded lane by lane. Nothing is loaded outside of the first and the last element,
// which some lane reads.

#include "Halide.h"

namespace emulsion {

// To be run on vectors, behind transpose_rows(): columns of rows that lie near are loads of this
// kind, too.
Halide::Internal::Stmt shuffle_loads(const Halide::Internal::Stmt& statement);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_SHUFFLED_LOADS_H_
