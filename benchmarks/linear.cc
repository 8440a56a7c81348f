// The benchmark of the linear layer: a Google Benchmark program, with a table of its own at the
// end.

#include <omp.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/benchmark_program.h"
#include "benchmarks/fma_peak.h"
#include "benchmarks/kernel_seconds.h"
#include "benchmarks/linear_benchmarks.h"
#include "benchmarks/linear_kernel.h"
#include "benchmarks/linear_report.h"
#include "benchmarks/progress.h"

namespace emulsion::benchmarks {
namespace {

constexpr char kHelp[] =
    "Measures the linear layer y = relu(x * w + bias): fused, unfused and as a plain loop, beside\n"
    "the machine's own peak. Prints the table as text and as JSON; losses come first.\n"
    "\n"
    "  bazel run -c opt //benchmarks:linear -- --quick --json=/tmp/linear.json\n"
    "\n";

std::vector<std::unique_ptr<LinearLayer>> make_layers(const LinearKernelSet& set) {
  std::vector<std::unique_ptr<LinearLayer>> layers;
  for (const LinearKernel& fused : set.kernels) {
    for (const LinearKernel& unfused : set.kernels) {
      if (!fused.fused || unfused.fused || !(fused.shape == unfused.shape)) continue;
      report_progress("checking " + fused.shape.to_string());
      layers.push_back(std::make_unique<LinearLayer>(fused, unfused));
      for (Way way : {Way::fused, Way::unfused, Way::plain}) layers.back()->check(way);
    }
  }
  return layers;
}

int run(const ProgramOptions& options) {
  check_writable(options);
  LinearKernelSet set = linear_kernels_for_this_machine();
  LinearRun run;
  run.instructions = fma_instructions();
  run.target = set.target;
  run.all_threads = omp_get_max_threads();
  announce("comparing every way with a sum in double");
  LinearBenchmarks benchmarks(make_layers(set), run.all_threads);
  catch_interrupt();
  if (!options.list) {
    announce("compiling every kernel again, for its seconds");
    run.kernels = measure_kernel_seconds(set, options.quick);
    announce("measuring; Ctrl-C prints what there is");
  }
  run = benchmarks.collect(std::move(run), measure(options));
  return report(options, report_text(run), report_json(run));
}

}  // namespace
}  // namespace emulsion::benchmarks

int main(int argc, char** argv) {
  return emulsion::benchmarks::run_program(argc, argv, "linear", emulsion::benchmarks::kHelp,
                                           emulsion::benchmarks::run);
}
