// What a test case needs of the processor.
//
// A kernel for instructions that the processor has not is compiled and not run. The case says so by
// a skip of one form, `needs x86-64-linux-...; this CPU has no ...`, which SKIP_UNLESS_IT_RUNS
// writes: so the floor can tell a need from an excuse, and ask the processor whether it holds.

#ifndef EMULSION_BAZEL_TESTING_NEEDS_H_
#define EMULSION_BAZEL_TESTING_NEEDS_H_

#include <string>

#include "dsl/target.h"

// Ends the test case, skipped, when this machine cannot run code for `target`.
#define SKIP_UNLESS_IT_RUNS(target)                                                      \
  if (const std::string why = emulsion::test_run::WhyItDoesNotRun(target); !why.empty()) \
  GTEST_SKIP() << why

namespace emulsion::test_run {

// "needs x86-64-linux-avx512...; this CPU has no avx512"; empty when the target runs here.
std::string WhyItDoesNotRun(const Target& target);

enum class Need {
  kNone,     // the reason names no need of the processor
  kMet,      // it does, and this processor has it
  kMissing,  // it does, and this processor has it not
};
// Reads what WhyItDoesNotRun() wrote.
Need JudgeNeed(const std::string& reason);

}  // namespace emulsion::test_run

#endif  // EMULSION_BAZEL_TESTING_NEEDS_H_
