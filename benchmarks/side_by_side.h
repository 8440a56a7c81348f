#ifndef EMULSION_BENCHMARKS_SIDE_BY_SIDE_H_
#define EMULSION_BENCHMARKS_SIDE_BY_SIDE_H_

// One schedule said in Emulsion's words and in Halide's own: what our layer adds at run time. Both
// are measured in one run, interleaved, and Emulsion's a second time, which is the noise.

#include <optional>
#include <string>
#include <vector>

#include "benchmarks/samples.h"

namespace emulsion::benchmarks {

// The seconds of one call.
struct SideBySide {
  std::string name;  // "1024x1024x1024, 1 thread"
  double work = 0;   // of one call, in the unit of the report: operations, pixels, bytes
  Samples emulsion, emulsion_again, halide;
};

// Rates are work a second; a ratio above 1: Emulsion's kernel is faster.
struct SideBySideRow {
  std::string name;
  std::optional<double> emulsion_rate, emulsion_spread, halide_rate, halide_spread;
  std::optional<double> over_halide, over_itself;
};

std::vector<SideBySideRow> summarise(const std::vector<SideBySide>& all);

// Rows where Emulsion's kernel is more than 5 % slower, the worst first; said too: when it differs
// as much from itself.
std::vector<std::string> losses(const std::vector<SideBySideRow>& rows);

// `unit` of the printed rates, "GF/s", which are `scale` times the rate. Losses come first.
std::string report_text(const std::vector<SideBySide>& all, const std::string& unit, double scale);
// The same numbers, with null for what was not measured; rates without the scale.
std::string report_json(const std::vector<SideBySide>& all);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_SIDE_BY_SIDE_H_
