#ifndef EMULSION_BACKENDS_INTERPRETER_BIND_ARGUMENTS_H_
#define EMULSION_BACKENDS_INTERPRETER_BIND_ARGUMENTS_H_

// What both interpreters check before they compute anything: that every argument is there, with the
// right type, as many bytes as its shape says, and a shape that fits; and what the run-time sizes
// are.

#include <cstdint>
#include <string>
#include <vector>

#include "backends/interpreter/tensor_value.h"
#include "dsl/extent.h"
#include "dsl/types.h"

namespace emulsion {

struct InterpretOptions {
  // All float arithmetic and all float accumulation in double, rounded to a stage's type when the
  // stage is read or returned: an oracle. Otherwise every operation is rounded to its own type.
  bool f64_accumulation = false;
  // A nest only: run the iterations of parallel loops last to first. The result must not change.
  bool reverse_parallel = false;
  // Values for sizes that no input's shape gives (and a check of those that one does).
  SizeValues sizes;
};

struct DeclaredTensor {
  std::string name;
  DType dtype;
  Shape shape;
};

// Error: an argument that is missing, unknown, of another type, or of a shape that does not fit.
SizeValues bind_arguments(const std::vector<DeclaredTensor>& declared, const TensorValues& actual,
                          const SizeValues& known);

// The shape for these sizes. Error, naming the tensor, when an extent is negative for them.
std::vector<int64_t> evaluate_shape(const std::string& name, const Shape& shape,
                                    const SizeValues& sizes);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_INTERPRETER_BIND_ARGUMENTS_H_
