// How many steps of a loop threads take at a time, and whether they share it at all.

#include <gtest/gtest.h>

#include <string>

#include "dsl/operators.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

const Target kTwo = target_of("x86-64-v3", 2), kFour = target_of("x86-64-v3", 4);

Tensor pointwise(const std::vector<Extent>& shape) { return relu(input("x", f32, shape), "y"); }

TEST(DeriveThreads, ATaskIsSeveralShortRows) {
  const std::string text = derived(pointwise({256, 1024}), kTwo);
  EXPECT_TRUE(has(text, "y.split(i0, block, i0, 16)\ny.parallel(block)\n")) << text;
}

TEST(DeriveThreads, EachCoreHasTasks) {
  EXPECT_TRUE(has(derived(pointwise({256, 1024}), kFour), "y.split(i0, block, i0, 8)\n"));
  const std::string text = derived(pointwise({256, 1024}), target_of("x86-64-v3", 32));
  EXPECT_TRUE(has(text, "y.parallel(i0)\n")) << text;
}

TEST(DeriveThreads, ATaskLeavesNoRest) {
  EXPECT_TRUE(has(derived(pointwise({250, 1024}), kTwo), "y.split(i0, block, i0, 10)\n"));
  EXPECT_TRUE(has(derived(pointwise({251, 1024}), kTwo), "y.parallel(i0)\n"));
}

TEST(DeriveThreads, ALongRowIsATask) {
  EXPECT_TRUE(has(derived(pointwise({64, 8192}), kTwo), "y.split(i0, block, i0, 2)\n"));
  EXPECT_TRUE(has(derived(pointwise({64, 16384}), kTwo), "y.parallel(i0)\n"));
}

TEST(DeriveThreads, OfShortAxesTheLastIsCut) {
  const std::string text = derived(pointwise({8, 256, 128}), kTwo);
  EXPECT_TRUE(has(text, "y.split(i1, block, i1, 128)\ny.fuse(i0, block, rows1)\n")) << text;
  EXPECT_TRUE(has(text, "y.parallel(rows1)\n")) << text;
}

TEST(DeriveThreads, ARunTimeExtentIsNotCut) {
  for (const std::vector<Extent>& shape :
       {std::vector<Extent>{Extent::size("R"), 1024}, {256, Extent::size("C") + 4}}) {
    const std::string text = derived(pointwise(shape), kTwo);
    EXPECT_TRUE(has(text, "y.parallel(i0)\n")) << text;
    EXPECT_FALSE(has(text, "y.split(i0")) << text;
  }
}

TEST(DeriveThreads, ALoopWithABorderIsNotCut) {
  const std::string text = derived(pad(input("x", f32, {250, 1024}), {3, 3}, {3, 3}, 0, "y"), kTwo);
  EXPECT_TRUE(has(text, "y.partition(i0)\ny.parallel(i0)\n")) << text;
}

TEST(DeriveThreads, WhatIsComputedForARowStaysWithTheRow) {
  const Tensor x = input("x", f32, {256, 1024});
  const std::string sums = derived(sum(x, {1}, false, "y"), kTwo);
  EXPECT_TRUE(has(sums, "y.split(i0, block, i0, 16)\ny.parallel(block)\n")) << sums;
  EXPECT_TRUE(has(sums, "y_lanes.compute_at(y, i0)\n")) << sums;
  const std::string group = derived(softmax(x, -1, "y"), kTwo);
  EXPECT_TRUE(
      has(group, "y.split(i0, block, i0, 16)\ny.split(i0, i0, row, 2)\ny.parallel(block)\n"))
      << group;
  EXPECT_TRUE(has(group, "y_exp.compute_at(y, i0)\n")) << group;
}

TEST(DeriveThreads, NoneForLittleWork) {
  EXPECT_FALSE(has(derived(pointwise({16, 1024}), kTwo), "block"));
  EXPECT_FALSE(has(derived(pointwise({256, 1024}), target_of("x86-64-v3", 1)), "block"));
}

}  // namespace
}  // namespace emulsion
