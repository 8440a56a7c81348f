#include "tests/random/run_in_children.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace emulsion {
namespace {

TEST(RunInChildrenTest, ReturnsWhatTheTasksReturn) {
  announce("nobody listens");
  const auto results = run_in_children({[] { return "one"; }, [] { return "two"; }});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].text, "one");
  EXPECT_EQ(results[1].text, "two");
  EXPECT_EQ(results[0].crash + results[1].crash, "");
}

TEST(RunInChildrenTest, ACrashIsAResultWithTheLastAnnouncement) {
  auto crashes = []() -> std::string {
    announce("begins");
    announce("divides by zero");
    std::abort();
  };
  const auto results = run_in_children({[] { return "one"; }, crashes, [] { return "three"; }});
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[0].text, "one");
  EXPECT_NE(results[1].crash.find("Aborted"), std::string::npos) << results[1].crash;
  EXPECT_NE(results[1].crash.find("divides by zero"), std::string::npos) << results[1].crash;
  EXPECT_EQ(results[2].text, "three");
}

// What an earlier task announced is not what a later one did.
TEST(RunInChildrenTest, AnAnnouncementEndsWithItsTask) {
  auto announces = []() -> std::string {
    announce("the first");
    return "one";
  };
  auto exits = []() -> std::string { std::_Exit(3); };
  const auto results = run_in_children({announces, exits});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[1].crash, "the process ended with 3");
}

}  // namespace
}  // namespace emulsion
