#ifndef EMULSION_TESTS_RANDOM_EXPECT_IN_CHILDREN_H_
#define EMULSION_TESTS_RANDOM_EXPECT_IN_CHILDREN_H_

// Random graphs whose kernels are compiled and run in child processes (run_in_children.h).

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace emulsion {

// Calls `check` in child processes. Each number for which it returns a text, throws or ends the
// process is a failure of the test that says so, and how to run it alone.
void expect_nothing_wrong(const std::vector<int>& numbers, uint64_t seed,
                          const std::function<std::string(int)>& check);
// Adds that failure.
void add_failure_of(uint64_t seed, int number, const std::string& what);

}  // namespace emulsion

#endif  // EMULSION_TESTS_RANDOM_EXPECT_IN_CHILDREN_H_
