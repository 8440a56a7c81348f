// Gradients as kernels: derived schedules, fused, compiled, against the interpreter on the graph as
// it is before fusion.

#include <gtest/gtest.h>

#include <string>

#include "backends/halide/jit.h"
#include "backends/interpreter/interpret_graph.h"
#include "dsl/graph_text.h"
#include "passes/differentiate/differentiate.h"
#include "passes/pipeline.h"
#include "tests/passes/differentiate/gradient_cases.h"

namespace emulsion {
namespace {

JitBuffer buffer_of(TensorValue* value) {
  JitBuffer buffer;
  buffer.dtype = value->dtype;
  buffer.data = value->bytes.data();
  buffer.shape = value->shape;
  return buffer;
}

class FusedGradients : public ::testing::TestWithParam<GradientCase> {};

TEST_P(FusedGradients, AreThoseOfTheInterpreter) {
  const GradientCase& c = GetParam();
  const GradientProblem problem = c.make(DType::f32);
  const Graph graph = differentiate(Graph(problem.y), problem.by);
  TensorValues arguments = draw_arguments(graph, c, 11);
  InterpretOptions options;
  options.sizes = c.sizes;
  options.f64_accumulation = true;
  TensorValues expected = interpret_graph(graph, arguments, options);

  SCOPED_TRACE(to_string(graph));
  const Lowered lowered = run_pipeline(graph, Target::host());
  const JitKernel kernel(lowered.nest);
  TensorValues actual = expected;
  for (int call = 0; call < 2; ++call) {  // the second has the storage of the first
    std::map<std::string, JitBuffer> buffers;
    for (auto& [name, value] : arguments) buffers[name] = buffer_of(&value);
    for (auto& [name, value] : actual) {
      fill_with_poison(&value);
      buffers[name] = buffer_of(&value);
    }
    kernel.run(buffers, c.sizes);
    for (const auto& [name, value] : expected) {
      EXPECT_EQ(first_difference(value, actual.at(name), 1e-4, 1e-4), std::nullopt) << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Case, FusedGradients, ::testing::ValuesIn(all_gradient_cases()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace emulsion
