#ifndef EMULSION_BENCHMARKS_LOWERING_REPORT_H_
#define EMULSION_BENCHMARKS_LOWERING_REPORT_H_

// How long schedules take to become loop nests: the table of //benchmarks:lowering.

#include <string>
#include <vector>

#include "benchmarks/samples.h"

namespace emulsion::benchmarks {

// One graph with one schedule.
struct Lowering {
  std::string source;  // a lesson, or "derived"
  std::string name;
  int64_t loops = 0;  // of its nest
  Samples seconds;    // to lower it and to verify the nest
};

// "{"step": .., "loops": .., "seconds": [..]}", as a lesson writes it. Error: anything else.
Lowering parse_lowering(const std::string& source, const std::string& line);

// Schedules that take 10 ms or more, the slowest first.
std::vector<std::string> losses(const std::vector<Lowering>& all);

// Losses come first.
std::string report_text(const std::vector<Lowering>& all);
std::string report_json(const std::vector<Lowering>& all);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_LOWERING_REPORT_H_
