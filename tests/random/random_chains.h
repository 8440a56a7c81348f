#ifndef EMULSION_TESTS_RANDOM_RANDOM_CHAINS_H_
#define EMULSION_TESTS_RANDOM_RANDOM_CHAINS_H_

// Chains of comprehensions as people write them by hand, in which the special cases of derived
// schedules meet: statistics of rows and what is done with them, products with series behind them,
// windows, moves, places from data, one behind another, of awkward extents and run-time sizes, with
// several users and outputs in between. Random graphs have operators alone, and random
// comprehensions nothing that goes on for more than a few random operations.

#include <cstdint>
#include <set>
#include <string>

#include "tests/random/schedule_programs.h"

namespace emulsion {

struct ChainOptions {
  int64_t most_steps = 6000;    // of one comprehension, which interpreters walk
  bool differentiable = false;  // of f64, without places from data
  // Extents up to thousands, at which threads share the work: to be lowered, not to be run.
  bool large = false;
};

struct RandomChain {
  ScheduleProgram program;
  // What it has: "run-time size", "rows", "product", "series", "window", "move", "places of data",
  // "pixels", "narrow types", "several outputs", "exact".
  std::set<std::string> kinds;
};

// Number `index` of a run from `seed`.
RandomChain random_chain(uint64_t seed, int index, const ChainOptions& options = {});

}  // namespace emulsion

#endif  // EMULSION_TESTS_RANDOM_RANDOM_CHAINS_H_
