#include "backends/runtime/skip_targets.h"

#include <gtest/gtest.h>

#include <thread>

#include "HalideRuntime.h"

namespace emulsion::runtime {
namespace {

// No feature at all: every processor has that.
bool asked() {
  const uint64_t nothing[2] = {0, 0};
  return halide_can_use_target_features(2, nothing) != 0;
}

TEST(SkipTargetsTest, RefusesTheFirstQuestionsOfEachCall) {
  SkipTargets skip(2);
  EXPECT_FALSE(asked());
  EXPECT_FALSE(asked());
  EXPECT_TRUE(asked());
  skip.restart();
  EXPECT_FALSE(asked());
}

TEST(SkipTargetsTest, EndsWithItsScope) {
  { SkipTargets skip(1); }
  EXPECT_TRUE(asked());
}

TEST(SkipTargetsTest, LeavesOtherThreadsAlone) {
  SkipTargets skip(1);
  bool other = false;
  std::thread([&] { other = asked(); }).join();
  EXPECT_TRUE(other);
  EXPECT_FALSE(asked());
}

}  // namespace
}  // namespace emulsion::runtime
