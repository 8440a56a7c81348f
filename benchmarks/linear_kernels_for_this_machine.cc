#include "benchmarks/linear_kernel.h"
#include "dsl/error.h"
#include "dsl/target.h"

namespace emulsion::benchmarks {

LinearKernelSet linear_kernels_for_this_machine() {
  for (auto* make : {linear_kernels_v4, linear_kernels_v3, linear_kernels_v2}) {
    LinearKernelSet set = make();
    if (runs_on_this_machine(Target::parse(set.target))) return set;
  }
  fail("expected a processor with SSE4.1, got {}", Target::host().to_string());
}

}  // namespace emulsion::benchmarks
