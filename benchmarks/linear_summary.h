#ifndef EMULSION_BENCHMARKS_LINEAR_SUMMARY_H_
#define EMULSION_BENCHMARKS_LINEAR_SUMMARY_H_

// From seconds to the table: medians, spreads, ratios, and which rows lose. Apart from what
// measures, so that it can be tested with seconds that are made up. What was not measured (a
// filter, Ctrl-C) has no value, and neither has what follows from it.

#include <optional>
#include <string>
#include <vector>

#include "benchmarks/linear_shape.h"
#include "benchmarks/samples.h"

namespace emulsion::benchmarks {

// The seconds of one call, in one situation.
struct LinearTimes {
  LinearShape shape;
  int threads = 1;
  bool cold = false;
  Samples fused, fused_again, unfused,
      plain;  // fused_again: a second copy of the measurement of fused
};

// What the machine did in the same run.
struct MachineTimes {
  int threads = 1;
  bool cold = false;  // of the read; the peak is the same in both
  Samples flops_per_second, bytes_per_second;
};

struct KernelSeconds {
  LinearShape shape;
  bool fused = true;
  double until_lowered = 0, until_compiled = 0;  // from the graph
};

struct LinearRun {
  std::string instructions;  // of the peak: fma_instructions()
  std::string target;        // of the kernels
  int all_threads = 1;
  std::vector<MachineTimes> machine;
  std::vector<LinearTimes> times;
  std::vector<KernelSeconds> kernels;
};

// A ratio above 1: fused is faster, and more threads are.
struct LinearRow {
  LinearShape shape;
  int threads = 1;
  bool cold = false;
  std::optional<double> fused_gflops, fused_spread, unfused_gflops, plain_gflops;
  std::optional<double> share_of_peak;
  std::optional<double> over_unfused, over_plain, over_itself;
  std::optional<double> speed_up;  // of this many threads over one
  std::optional<double> read_gbytes,
      share_of_read;  // where weights are read faster than they are used
};

std::vector<LinearRow> summarise(const LinearRun& run);

// The first marks, for warm caches; the peak and the speed-up are judged with AVX-512 and
// two threads only, as the issue says. The worst first.
std::vector<std::string> losses(const LinearRun& run, const std::vector<LinearRow>& rows);

// The machine's numbers for one situation, or null.
const MachineTimes* find_machine(const LinearRun& run, int threads, bool cold);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_LINEAR_SUMMARY_H_
