#include "bazel/user_path.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace emulsion {
namespace {

class UserPath : public ::testing::Test {
 protected:
  void SetUp() override { setenv("BUILD_WORKING_DIRECTORY", "/home/ada/work", 1); }
  void TearDown() override { unsetenv("BUILD_WORKING_DIRECTORY"); }
};

TEST_F(UserPath, IsRelativeToWhereBazelWasStarted) {
  EXPECT_EQ(user_path("plan.svg"), "/home/ada/work/plan.svg");
}

TEST_F(UserPath, StaysWhenItIsAbsolute) { EXPECT_EQ(user_path("/tmp/plan.svg"), "/tmp/plan.svg"); }

TEST_F(UserPath, StaysWithoutBazel) {
  unsetenv("BUILD_WORKING_DIRECTORY");
  EXPECT_EQ(user_path("plan.svg"), "plan.svg");
}

TEST_F(UserPath, NoPathStaysNone) { EXPECT_EQ(user_path(""), ""); }

}  // namespace
}  // namespace emulsion
