#ifndef EMULSION_TESTS_FUZZ_COMPARISONS_H_
#define EMULSION_TESTS_FUZZ_COMPARISONS_H_

// Where a run went, by the comparisons that it made. Code that is compiled with
// -fsanitize-coverage=trace-cmp, as that of an emulsion_sanitized_test for addresses is, calls a
// function at each comparison and each switch. Here is that function. Of one thread only.

#include <cstdint>
#include <vector>

namespace emulsion {

void start_comparing();

struct Comparisons {
  // Each once: a place in the code, how a comparison there came out, and about how often. The same
  // numbers in every process of one program.
  std::vector<uint32_t> outcomes;
  uint64_t made = 0;
};

// What was compared since start_comparing().
Comparisons stop_comparing();

// Outcomes are less.
constexpr uint32_t kMostOutcomes = 1U << 23;

}  // namespace emulsion

#endif  // EMULSION_TESTS_FUZZ_COMPARISONS_H_
