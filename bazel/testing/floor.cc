#include "bazel/testing/floor.h"

#include <cstdlib>

namespace emulsion::testing {

std::string WhyBelowFloor(const SuiteRun& run) {
  for (const Skip& skip : run.skipped) {
    if (skip.reason.empty()) {
      return skip.name + " is skipped without a reason: write GTEST_SKIP() << \"why\"";
    }
  }
  if (run.floor == nullptr || run.partial) return "";
  char* end = nullptr;
  const long floor = std::strtol(run.floor, &end, 10);
  if (end == run.floor || *end != '\0' || floor < 0) {
    return std::string("EMULSION_TEST_FLOOR: expected a number of test cases, got '") + run.floor +
           "'";
  }
  if (run.executed >= floor) return "";
  return "executed " + std::to_string(run.executed) + " test cases, the floor is " +
         std::to_string(floor);
}

}  // namespace emulsion::testing
