#ifndef EMULSION_TESTS_RANDOM_GRADIENT_PROGRAMS_H_
#define EMULSION_TESTS_RANDOM_GRADIENT_PROGRAMS_H_

// Programs of comprehensions to differentiate, as people write them by hand: tensors read at sums
// of axes, backwards, in strides, twice, around the end, behind conditions and by digits, reduced
// and read on, over numbers and run-time sizes.

#include <cstdint>
#include <string>
#include <vector>

#include "backends/interpreter/tensor_value.h"
#include "dsl/extent.h"
#include "dsl/graph.h"

namespace emulsion {

struct GradientProgram {
  Graph graph;
  std::vector<std::string> by;   // inputs to differentiate by, at least one
  std::vector<SizeValues> runs;  // at least one; 0 and 1 among them where there is a run-time size
  int refused = 0;               // reads that were drawn and refused, each with an Error
};

// Number `index` of a run from `seed`; with f32 for f64 it is the same program.
GradientProgram random_gradient_program(uint64_t seed, int index, DType dtype);

// Every argument: floats that f32 holds, of both signs and all different; whole numbers;
// conditions.
TensorValues gradient_arguments(const Graph& graph, const SizeValues& sizes, uint64_t seed);

}  // namespace emulsion

#endif  // EMULSION_TESTS_RANDOM_GRADIENT_PROGRAMS_H_
