// Gradients of every case against central differences, in f64 by the interpreter.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "backends/interpreter/interpret_graph.h"
#include "dsl/graph_text.h"
#include "passes/differentiate/differentiate.h"
#include "tests/passes/differentiate/gradient_cases.h"

namespace emulsion {
namespace {

// The sum of y * cotangent.
double loss(const Graph& graph, const TensorValues& arguments, const TensorValue& cotangent,
            const InterpretOptions& options) {
  const TensorValue y = interpret_graph(graph, arguments, options).begin()->second;
  double total = 0;
  for (int64_t i = 0; i < y.element_count(); ++i) total += y.value(i) * cotangent.value(i);
  return total;
}

TensorValue central_differences(const Graph& graph, TensorValues arguments, const std::string& by,
                                const TensorValue& cotangent, const InterpretOptions& options) {
  constexpr double kStep = 1e-5;
  TensorValue result = arguments.at(by);
  for (int64_t i = 0; i < result.element_count(); ++i) {
    TensorValue& x = arguments.at(by);
    const double here = x.value(i);
    x.set_value(i, here + kStep);
    const double above = loss(graph, arguments, cotangent, options);
    x.set_value(i, here - kStep);
    const double below = loss(graph, arguments, cotangent, options);
    x.set_value(i, here);
    result.set_value(i, (above - below) / (2 * kStep));
  }
  return result;
}

class CentralDifferences : public ::testing::TestWithParam<GradientCase> {};

TEST_P(CentralDifferences, AreTheGradients) {
  const GradientCase& c = GetParam();
  const GradientProblem problem = c.make(DType::f64);
  const Graph graph(problem.y);
  const Graph with_gradients = differentiate(graph, problem.by);
  SCOPED_TRACE(to_string(with_gradients));
  InterpretOptions options;
  options.sizes = c.sizes;
  const TensorValues arguments = draw_arguments(with_gradients, c, 7);
  const TensorValues results = interpret_graph(with_gradients, arguments, options);

  const std::string y = graph.name_of(problem.y);
  TensorValues own = arguments;
  own.erase("grad_" + y);
  // Not given for a loss, nor where the gradients are zero and read none.
  const auto given = arguments.find("grad_" + y);
  TensorValue ones = interpret_graph(graph, own, options).at(y);
  for (int64_t i = 0; i < ones.element_count(); ++i) ones.set_value(i, 1);
  const TensorValue& cotangent = given == arguments.end() ? ones : given->second;
  for (size_t i = 0; i < problem.by.size(); ++i) {
    const std::string& name = with_gradients.outputs()[i + 1]->name;
    const TensorValue expected =
        central_differences(graph, own, problem.by[i].name(), cotangent, options);
    EXPECT_EQ(first_difference(expected, results.at(name), 1e-6, 1e-6), std::nullopt) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Case, CentralDifferences, ::testing::ValuesIn(all_gradient_cases()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace emulsion
