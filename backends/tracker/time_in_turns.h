#ifndef EMULSION_BACKENDS_TRACKER_TIME_IN_TURNS_H_
#define EMULSION_BACKENDS_TRACKER_TIME_IN_TURNS_H_

// A graph that was lowered in two ways: both are compiled into this process, compared and timed.

#include <functional>
#include <string>
#include <utility>

#include "backends/tracker/pattern_measurement.h"
#include "dsl/target.h"
#include "passes/pipeline.h"

namespace emulsion {

// What was measured of either way: first of `unfused`, then of `fused`, `repeats` times. Each
// sample is the time of enough calls for a millisecond. `clock` gives seconds since whenever; empty
// stands for one that only goes forward. Errors, which begin with `what`: fewer repeats than one,
// results that differ (before anything is timed), and times that are not above 0; further
// JitKernel's, where the target is not this machine's.
std::pair<WayMeasured, WayMeasured> time_in_turns(const std::string& what, const Lowered& unfused,
                                                  const Lowered& fused, const Target& target,
                                                  int repeats,
                                                  const std::function<double()>& clock = {});

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_TRACKER_TIME_IN_TURNS_H_
