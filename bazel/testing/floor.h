// A floor under the number of test cases that a suite executes.
//
// A suite can pass because its cases did not run: a generator of parameters came out empty, a skip
// was meant for one machine and holds on all, a file was dropped from the BUILD file. So each suite
// states how many cases it executes at least (`floor` of emulsion_cc_test), and fewer is a failure.
// A skipped case was not executed, and is only allowed with a reason. Whoever asks for a part of
// the suite (a filter, a shard) gets no floor.

#ifndef EMULSION_BAZEL_TESTING_FLOOR_H_
#define EMULSION_BAZEL_TESTING_FLOOR_H_

#include <string>
#include <vector>

namespace emulsion::testing {

struct Skip {
  std::string name;
  std::string reason;
};

struct SuiteRun {
  int executed = 0;  // passed or failed
  std::vector<Skip> skipped;
  bool partial = false;         // a filter or a shard is active
  const char* floor = nullptr;  // as the environment has it; null for none
};

// What is wrong with the run, one sentence; empty when nothing is.
std::string WhyBelowFloor(const SuiteRun& run);

}  // namespace emulsion::testing

#endif  // EMULSION_BAZEL_TESTING_FLOOR_H_
