#ifndef EMULSION_BACKENDS_TRACKER_PATTERN_MEASUREMENT_H_
#define EMULSION_BACKENDS_TRACKER_PATTERN_MEASUREMENT_H_

// One measurement of a fusion: the same pattern operation by operation and as one.

#include <cstdint>
#include <string>
#include <vector>

#include "passes/fuse/measured_fusions.h"

namespace emulsion {

// One of the two ways.
struct WayMeasured {
  double seconds = 0;           // of one run: the median
  int64_t kernel_calls = 0;     // operations and groups, each a pass over its data
  int64_t bytes_allocated = 0;  // between operations, at one time
  int64_t traffic = 0;          // bytes, as measure_traffic() counts them
};

struct PatternMeasurement {
  MeasuredFusion fact;  // its speed-up is that of the medians
  std::string shape;    // "500x500x64"
  WayMeasured unfused, fused;
};

// Of at least one value; of an even number of them the mean of the middle two.
double median(std::vector<double> values);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_TRACKER_PATTERN_MEASUREMENT_H_
