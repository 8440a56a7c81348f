#ifndef EMULSION_TESTS_RANDOM_GUARDED_RUN_H_
#define EMULSION_TESTS_RANDOM_GUARDED_RUN_H_

// Runs a compiled kernel on buffers that lie beside pages which nobody may touch: a read or a write
// out of bounds ends the process, and results that are not written stay poison.

#include "backends/halide/jit.h"
#include "backends/interpreter/tensor_value.h"
#include "dsl/extent.h"
#include "dsl/graph.h"
#include "tests/random/guarded_buffer.h"

namespace emulsion {

// The outputs by name. `arguments`: every input and weight of the graph. std::runtime_error: the
// kernel wrote beside a buffer, on the side without a forbidden page.
TensorValues run_guarded(const JitKernel& kernel, const Graph& graph, const TensorValues& arguments,
                         const SizeValues& sizes, GuardedBuffer::Side side);

}  // namespace emulsion

#endif  // EMULSION_TESTS_RANDOM_GUARDED_RUN_H_
