// A few sums of one walk: which share it, which do not and why, and that the nests compute what the
// graphs say.

#include "passes/derive/derive_shared_walk.h"

#include <gtest/gtest.h>

#include <string>

#include "dsl/operators.h"
#include "passes/pipeline.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("N");

// Sums by class of what counts.
Tensor by_class(const Extent& classes, const Extent& count, DType type = f64) {
  const Axis c("c", classes), m("m", count);
  const Tensor x = input("x", type, {count}), which = input("which", i32, {count});
  const Tensor size = input("size", u8, {count});
  const Expr counts = size(m) < constant(u8, 200) && which(m) == Expr(c);
  return compute("y", {c}, sum(m, select(counts, x(m), constant(type, 0))));
}

// How many values are above each of a few borders, which are no classes.
Tensor above(const Extent& borders, const Extent& count) {
  const Axis b("b", borders), m("m", count);
  const Tensor x = input("x", f32, {count}), border = input("border", f32, {borders});
  return compute("y", {b}, sum(m, cast(i32, x(m) > border(b))));
}

bool shares(const Tensor& y, const char* level = "x86-64-v4", int cores = 1) {
  return shares_walk(*y.op(), target_of(level, cores));
}

TEST(SharesWalk, AsManySumsAsRegistersHold) {
  EXPECT_FALSE(shares(by_class(1, 1000)));
  EXPECT_TRUE(shares(by_class(2, 1000)));
  EXPECT_TRUE(shares(by_class(24, 1000)));
  EXPECT_FALSE(shares(by_class(25, 1000)));
  EXPECT_TRUE(shares(by_class(8, 1000), "x86-64-v3"));
  EXPECT_FALSE(shares(by_class(9, 1000), "x86-64-v3"));
  EXPECT_FALSE(shares(by_class(kSize, 1000)));
}

TEST(SharesWalk, AsManyClassesAsAreFasterComparedThanChanged) {
  EXPECT_TRUE(shares(by_class(6, 1000), "x86-64-v2"));
  EXPECT_FALSE(shares(by_class(7, 1000), "x86-64-v2")) << "of two lanes";
  EXPECT_TRUE(shares(by_class(8, 1000, f32), "x86-64-v2"));
}

TEST(SharesWalk, WhatHasNoClassesToo) {
  EXPECT_TRUE(shares(above(8, 1000), "x86-64-v2"));
  EXPECT_TRUE(shares(above(24, kSize)));
}

TEST(SharesWalk, NotWhatIsReadForEachSum) {
  const Axis c("c", 4), m("m", 1000);
  const Tensor x = input("x", f32, {4, 1000});
  EXPECT_FALSE(shares(compute("y", {c}, sum(m, x(c, m)))));
}

TEST(SharesWalk, NotWhatIsNoLongRow) {
  const Axis c("c", 4), m("m", 1000), few("few", 7), k("k", 9);
  const Tensor x = input("x", f32, {1000, 9});
  EXPECT_FALSE(shares(by_class(4, 7)));
  EXPECT_FALSE(
      shares(compute("y", {c}, sum({m, k}, select(x(m, k) > cast(f32, Expr(c)), x(m, k), 0.0F)))));
  EXPECT_FALSE(
      shares(compute("y", {c}, sum(m, select(x(m, 0) > cast(f32, Expr(c)), x(m, 0), 0.0F)))))
      << "elements apart";
  EXPECT_FALSE(shares(compute("y", {m}, x(m, 0) * 2.0F))) << "combines nothing";
}

TEST(SharesWalk, NotWhereThreadsAreFasterWithAWalkEach) {
  EXPECT_TRUE(shares(by_class(12, 100000), "x86-64-v4", 2));
  EXPECT_FALSE(shares(by_class(12, 100000), "x86-64-v4", 4));
  EXPECT_TRUE(shares(by_class(12, 20000), "x86-64-v4", 4)) << "no work for threads";
  EXPECT_TRUE(shares(by_class(12, kSize), "x86-64-v4", 2));
  EXPECT_FALSE(shares(by_class(12, kSize), "x86-64-v4", 4)) << "may be long";
}

TEST(DeriveSharedWalk, OneLoopForAllSums) {
  const std::string nest =
      to_string(run_pipeline(Graph(by_class(12, 4096)), target_of("x86-64-v4", 2)).nest);
  for (const char* part : {"alloc y_lanes[0 .. +12, 0 .. +8] in registers",
                           "for y_lanes.m in 512\n", "unrolled y_lanes.c in 12\n"}) {
    EXPECT_TRUE(has(nest, part)) << part << "\n" << nest;
  }
}

TEST(DeriveSharedWalk, OfTwoSumsSeveralVectors) {
  const std::string nest =
      to_string(run_pipeline(Graph(by_class(2, 4096)), target_of("x86-64-v4", 1)).nest);
  EXPECT_TRUE(has(nest, "alloc y_lanes[0 .. +2, 0 .. +16] in registers")) << nest;
}

TEST(DeriveSharedWalk, ComputesWhatTheGraphSays) {
  const Axis c("c", 3), d("d", 2), m("m", kSize);
  const Tensor a = input("a", u8, {kSize}), b = input("b", i32, {kSize});
  const Expr both = cast(i32, a(m)) == Expr(c) && b(m) == Expr(d);
  const Tensor pairs = compute("y", {c, d}, sum(m, cast(i32, both)));
  const Tensor most = compute("y", {c}, reduce_max(m, select(b(m) > c, cast(f32, b(m)), -9.0F)));
  for (const char* level : kLevels) {
    for (const int cores : {1, 2, 4}) {
      const Target target = target_of(level, cores);
      for (const Tensor& y : {by_class(2, kSize), by_class(8, kSize), by_class(12, kSize, f32),
                              above(8, kSize), pairs, most}) {
        EXPECT_TRUE(derives(Graph(y), target, {0, 1, 7, 8, 33, 100})) << level << cores;
      }
      for (const Tensor& y : {by_class(3, 100), by_class(24, 65), above(5, 1001)}) {
        EXPECT_TRUE(derives(Graph(y), target, {1})) << level << cores;
      }
    }
  }
}

}  // namespace
}  // namespace emulsion
