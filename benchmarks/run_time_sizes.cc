// Derived kernels for run-time sizes against those of the same code with numbers in their place:
// where the first are slower by more than the sizes are worth, it is a loss to mend.

#include <vector>

#include "benchmarks/nest_kernel.h"
#include "benchmarks/run_time_programs.h"
#include "dsl/target.h"
#include "passes/pipeline.h"

namespace emulsion::benchmarks {
namespace {

constexpr char kMeasures[] =
    "Measures small programs as derived for run-time sizes against the same derived for numbers,\n"
    "on one thread.";

constexpr double kLeastSpeed = 0.75;  // of the kernel that knows its extents

Report run(const ProgramOptions& options) {
  const Target target = Target::host();
  std::vector<Comparison> all;
  for (const auto& kind : {run_time_contractions(), run_time_reductions(), run_time_pointwise()}) {
    for (const RunTimeProgram& program : kind) {
      const Graph known =
          program.graph([&](const std::string& name) { return Extent(program.sizes.at(name)); });
      const Graph open = program.graph(Extent::size);
      const Values values = values_of(known);
      Comparison one{program.name, "us"};
      one.emulsion.call = kernel_call(run_pipeline(open, target).nest, values);
      one.peers.push_back({"numbers", kernel_call(run_pipeline(known, target).nest, values)});
      one.peers.back().mark = kLeastSpeed;
      add_on_one_thread(one, values, 1e-4, &all);
    }
  }
  return {measure(all, options)};
}

}  // namespace
}  // namespace emulsion::benchmarks

int main(int argc, char** argv) {
  using namespace emulsion::benchmarks;
  return run_program(argc, argv, {"run_time_sizes", kMeasures, "--benchmark_filter=centres", run});
}
