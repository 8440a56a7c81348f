#ifndef EMULSION_TESTS_RANDOM_RANDOM_COMPREHENSIONS_H_
#define EMULSION_TESTS_RANDOM_RANDOM_COMPREHENSIONS_H_

// Comprehensions that no operator makes, as people write them by hand: elements of every type read
// at strides, mirrored, around the end, beside one another, behind conditions, where data says, by
// several functions one after another, over numbers and run-time sizes.

#include <cstdint>

#include "backends/interpreter/tensor_value.h"
#include "dsl/extent.h"
#include "dsl/graph.h"
#include "tests/random/schedule_programs.h"

namespace emulsion {

struct ComprehensionOptions {
  int64_t most_steps = 60'000;  // of one comprehension, which interpreters walk
  bool large = false;           // as of ChainOptions
};

// Number `index` of a run from `seed`.
ScheduleProgram random_comprehensions(uint64_t seed, int index,
                                      const ComprehensionOptions& options = {});

// A program of this graph, whose values are whole numbers, still without runs.
ScheduleProgram program_of_comprehensions(const Graph& graph, uint64_t seed);

// Of narrow types any values, of the others small whole numbers.
TensorValues comprehension_arguments(const Graph& graph, const SizeValues& sizes, uint64_t seed);

}  // namespace emulsion

#endif  // EMULSION_TESTS_RANDOM_RANDOM_COMPREHENSIONS_H_
