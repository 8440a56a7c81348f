#include "bazel/testing/floor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "bazel/testing/needs.h"

namespace emulsion::test_run {
namespace {

using ::testing::HasSubstr;

// No processor has all of it: what Sapphire Rapids and Zen 5 alone have.
const Target kNobodys = Target::parse("x86-64-linux-avx512_sapphirerapids-avx512_zen5");

SuiteRun Executed(int cases, const char* floor) {
  SuiteRun run;
  run.registered = cases;
  run.executed = cases;
  run.floor = floor;
  return run;
}

SuiteRun Shard(int registered, int executed, int shard, const char* floor) {
  SuiteRun run = Executed(executed, floor);
  run.registered = registered;
  run.shards = 4;
  run.shard = shard;
  return run;
}

SuiteRun Skipping(const std::string& reason, int executed, const char* floor) {
  SuiteRun run = Executed(executed, floor);
  run.registered = executed + 1;
  run.skipped.push_back({"Wide.Runs", reason});
  return run;
}

TEST(FloorTest, EnoughCasesPass) { EXPECT_EQ(WhyBelowFloor(Executed(3, "3")), ""); }

TEST(FloorTest, NoFloorPasses) { EXPECT_EQ(WhyBelowFloor(Executed(0, nullptr)), ""); }

TEST(FloorTest, OneCaseTooFewIsNamedWithBothNumbers) {
  EXPECT_EQ(WhyBelowFloor(Executed(2, "3")), "the suite has 2 test cases, the floor is 3");
}

TEST(FloorTest, OneCaseNotExecutedIsNamedWithBothNumbers) {
  SuiteRun run = Executed(2, "3");
  run.registered = 3;
  EXPECT_EQ(WhyBelowFloor(run), "executed 2 test cases, the floor is 3");
}

TEST(FloorTest, SkippedCasesDoNotCount) {
  EXPECT_THAT(WhyBelowFloor(Skipping("no network", 2, "3")), HasSubstr("executed 2"));
  EXPECT_EQ(WhyBelowFloor(Skipping("no network", 3, "3")), "");
}

TEST(FloorTest, ASkipWithoutReasonFails) {
  EXPECT_THAT(WhyBelowFloor(Skipping("", 3, "3")),
              HasSubstr("Wide.Runs is skipped without a reason"));
}

TEST(FloorTest, ANeedOfTheProcessorCounts) {
  EXPECT_EQ(WhyBelowFloor(Skipping(WhyItDoesNotRun(kNobodys), 2, "3")), "");
  EXPECT_THAT(WhyBelowFloor(Skipping(WhyItDoesNotRun(kNobodys), 2, "4")),
              HasSubstr("the suite has 3 test cases"));
}

TEST(FloorTest, ANeedThatThisProcessorMeetsFails) {
  EXPECT_EQ(WhyBelowFloor(Skipping("needs x86-64-linux; this CPU has no luck", 3, "3")),
            "Wide.Runs is skipped, but this CPU has it: needs x86-64-linux; this CPU has no luck");
}

TEST(FloorTest, AnotherNeedDoesNotCount) {
  for (const char* reason : {"needs two cores; this machine has one", "needs x86-64-linux-sse9",
                             "needs x86-64-linux-sse9; this CPU has no sse9"}) {
    EXPECT_THAT(WhyBelowFloor(Skipping(reason, 2, "3")), HasSubstr("executed 2")) << reason;
  }
}

TEST(FloorTest, EveryShardSeesThatTheSuiteIsTooSmall) {
  for (int shard = 0; shard < 4; ++shard) {
    EXPECT_EQ(WhyBelowFloor(Shard(8, 2, shard, "9")), "the suite has 8 test cases, the floor is 9");
  }
}

// Eleven cases: shards 0, 1 and 2 have three of them, shard 3 has two.
TEST(FloorTest, AShardExecutesItsPartOfTheFloor) {
  for (int shard = 0; shard < 4; ++shard) {
    const int cases = shard == 3 ? 2 : 3;
    EXPECT_EQ(WhyBelowFloor(Shard(11, cases, shard, "11")), "");
    EXPECT_EQ(WhyBelowFloor(Shard(11, cases - 1, shard, "11")),
              "executed " + std::to_string(cases - 1) + " test cases in shard " +
                  std::to_string(shard) + ", the floor is " + std::to_string(cases) + " of 11");
  }
}

TEST(FloorTest, AShardWithoutCasesPasses) {
  EXPECT_EQ(WhyBelowFloor(Shard(3, 0, 3, "3")), "");
  EXPECT_NE(WhyBelowFloor(Shard(3, 0, 2, "3")), "");
}

TEST(FloorTest, AFilteredSuiteIsOnlyCounted) {
  SuiteRun run = Executed(1, "3");
  run.registered = 3;
  run.filtered = true;
  EXPECT_EQ(WhyBelowFloor(run), "");
  run.registered = 2;
  EXPECT_EQ(WhyBelowFloor(run), "the suite has 2 test cases, the floor is 3");
}

TEST(FloorTest, AFloorThatIsNoNumberFails) {
  for (const char* floor : {"", "three", "3x", "-1"}) {
    EXPECT_THAT(WhyBelowFloor(Executed(3, floor)), HasSubstr("expected a number of test cases"));
  }
}

TEST(FloorTest, TheFloorReachesTheProcess) {
  ASSERT_NE(std::getenv("EMULSION_TEST_FLOOR"), nullptr);
  EXPECT_STREQ(std::getenv("EMULSION_TEST_FLOOR"), "18");
}

TEST(NeedsTest, WhatRunsHereNeedsNothing) {
  EXPECT_EQ(WhyItDoesNotRun(Target::parse("x86-64-linux")), "");
  EXPECT_EQ(JudgeNeed(""), Need::kNone);
}

TEST(NeedsTest, WhatIsMissingIsNamed) {
  EXPECT_THAT(WhyItDoesNotRun(kNobodys), HasSubstr("; this CPU has no "));
  EXPECT_THAT(WhyItDoesNotRun(kNobodys), HasSubstr("avx512_zen5"));
  EXPECT_EQ(JudgeNeed(WhyItDoesNotRun(kNobodys)), Need::kMissing);
}

TEST(NeedsTest, AnotherArchitectureIsNamed) {
  EXPECT_THAT(WhyItDoesNotRun(Target::tile_machine()), HasSubstr("this CPU has no tile-machine"));
  EXPECT_EQ(JudgeNeed(WhyItDoesNotRun(Target::tile_machine())), Need::kMissing);
}

}  // namespace
}  // namespace emulsion::test_run
