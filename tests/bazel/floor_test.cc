#include "bazel/testing/floor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace emulsion::testing {
namespace {

using ::testing::HasSubstr;

SuiteRun Executed(int cases, const char* floor) {
  SuiteRun run;
  run.executed = cases;
  run.floor = floor;
  return run;
}

TEST(FloorTest, EnoughCasesPass) { EXPECT_EQ(WhyBelowFloor(Executed(3, "3")), ""); }

TEST(FloorTest, NoFloorPasses) { EXPECT_EQ(WhyBelowFloor(Executed(0, nullptr)), ""); }

TEST(FloorTest, OneCaseTooFewIsNamedWithBothNumbers) {
  EXPECT_THAT(WhyBelowFloor(Executed(2, "3")), HasSubstr("executed 2 test cases, the floor is 3"));
}

TEST(FloorTest, SkippedCasesDoNotCount) {
  SuiteRun run = Executed(2, "3");
  run.skipped.push_back({"Amx.Runs", "this machine has no AMX"});
  EXPECT_THAT(WhyBelowFloor(run), HasSubstr("executed 2"));
}

TEST(FloorTest, ASkipWithoutReasonFails) {
  SuiteRun run = Executed(3, "3");
  run.skipped.push_back({"Amx.Runs", ""});
  EXPECT_THAT(WhyBelowFloor(run), HasSubstr("Amx.Runs is skipped without a reason"));
}

TEST(FloorTest, APartOfTheSuiteHasNoFloor) {
  SuiteRun run = Executed(1, "3");
  run.partial = true;
  EXPECT_EQ(WhyBelowFloor(run), "");
}

TEST(FloorTest, AFloorThatIsNoNumberFails) {
  for (const char* floor : {"", "three", "3x", "-1"}) {
    EXPECT_THAT(WhyBelowFloor(Executed(3, floor)), HasSubstr("expected a number of test cases"));
  }
}

TEST(FloorTest, TheFloorReachesTheProcess) {
  ASSERT_NE(std::getenv("EMULSION_TEST_FLOOR"), nullptr);
  EXPECT_STREQ(std::getenv("EMULSION_TEST_FLOOR"), "8");
}

}  // namespace
}  // namespace emulsion::testing
