#ifndef EMULSION_BENCHMARKS_SIDE_BY_SIDE_H_
#define EMULSION_BENCHMARKS_SIDE_BY_SIDE_H_

// A kernel of Emulsion beside a peer that computes the same: often the same schedule in Halide's
// own words, which is what our layer adds at run time. Both are measured in one run, interleaved,
// and Emulsion's a second time, which is the noise.

#include <optional>
#include <string>
#include <vector>

#include "benchmarks/samples.h"

namespace emulsion::benchmarks {

// The seconds of one call.
struct SideBySide {
  std::string name;  // "1024x1024x1024, 1 thread"
  std::string peer;  // "Halide"
  std::string unit;  // of what is printed: "GF/s"
  double work = 0;   // of one call, in that unit times seconds
  Samples emulsion, emulsion_again, of_peer;
};

// Rates are work a second; a ratio above 1: Emulsion's kernel is faster.
struct SideBySideRow {
  std::string name, peer, unit;
  std::optional<double> emulsion_rate, emulsion_spread, peer_rate, peer_spread;
  std::optional<double> over_peer, over_itself;
};

std::vector<SideBySideRow> summarise(const std::vector<SideBySide>& all);

// Rows where Emulsion's kernel is more than 5 % slower, the worst first; said too: when it differs
// as much from itself.
std::vector<std::string> losses(const std::vector<SideBySideRow>& rows);

// Losses come first.
std::string report_text(const std::vector<SideBySide>& all);
// The same numbers, with null for what was not measured.
std::string report_json(const std::vector<SideBySide>& all);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_SIDE_BY_SIDE_H_
