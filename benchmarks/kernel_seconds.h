#ifndef EMULSION_BENCHMARKS_KERNEL_SECONDS_H_
#define EMULSION_BENCHMARKS_KERNEL_SECONDS_H_

// How long a kernel takes from its graph to its library, on this machine and now: asked of the
// generator in a process of its own, since the build's own seconds are those of whenever and
// wherever its cache was filled.

#include <string>
#include <vector>

#include "benchmarks/linear_kernel.h"
#include "benchmarks/linear_shape.h"

namespace emulsion::benchmarks {

struct KernelSeconds {
  LinearShape shape;
  bool fused = true;
  double until_lowered = 0, until_compiled = 0;  // from the graph
};

// "512x512x512 fused 0.004 0.61", as `make_linear_kernels --seconds` prints it. Error: anything
// else.
KernelSeconds parse_kernel_seconds(const std::string& line);

// Compiles the shapes of `set` for its target again, into a directory that is removed afterwards.
// Error: the generator, which lies beside this program, is not there or fails.
std::vector<KernelSeconds> measure_kernel_seconds(const LinearKernelSet& set, bool fused_only);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_KERNEL_SECONDS_H_
