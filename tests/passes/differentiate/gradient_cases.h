#ifndef EMULSION_TESTS_PASSES_DIFFERENTIATE_GRADIENT_CASES_H_
#define EMULSION_TESTS_PASSES_DIFFERENTIATE_GRADIENT_CASES_H_

// What is differentiated in the tests: every operator, and comprehensions written by hand with each
// kind of index. The interpreter compares their gradients with central differences; compiled, fused
// and scheduled kernels are compared with the interpreter.

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "backends/interpreter/tensor_value.h"
#include "dsl/extent.h"
#include "dsl/graph.h"
#include "dsl/tensor.h"

namespace emulsion {

inline const Extent kBatch = Extent::size("B");  // the one run-time size of the cases

struct GradientProblem {
  Tensor y;
  std::vector<Tensor> by;  // inputs and weights
};

struct GradientCase {
  std::string name;
  std::function<GradientProblem(DType)> make;
  SizeValues sizes;
  double low = -2, high = 2;  // what the arguments are drawn from
};

inline std::ostream& operator<<(std::ostream& out, const GradientCase& c) { return out << c.name; }

std::vector<GradientCase> operator_cases();       // the named operators
std::vector<GradientCase> comprehension_cases();  // indices written by hand
std::vector<GradientCase> all_gradient_cases();

// Every argument of the graph, drawn from the case's range, the same for each seed.
TensorValues draw_arguments(const Graph& graph, const GradientCase& c, uint64_t seed);

}  // namespace emulsion

#endif  // EMULSION_TESTS_PASSES_DIFFERENTIATE_GRADIENT_CASES_H_
