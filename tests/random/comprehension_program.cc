#include <cstdint>
#include <vector>

#include "tests/random/comprehension_types.h"
#include "tests/random/random_comprehensions.h"

namespace emulsion {
ScheduleProgram program_of_comprehensions(const Graph& graph, uint64_t seed) {
  ScheduleProgram program{"comprehensions", graph, {}};
  program.arguments = [seed](const Graph& of, const SizeValues& sizes) {
    return comprehension_arguments(of, sizes, seed);
  };
  program.absolute = 1e-9;  // the sign of a zero is open where a maximum has both
  return program;
}

TensorValues comprehension_arguments(const Graph& graph, const SizeValues& sizes, uint64_t seed) {
  TensorValues arguments;
  for (const OpPtr& op : graph.arguments()) {
    std::vector<int64_t> shape;
    for (const Extent& extent : op->shape) shape.push_back(extent.evaluate(sizes));
    const auto [low, high] = range_of_arguments(op->dtype);
    arguments[op->name] = random_integers(op->dtype, shape, ++seed, low, high);
  }
  return arguments;
}

}  // namespace emulsion
