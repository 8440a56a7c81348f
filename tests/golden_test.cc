#include "tests/golden.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace emulsion {
namespace {

TEST(Golden, IsNamedByTheTest) {
  EXPECT_EQ(golden_path(), "tests/golden/Golden/IsNamedByTheTest.txt");
}

TEST(Golden, MatchesTheSameText) { EXPECT_TRUE(matches_golden("one line\n")); }

TEST(Golden, RefusesAnotherText) {
  if (std::getenv("EMULSION_UPDATE_GOLDENS") != nullptr) GTEST_SKIP();
  const testing::AssertionResult result = matches_golden("another line\n");
  EXPECT_FALSE(result);
  EXPECT_NE(std::string(result.message()).find("got\nanother line"), std::string::npos);
}

TEST(Golden, RefusesAMissingGolden) {
  if (std::getenv("EMULSION_UPDATE_GOLDENS") != nullptr) GTEST_SKIP();
  const testing::AssertionResult result = matches_golden("text\n");
  EXPECT_FALSE(result);
  EXPECT_NE(std::string(result.message()).find("not there"), std::string::npos);
}

TEST(Golden, RefusesALongText) {
  const testing::AssertionResult result = matches_golden(std::string(1025, 'x'));
  EXPECT_FALSE(result);
  EXPECT_NE(std::string(result.message()).find("at most 1024 bytes"), std::string::npos);
}

}  // namespace
}  // namespace emulsion
