#include "benchmarks/onnx_programs.h"

#include <fmt/format.h>

#include "benchmarks/nest_kernel.h"
#include "benchmarks/peers/onnx_runtime.h"
#include "passes/pipeline.h"

namespace emulsion::benchmarks {
namespace {

Values divided_values(const OnnxProgram& program, float divisor) {
  Values values = values_of(program.graph, program.sizes);
  for (auto& [name, value] : values->by_name) {
    auto* data = value.data<float>();
    for (int64_t i = 0; i < value.element_count(); ++i) data[i] /= divisor;
  }
  return values;
}

}  // namespace

Report measure_against_onnx_runtime(const std::vector<OnnxProgram>& programs,
                                    const OnnxValues& given, const ProgramOptions& options,
                                    const char* argv0) {
  OnnxRuntime onnx = start_onnx_runtime(argv0);
  std::vector<Comparison> all;
  for (const OnnxProgram& program : programs) {
    OnnxModel model = {program.name, {}, !program.sizes.empty()};
    for (const OpPtr& op : program.graph.arguments()) {
      if (op->kind == OpKind::weight) model.weights.insert(op->name);
    }
    const Values values = divided_values(program, given.divisor);
    Comparison comparison{fmt::format("{}/{}/{}", program.name, program.size,
                                      model.at_run_time ? "run_time" : "constant"),
                          program.unit, program.work};
    comparison.peers.push_back(onnx.peer(model, values));
    comparison.emulsion.call =
        kernel_call(run_pipeline(program.graph, Target::host()).nest, values);
    add_on_one_thread(comparison, values, given.tolerance, &all);
  }
  return {measure(all, options)};
}

}  // namespace emulsion::benchmarks
