#ifndef EMULSION_BACKENDS_HALIDE_DROP_PREFETCHES_H_
#define EMULSION_BACKENDS_HALIDE_DROP_PREFETCHES_H_

// A custom lowering pass. Halide leaves out the memory of what nothing reads (a loop that never
// runs, a value that it simplifies away: x != x of integers), but not the prefetches of it, and
// then fails over them. They go, too.

#include "Halide.h"

namespace emulsion {

// Adds the pass.
void drop_prefetches(Halide::Pipeline* pipeline);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_DROP_PREFETCHES_H_
