#ifndef EMULSION_BACKENDS_HALIDE_MASKED_PLACES_H_
#define EMULSION_BACKENDS_HALIDE_MASKED_PLACES_H_

// Data that say where to read, loaded under a mask: lanes that the mask leaves out are no number
// that LLVM knows, and what it makes of them, clamped or not, may be any place, at which the kernel
// would read. So they are 0.

#include "Halide.h"

namespace emulsion {

//   x[max(min(d[ramp] if mask, N - 1), 0)]
//     ->  x[max(min(select(mask, d[ramp] if mask, 0), N - 1), 0)]
//
// Data under a name count where the name is part of an index.
Halide::Internal::Stmt define_masked_places(const Halide::Internal::Stmt& statement);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_MASKED_PLACES_H_
