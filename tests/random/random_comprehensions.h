#ifndef EMULSION_TESTS_RANDOM_RANDOM_COMPREHENSIONS_H_
#define EMULSION_TESTS_RANDOM_RANDOM_COMPREHENSIONS_H_

// Comprehensions that no operator makes, as people write them by hand: elements of every type read
// at strides, mirrored, around the end, behind conditions, where data says, by several functions
// one after another, over numbers and run-time sizes.

#include <cstdint>
#include <vector>

#include "backends/interpreter/tensor_value.h"
#include "dsl/extent.h"
#include "dsl/graph.h"

namespace emulsion {

struct RandomComprehensions {
  Graph graph;
  std::vector<SizeValues> runs;  // at least one; 0 and 1 among them where there is a run-time size
  // Within which values agree that are no whole numbers; 0: all are.
  double tolerance = 0;
  int refused = 0;  // comprehensions that were drawn and refused, each with an Error
};

// Number `index` of a run from `seed`.
RandomComprehensions random_comprehensions(uint64_t seed, int index);

// Of narrow types any values, of the others small whole numbers.
TensorValues comprehension_arguments(const Graph& graph, const SizeValues& sizes, uint64_t seed);

}  // namespace emulsion

#endif  // EMULSION_TESTS_RANDOM_RANDOM_COMPREHENSIONS_H_
