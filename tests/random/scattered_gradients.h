#ifndef EMULSION_TESTS_RANDOM_SCATTERED_GRADIENTS_H_
#define EMULSION_TESTS_RANDOM_SCATTERED_GRADIENTS_H_

// Gradients by numbers: the graph is run backwards, point by point, and what a point reads at an
// index gets its share there. No index is inverted and no graph is made, so this shares nothing
// with passes/differentiate but what the README says of points without a derivative.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "backends/interpreter/tensor_value.h"
#include "dsl/extent.h"
#include "dsl/graph.h"

namespace emulsion {

struct ScatteredGradient {
  std::vector<int64_t> shape;
  std::vector<double> value;
  std::vector<double> magnitude;  // the sum of the sizes of what was added
};

// By each input and weight, by name. `cotangents`: by the name of each output that has one. Nothing
// where a value is not finite, as the least of none: 0 times it is a matter of taste. Error: a read
// outside its tensor.
std::map<std::string, ScatteredGradient> scattered_gradients(const Graph& graph,
                                                             const TensorValues& arguments,
                                                             const SizeValues& sizes,
                                                             const TensorValues& cotangents);

}  // namespace emulsion

#endif  // EMULSION_TESTS_RANDOM_SCATTERED_GRADIENTS_H_
