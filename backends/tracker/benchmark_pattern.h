#ifndef EMULSION_BACKENDS_TRACKER_BENCHMARK_PATTERN_H_
#define EMULSION_BACKENDS_TRACKER_BENCHMARK_PATTERN_H_

// Whether a fusion pays on this machine: compiled both ways into this process and timed in turns.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "backends/tracker/pattern_measurement.h"
#include "dsl/target.h"

namespace emulsion {

struct BenchmarkPatternOptions {
  int repeats = 7;  // of each way, one after the other
  Target target = Target::host();
  // Seconds since whenever. Empty: a clock that only goes forward.
  std::function<double()> clock = {};
};

// `pattern` as in passes/fuse/named_pattern.h, in f32, at `shape`, as graph_of() there takes it; or
// one of patterns_by_shape() (measured_fusions.h), at rows and columns of its result.
// Each time is that of enough calls for a millisecond. Error: a pattern or a shape that is none, a
// shape at which the derived schedule would not take it by itself (windows of what stays in a
// cache), fewer repeats than one, a target that this machine is not, results that differ. This
// machine is a target of which it has all features, and of 1 core or as many as it has. Caches are
// not compared: they are what a schedule reckons with, and that is measured.
PatternMeasurement benchmark_pattern(const std::string& pattern, const std::vector<int64_t>& shape,
                                     const BenchmarkPatternOptions& options = {});

// "512x1024x64". Error: anything but numbers above 0 between x.
std::vector<int64_t> parse_pattern_shape(const std::string& text);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_TRACKER_BENCHMARK_PATTERN_H_
