#ifndef EMULSION_BENCHMARKS_PROGRESS_H_
#define EMULSION_BENCHMARKS_PROGRESS_H_

// A run takes minutes, and its result comes at the end: these lines on standard error say that it
// is alive.

#include <string>

namespace emulsion::benchmarks {

// Says what is being done, at most once in a few seconds.
void report_progress(const std::string& what);
// Says it now.
void announce(const std::string& what);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_PROGRESS_H_
