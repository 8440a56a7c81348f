#ifndef EMULSION_PASSES_NEST_VERIFY_NEST_WRITTEN_H_
#define EMULSION_PASSES_NEST_VERIFY_NEST_WRITTEN_H_

// Whether the region that is read of a stage's storage is one that its loops write: both parts of a
// reduction. That each is there at all, and before its readers, verify_nest sees by their order; of
// storage that is kept over loops, verify_nest_storage says in which iteration. Looked at in the
// first and the last iterations of the loops, over boxes of indices. Part of verify_nest.

#include "passes/nest/loop_nest.h"

namespace emulsion {

// InternalError naming the reader, the element and what is written.
void verify_nest_written(const LoopNest& nest);

}  // namespace emulsion

#endif  // EMULSION_PASSES_NEST_VERIFY_NEST_WRITTEN_H_
