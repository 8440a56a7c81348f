#ifndef EMULSION_BACKENDS_INTERPRETER_INTERPRET_NEST_H_
#define EMULSION_BACKENDS_INTERPRETER_INTERPRET_NEST_H_

// Runs a LoopNest exactly as the tree says: loops in order, guards, allocations with storage of
// their own that starts as poison, every element read and written checked against its buffer. An
// index outside is our bug, not the user's: an InternalError that names the stage, the buffer and
// the index.
//
// Shares nothing with the Halide backend but the LoopNest, so that the two can check each other.

#include "backends/interpreter/bind_arguments.h"
#include "backends/interpreter/tensor_value.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

// The outputs by name. `arguments`: every input and weight by name, a weight either as the user has
// it (its pack is run first) or packed already, under the packed name. Error: arguments that do not
// fit.
TensorValues interpret_nest(const LoopNest& nest, const TensorValues& arguments,
                            const InterpretOptions& options = {});

// The arguments as the nest reads them: each weight that a pack names, packed. What is packed
// stays.
TensorValues apply_packs(const LoopNest& nest, const TensorValues& arguments,
                         const InterpretOptions& options = {});

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_INTERPRETER_INTERPRET_NEST_H_
