// main() of a test suite: GoogleTest's own, and the floor of floor.h after it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "bazel/testing/floor.h"

namespace {

using emulsion::testing::Skip;
using emulsion::testing::SuiteRun;

std::string SkipReason(const testing::TestResult& result) {
  for (int i = 0; i < result.total_part_count(); ++i) {
    const testing::TestPartResult& part = result.GetTestPartResult(i);
    if (!part.skipped()) continue;
    std::string reason = part.message();
    reason.erase(0, reason.find_first_not_of(" \n"));
    return reason;
  }
  return "";
}

SuiteRun Describe(const testing::UnitTest& unit_test) {
  SuiteRun run;
  for (int s = 0; s < unit_test.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *unit_test.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const testing::TestInfo& info = *suite.GetTestInfo(t);
      if (!info.should_run()) continue;
      if (info.result()->Skipped()) {
        run.skipped.push_back(
            {std::string(suite.name()) + "." + info.name(), SkipReason(*info.result())});
      } else {
        ++run.executed;
      }
    }
  }
  const char* shards = std::getenv("GTEST_TOTAL_SHARDS");
  if (shards == nullptr) shards = std::getenv("TEST_TOTAL_SHARDS");
  run.partial = GTEST_FLAG_GET(filter) != "*" || GTEST_FLAG_GET(list_tests) ||
                (shards != nullptr && std::atoi(shards) > 1);
  run.floor = std::getenv("EMULSION_TEST_FLOOR");
  return run;
}

// As an environment, its failure is one of the suite, and is in the XML report too.
class Floor : public testing::Environment {
 public:
  void TearDown() override {
    const SuiteRun run = Describe(*testing::UnitTest::GetInstance());
    for (const Skip& skip : run.skipped) {
      std::printf("[ SKIPPED  ] %s: %s\n", skip.name.c_str(), skip.reason.c_str());
    }
    const std::string why = emulsion::testing::WhyBelowFloor(run);
    if (!why.empty()) ADD_FAILURE() << why;
  }
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  testing::AddGlobalTestEnvironment(new Floor);
  return RUN_ALL_TESTS();
}
