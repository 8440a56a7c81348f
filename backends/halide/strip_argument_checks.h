#ifndef EMULSION_BACKENDS_HALIDE_STRIP_ARGUMENT_CHECKS_H_
#define EMULSION_BACKENDS_HALIDE_STRIP_ARGUMENT_CHECKS_H_

// A custom lowering pass. The entry function has checked every argument before a body runs, with
// better messages and more leniency (an empty buffer needs no memory), so Halide's own checks of
// arguments go. What stays is what only the body can notice: memory that ran out, and a stage that
// needs more of another than the nest's Alloc holds, which would be a mistake of ours.
//
// An input without elements may come with any pointer, and a read of it whose value is not used
// must still be of memory that is there: such a read, always of element 0, is sent to the buffer's
// own description.
//
// An output that a reduction updates in place is read back, and Halide 21 takes the memory that it
// reads for its own, aligned to a vector. It is the caller's, aligned to an element. A constant,
// too, is taken to be aligned to a vector, but in the object file it is aligned to 32 bytes.

#include "backends/halide/build_pipeline.h"

namespace emulsion {

// Adds the pass to a pipeline.
void strip_argument_checks(HalidePipeline* built);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_STRIP_ARGUMENT_CHECKS_H_
