#ifndef EMULSION_BENCHMARKS_REPORT_H_
#define EMULSION_BENCHMARKS_REPORT_H_

// The table that every benchmark ends with, for people and for programs. It is apart from what
// measures, so that it can be tested with seconds that are made up. README.md says what the columns
// mean.

#include <optional>
#include <string>
#include <vector>

#include "benchmarks/samples.h"

namespace emulsion::benchmarks {

// What a row is held against: another way to compute the same, or what the machine can do at best.
struct Peer {
  std::string name;  // "Halide"
  Samples seconds;   // of one call
  double work = 0;   // of one call, in the row's unit times seconds; 0: as much as the row's
  std::optional<double> mark = {};  // below this share of the peer's speed the row loses
};

// What was not measured has no samples.
struct Row {
  std::string name;      // "1024x1024x1024/one_thread"
  std::string unit;      // "GF/s"; where time itself counts "s", "ms" or "us"
  double work = 0;       // of one call, in the unit times seconds; 0 where time itself counts
  Samples seconds = {};  // of one call
  Samples again = {};    // a second copy of the same measurement, which shows the noise
  std::vector<Peer> peers = {};
  std::optional<double> limit = {};  // in seconds; a call that takes as many or more loses
};

struct Report {
  std::vector<Row> rows = {};
  std::vector<std::string> warnings = {};  // why the numbers are no results
  std::vector<std::string> notes = {};     // what was measured
};

// A peer's mark where nothing else is said: noise takes a few percent.
constexpr double kMark = 0.95;

// What is below its mark or above its limit, the worst first. A loss that the row's own noise could
// explain says so.
std::vector<std::string> losses(const Report& report);

// Warnings and losses come first. A dash is what was not measured of a row. A row of which nothing
// was measured is left out: a filter said so, or Ctrl-C came first.
std::string report_text(const Report& report);
// The same numbers of the same rows, with null for a dash.
std::string report_json(const Report& report);

// 0.123 as "12.3".
std::string percent(const std::optional<double>& share);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_REPORT_H_
