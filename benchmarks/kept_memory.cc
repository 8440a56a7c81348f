// What it is worth that the memory in which a kernel stores values between its loops is kept from
// call to call (backends/runtime/kept_memory.h), by the size of what is stored.

#include "backends/runtime/kept_memory.h"

#include <fmt/format.h>

#include <vector>

#include "benchmarks/nest_kernel.h"
#include "dsl/operators.h"
#include "dsl/target.h"
#include "passes/lower/lower.h"
#include "passes/pipeline.h"

namespace emulsion::benchmarks {
namespace {

constexpr char kMeasures[] =
    "Measures a kernel that stores two matrices between its loops, with the memory of the call\n"
    "before against memory that the system gives anew, on one thread.";

Report run(const ProgramOptions& options) {
  std::vector<Comparison> all;
  // 64 KiB, 1 MiB, 4 MiB, 16 MiB and 64 MiB a matrix.
  for (const auto& [rows, columns] :
       {std::pair(64, 256), {256, 1024}, {1024, 1024}, {2048, 2048}, {4096, 4096}}) {
    const Tensor x = input("x", f32, {rows, columns});
    const Graph graph(relu(abs(x) - 2.0f));
    const Target target = Target::host();
    DeriveOptions apart;
    apart.fuse = false;
    const Values values = values_of(graph);
    const Call call =
        kernel_call(emulsion::lower(graph, derive_schedule(graph, target, apart)), values);
    Comparison one{fmt::format("stored/{}x{}", rows, columns), "us"};
    one.emulsion.call = call;
    one.emulsion.before_call = [call] {
      runtime::set_kept_limit(runtime::kDefaultKept);
      call();
    };
    one.peers.push_back({"given anew", call, [] { runtime::set_kept_limit(0); }});
    add_on_one_thread(one, values, 0, &all);
  }
  return {measure(all, options)};
}

}  // namespace
}  // namespace emulsion::benchmarks

int main(int argc, char** argv) {
  using namespace emulsion::benchmarks;
  return run_program(argc, argv, {"kept_memory", kMeasures, "--benchmark_filter=1024", run});
}
