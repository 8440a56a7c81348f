#ifndef EMULSION_BACKENDS_INTERPRETER_INTERPRET_GRAPH_H_
#define EMULSION_BACKENDS_INTERPRETER_INTERPRET_GRAPH_H_

// The meaning of a Graph: each comprehension evaluated as it is written, whole tensors, one after
// another, no schedule. What every pass and every backend is compared with.

#include "backends/interpreter/bind_arguments.h"
#include "backends/interpreter/tensor_value.h"
#include "dsl/graph.h"

namespace emulsion {

// The outputs by name. `arguments`: every input and weight by its name in the graph. Error:
// arguments that do not fit (see bind_arguments.h), a size without a value, a read outside its
// tensor.
TensorValues interpret_graph(const Graph& graph, const TensorValues& arguments,
                             const InterpretOptions& options = {});

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_INTERPRETER_INTERPRET_GRAPH_H_
