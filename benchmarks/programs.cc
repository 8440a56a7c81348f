// Small programs of all kinds as derived against what a C++ programmer writes without a library:
// where a derived schedule is slower, it is a loss to mend.

#include <vector>

#include "benchmarks/nest_kernel.h"
#include "benchmarks/small_programs.h"
#include "dsl/target.h"
#include "passes/pipeline.h"

namespace emulsion::benchmarks {
namespace {

constexpr char kMeasures[] =
    "Measures small programs of all kinds as derived, from elementwise operations to attention,\n"
    "against plain loops in C++ at -O3 with the best instructions of the machine, on one thread.";

Report run(const ProgramOptions& options) {
  std::vector<Comparison> all;
  for (const auto& kind : {pointwise_programs(), movement_programs(), reduction_programs(),
                           product_programs(), window_programs(), choice_programs(),
                           short_axis_programs(), turn_programs(), column_programs()}) {
    for (const SmallProgram& program : kind) {
      const Values values = values_of(program.graph, program.sizes);
      if (program.fill) program.fill(*values);
      Comparison one{program.name, "us"};
      one.emulsion.call = kernel_call(run_pipeline(program.graph, Target::host()).nest, values);
      one.peers.push_back({"plain C++", [plain = program.plain, values] { plain(*values); }});
      add_on_one_thread(one, values, program.tolerance, &all);
    }
  }
  return {measure(all, options)};
}

}  // namespace
}  // namespace emulsion::benchmarks

int main(int argc, char** argv) {
  using namespace emulsion::benchmarks;
  return run_program(argc, argv, {"programs", kMeasures, "--benchmark_filter=matmul", run});
}
