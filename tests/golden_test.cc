#include "tests/golden.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "tests/scoped_variable.h"

namespace emulsion {
namespace {

constexpr const char* kUpdate = "EMULSION_UPDATE_GOLDENS";

TEST(Golden, IsNamedByTheTest) {
  EXPECT_EQ(golden_path(), "tests/golden/Golden/IsNamedByTheTest.txt");
}

TEST(Golden, MatchesTheSameText) { EXPECT_TRUE(matches_golden("one line\n")); }

TEST(Golden, RefusesAnotherText) {
  const ScopedVariable none(kUpdate, std::nullopt);
  const testing::AssertionResult result = matches_golden("another line\n");
  EXPECT_FALSE(result);
  EXPECT_NE(std::string(result.message()).find("got\nanother line"), std::string::npos);
}

TEST(Golden, RefusesAMissingGolden) {
  const ScopedVariable none(kUpdate, std::nullopt);
  const testing::AssertionResult result = matches_golden("text\n");
  EXPECT_FALSE(result);
  EXPECT_NE(std::string(result.message()).find("not there"), std::string::npos);
}

// The flag names the folder to write into; without it nothing is ever written.
TEST(Golden, WritesWhereTheFlagSays) {
  const std::string root = testing::TempDir();
  const ScopedVariable flag(kUpdate, root);
  const testing::AssertionResult written = matches_golden("what is found now\n");
  EXPECT_TRUE(written);
  std::ifstream file(root + "/" + golden_path());
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "what is found now\n");
}

TEST(Golden, RefusesALongText) {
  const testing::AssertionResult result = matches_golden(std::string(1025, 'x'));
  EXPECT_FALSE(result);
  EXPECT_NE(std::string(result.message()).find("at most 1024 bytes"), std::string::npos);
}

}  // namespace
}  // namespace emulsion
