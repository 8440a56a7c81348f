#ifndef EMULSION_BACKENDS_HALIDE_NAN_BITS_H_
#define EMULSION_BACKENDS_HALIDE_NAN_BITS_H_

// Choices of NaN by bits, for instruction sets whose vectors have no mask registers. A maximum of
// floats is NaN where one of the two is, and a pooling or a softmax has one for each element. What
// a comparison of vectors gives, all bits of a lane, is itself a NaN, so that no blend has to
// choose one.

#include "Halide.h"

namespace emulsion {

//   select(x == x, value, NaN)  ->  value | (x == x ? 0 : ~0)
//
// The NaN is another one, with all of its bits. To be run when nothing is simplified any more.
Halide::Internal::Stmt nan_bits(const Halide::Internal::Stmt& statement);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_NAN_BITS_H_
