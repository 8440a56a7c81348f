#include "bazel/testing/floor.h"

#include <cstdlib>

#include "bazel/testing/needs.h"

namespace emulsion::test_run {
namespace {

// How many of the first `floor` cases GoogleTest gives to this shard.
long ShareOfFloor(long floor, const SuiteRun& run) {
  return floor / run.shards + (run.shard < floor % run.shards ? 1 : 0);
}

std::string NumberOfCases(long count) { return std::to_string(count) + " test cases"; }

}  // namespace

std::string WhyBelowFloor(const SuiteRun& run) {
  long excused = 0;
  for (const Skip& skip : run.skipped) {
    if (skip.reason.empty()) {
      return skip.name + " is skipped without a reason: write GTEST_SKIP() << \"why\"";
    }
    switch (JudgeNeed(skip.reason)) {
      case Need::kMissing:
        ++excused;
        break;
      case Need::kMet:
        return skip.name + " is skipped, but this CPU has it: " + skip.reason;
      case Need::kNone:
        break;
    }
  }
  if (run.floor == nullptr) return "";
  char* end = nullptr;
  const long floor = std::strtol(run.floor, &end, 10);
  if (end == run.floor || *end != '\0' || floor < 0) {
    return std::string("EMULSION_TEST_FLOOR: expected a number of test cases, got '") + run.floor +
           "'";
  }
  if (run.registered < floor) {
    return "the suite has " + NumberOfCases(run.registered) + ", the floor is " +
           std::to_string(floor);
  }
  const long share = ShareOfFloor(floor, run);
  if (run.filtered || run.executed + excused >= share) return "";
  std::string why = "executed " + NumberOfCases(run.executed);
  if (excused > 0) why += " (" + std::to_string(excused) + " more need another CPU)";
  if (run.shards > 1) why += " in shard " + std::to_string(run.shard);
  why += ", the floor is " + std::to_string(share);
  if (run.shards > 1) why += " of " + std::to_string(floor);
  return why;
}

}  // namespace emulsion::test_run
