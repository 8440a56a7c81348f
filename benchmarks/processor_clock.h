#ifndef EMULSION_BENCHMARKS_PROCESSOR_CLOCK_H_
#define EMULSION_BENCHMARKS_PROCESSOR_CLOCK_H_

#include <ctime>

namespace emulsion::benchmarks {

// The time that processors have spent on the calling thread, in seconds: what else runs on the
// machine takes none of it.
inline double processor_clock() {
  constexpr double kNano = 1e-9;
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * kNano;
}

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_PROCESSOR_CLOCK_H_
