#include "passes/fuse/loop_policy.h"

#include <gtest/gtest.h>

#include "dsl/operators.h"
#include "passes/fuse/fuse_epilogues.h"

namespace emulsion {
namespace {

// x -> t -> m -> y, where t and m cannot be groups with what reads them.
Graph graph() {
  const Tensor x = input("x", f32, {6, 8});
  const Tensor m = reduce_max(transpose(x, {1, 0}, "t"), {1}, true, "m");
  return Graph(sub(input("z", f32, {8, 6}), m, "y"));
}

FusionReport refused() {
  FusionReport report;
  fuse_epilogues(graph(), always_fuse, &report);
  EXPECT_EQ(report.decisions.size(), 2u);
  EXPECT_EQ(report.fused_count(), 0);
  return report;
}

FusionReport after(const FusionDecision& loops) {
  return without_what_loops_do(refused(), graph(), {{loops}});
}

TEST(WithoutWhatLoopsDo, WhatIsInOneLoopIsNotRefused) {
  const FusionReport left = after({"m", "y", true, "", kSharedRows});
  ASSERT_EQ(left.decisions.size(), 1u);
  EXPECT_EQ(left.decisions[0].producer, "t");
}

TEST(WithoutWhatLoopsDo, NorIsAMoveThatIsReadThrough) {
  const FusionReport left = after({"t", "m", true, "", kReadThrough});
  ASSERT_EQ(left.decisions.size(), 1u);
  EXPECT_EQ(left.decisions[0].producer, "m");
}

TEST(WithoutWhatLoopsDo, WhatStaysApartStaysRefused) {
  EXPECT_EQ(after({"m", "y", false, "expected more", kSharedRows}).decisions.size(), 2u);
  EXPECT_EQ(after({"t", "m", false, "expected more", kReadThrough}).decisions.size(), 2u);
}

TEST(WithoutWhatLoopsDo, SoDoWhatOthersAreInLoopsOf) {
  EXPECT_EQ(after({"t", "y", true, "", kSharedRows}).decisions.size(), 2u);
  EXPECT_EQ(after({"m", "y", true, "", kSiblings}).decisions.size(), 2u);
}

TEST(WithoutWhatLoopsDo, WhatWasFusedStays) {
  FusionReport fused;
  fused.decisions = {{"m", "y", true, "", kElementwiseChain}};
  const FusionReport loops = {{{"m", "y", true, "", kSharedRows}}};
  EXPECT_EQ(without_what_loops_do(fused, graph(), loops).fused_count(), 1);
}

TEST(LoopPolicy, WantsAllUnlessItIsToldOtherwise) {
  const std::string pattern = kSharedRows;
  EXPECT_EQ(share_all_loops({pattern, {}}), std::nullopt);
}

}  // namespace
}  // namespace emulsion
