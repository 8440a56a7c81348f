#ifndef EMULSION_BENCHMARKS_SIDE_BY_SIDE_BENCHMARKS_H_
#define EMULSION_BENCHMARKS_SIDE_BY_SIDE_BENCHMARKS_H_

// Measures pairs of kernels, as Google Benchmark knows them: "1024x1024x1024/one_thread/emulsion",
// ".../emulsion_again" and ".../peer", in random order over the whole run.

#include <functional>
#include <string>
#include <vector>

#include "benchmarks/benchmark_program.h"
#include "benchmarks/side_by_side.h"

namespace emulsion::benchmarks {

// The same computation, called in two ways.
struct KernelPair {
  std::string name, peer, unit;
  double work = 0;                     // of one call, in the unit times seconds
  std::function<void()> prepare = {};  // before each measurement: the number of threads
  std::function<void()> emulsion = {}, call_peer = {};
};

std::vector<SideBySide> measure_side_by_side(const std::vector<KernelPair>& pairs,
                                             const ProgramOptions& options);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_SIDE_BY_SIDE_BENCHMARKS_H_
