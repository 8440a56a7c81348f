#ifndef EMULSION_BENCHMARKS_LINEAR_REPORT_H_
#define EMULSION_BENCHMARKS_LINEAR_REPORT_H_

// The table, for people and for programs. README.md says what the columns mean.

#include <string>

#include "benchmarks/linear_summary.h"

namespace emulsion::benchmarks {

// Ends with a newline. Losses come first.
std::string report_text(const LinearRun& run);
// The same numbers, with null for what was not measured.
std::string report_json(const LinearRun& run);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_LINEAR_REPORT_H_
