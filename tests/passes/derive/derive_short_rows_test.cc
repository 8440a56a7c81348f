// Sums of many rows of a run-time length, which may be short: each row in a lane then.

#include <gtest/gtest.h>

#include <string>

#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/derive/derive_schedule.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("B");
const Target kV3 = Target::parse("x86-64-v3,cores=1");
const Target kFour = Target::parse("x86-64-v3,cores=4");

std::string derived(const Tensor& y) { return derived(y, kV3); }

// Of many rows that may be as short as the coordinates of a point.
TEST(DeriveShortRows, ShortRowsOfARunTimeLengthHaveARowInEachLane) {
  const Extent length = Extent::size("D");
  const Axis i("i", kSize), j("j", 40), d("d", length);
  const Tensor x = input("x", f32, {kSize, length}), w = input("w", f32, {length});
  const Tensor z = input("z", f32, {kSize, 40, length});
  for (const char* level : {"v2", "v3", "v4"}) {
    const Target target = target_of("x86-64-" + std::string(level), 1);
    for (const Tensor& y :
         {compute("s", {i}, sum(d, x(i, d) * x(i, d))), compute("s", {i}, reduce_max(d, x(i, d))),
          compute("s", {i, j}, sum(d, z(i, j, d) * w(d)))}) {
      const std::string text = derived(y, target);
      EXPECT_TRUE(has(text, "s_long.alternative(D <= 4, s_short)\ns_long.store_in_output(s)\n"))
          << text;
      EXPECT_TRUE(has(text, "s_short.specialize(D == 3)\ns_short.unroll(d)\n")) << text;
      EXPECT_TRUE(has(text, "s.specialize(D <= 4)\n")) << text;
      EXPECT_FALSE(has(text, "parallel")) << text;
      for (int64_t elements : {0, 1, 2, 3, 4, 5, 17}) {
        for (int64_t rows : {0, 1, 9, 33}) {
          EXPECT_TRUE(
              lowers(Graph(y), derive_schedule(Graph(y), target), {{"B", rows}, {"D", elements}}));
        }
      }
    }
  }
}

// A border is left out of each row: its length is still one size that is known by a comparison.
TEST(DeriveShortRows, RowsMayBeAsLongAsWhatIsLeftOfASize) {
  const Extent length = Extent::size("W") - 2;
  const Axis i("i", kSize), j("j", length);
  const Tensor x = input("x", f32, {kSize, length}), wide = input("x", f32, {kSize, length + 1});
  const Tensor sums = compute("s", {i}, sum(j, x(i, j) * x(i, j)));
  for (const char* level : {"v2", "v3", "v4"}) {
    const Target target = target_of("x86-64-" + std::string(level), 1);
    const std::string text = derived(sums, target);
    EXPECT_TRUE(has(text, "s_long.alternative(W - 2 <= 4, s_short)\n")) << text;
    EXPECT_TRUE(has(text, "s_short.specialize(W - 2 == 3)\ns_short.unroll(j)\n")) << text;
    const Tensor scaled = compute("y", {i, j}, x(i, j) * 2.0F);
    EXPECT_TRUE(has(derived(scaled, target), "y.specialize(W - 2 == 3)\n"));
    for (const Tensor& y : {sums, scaled}) {
      const Schedule schedule = derive_schedule(Graph(y), target);
      for (int64_t size : {2, 3, 4, 5, 6, 7, 19}) {
        EXPECT_TRUE(lowers(Graph(y), schedule, {{"B", 33}, {"W", size}})) << size;
      }
    }
    // Longer than the size, and a part of a longer row.
    const Tensor longer = input("x", f32, {kSize, kSize + 2});
    const Axis k("k", kSize + 2);
    EXPECT_FALSE(has(derived(compute("s", {i}, sum(k, longer(i, k))), target), "alternative"));
    EXPECT_FALSE(has(derived(compute("s", {i}, sum(j, wide(i, j))), target), "alternative"));
  }
}

// Behind rows and columns of pixels are their colours. What is fused onto them is computed with
// them, of any number in vectors of pixels.
TEST(DeriveShortRows, ARunTimeNumberOfColoursIsSummedByItsLength) {
  const Axis i("i", Extent::size("M")), j("j", kSize), c("c", Extent::size("C"));
  const Tensor x = input("x", f32, {i.extent(), kSize, c.extent()});
  const Tensor part = input("w", f32, {c.extent()});
  const Tensor grey = compute("g", {i, j}, sum(c, x(i, j, c) * part(c)));
  for (const char* level : {"v2", "v3", "v4"}) {
    const Target target = target_of("x86-64-" + std::string(level), 4);
    for (const Tensor& y : {grey, relu(grey, "y")}) {
      const std::string text = derived(y, target);
      EXPECT_EQ(has(text, "g_long.alternative(C <= 4, g_short)\n"), y.name() == "g") << text;
      EXPECT_TRUE(derives(Graph(y), target, {0, 1, 3, 17}));
    }
  }
}

TEST(DeriveShortRows, ThreadsShareShortRowsWhereThereAreMany) {
  const Extent length = Extent::size("D");
  const Axis i("i", kSize), j("j", 64), d("d", length);
  const Tensor x = input("x", f32, {kSize, length}), z = input("z", f32, {kSize, 64, length});
  const std::string one = derived(compute("s", {i}, sum(d, x(i, d))), kFour);
  EXPECT_TRUE(has(one,
                  "s.specialize(D <= 4 && min(B, 32768) * min(D, 32768) >= 262144)\n"
                  "s.parallel(tile)\ns.specialize(D <= 4)\n"))
      << one;
  const Tensor two = compute("s", {i, j}, sum(d, z(i, j, d) * z(i, j, d)));
  EXPECT_TRUE(has(derived(two, kFour), "s.parallel(i)\ns.specialize(D <= 4)\n"));
  for (int64_t elements : {0, 3, 5}) {
    EXPECT_TRUE(
        lowers(Graph(two), derive_schedule(Graph(two), kFour), {{"B", 3}, {"D", elements}}));
  }
}

TEST(DeriveShortRows, WhatIsReadByOthersIsNotInAnOutput) {
  const Axis i("i", kSize), d("d", Extent::size("D"));
  const Tensor x = input("x", f32, {kSize, d.extent()});
  const Tensor s = compute("s", {i}, sum(d, x(i, d) * x(i, d)));
  const Graph graph({compute("y", {i}, sqrt(s(i))), compute("z", {i}, s(i) * 2.0F)});
  const Schedule schedule = derive_schedule(graph, kV3);
  const std::string text = to_string(schedule);
  EXPECT_TRUE(has(text, "s_long.alternative(D <= 4, s_short)\n")) << text;
  EXPECT_FALSE(has(text, "store_in_output")) << text;
  for (int64_t elements : {0, 2, 4, 5}) {
    EXPECT_TRUE(lowers(graph, schedule, {{"B", 11}, {"D", elements}}, 1e-6));
  }
}

// Beside the rows other axes may be summed up, of other lengths.
TEST(DeriveShortRows, SumsOfSeveralAxesAreOfTheLengthOfTheLast) {
  const Extent length = Extent::size("D");
  const Axis i("i", kSize), d("d", length), e("e", 3), same("e", length);
  const Tensor x = input("x", f32, {3, kSize, length}),
               cube = input("x", f32, {length, kSize, length});
  const Tensor sums = compute("s", {i}, sum({e, d}, x(e, i, d)));
  for (const char* level : {"v2", "v3", "v4"}) {
    const Target target = target_of("x86-64-" + std::string(level), 4);
    const std::string text = derived(sums, target);
    EXPECT_TRUE(has(text, "s_long.alternative(D <= 4, s_short)\n")) << text;
    EXPECT_TRUE(has(text, "s_short.reorder(i, d, e)\n")) << text;
    const Schedule schedule = derive_schedule(Graph(sums), target);
    for (int64_t elements : {0, 1, 2, 4, 5, 17}) {
      for (int64_t rows : {0, 1, 33}) {
        EXPECT_TRUE(lowers(Graph(sums), schedule, {{"B", rows}, {"D", elements}})) << text;
      }
    }
  }
  EXPECT_FALSE(has(derived(compute("s", {i}, sum({same, d}, cube(same, i, d)))), "alternative"));
}

// Of a run-time number of pixels, a row is never short enough for a lane: several are side by side
// as rows of a run-time length are.
TEST(DeriveShortRows, RowsOfPixelsAreSummedSideBySide) {
  const Axis i("i", 635), d("d", Extent::size("D")), c("c", 5);
  const Tensor x = input("x", f32, {635, d.extent(), 5});
  for (const Tensor& y : {compute("s", {i}, sum({d, c}, x(i, d, c))),
                          compute("s", {i}, reduce_max({d, c}, x(i, d, c) * x(i, d, c)))}) {
    const std::string text = derived(y, target_of("x86-64-v4", 1));
    EXPECT_TRUE(has(text, "s.fuse(d, c, flat)\ns.split(flat, flat, lane, 16)\n")) << text;
    EXPECT_TRUE(has(text, "s.split(i, i, row, 4, guard)\ns.unroll(row)\n")) << text;
    EXPECT_TRUE(has(text, "s_lanes.reorder(i, flat)\n")) << text;
    EXPECT_TRUE(derives(Graph(y), target_of("x86-64-v4", 1), {0, 1, 5, 17}, 1e-5));
  }
}

// Rows that are few, that are another axis's as well, of two axes, or that lie elsewhere.
TEST(DeriveShortRows, HasOneWayForRowsThatAreNeverShortAndMany) {
  const Extent length = Extent::size("D");
  const Axis i("i", kSize), few("i", 15), same("i", length), d("d", length), e("e", 3);
  const Tensor x = input("x", f32, {kSize, length}), y = input("y", f32, {15, length});
  const Tensor square = input("x", f32, {length, length});
  const Tensor wide = input("x", f32, {2 * kSize, length});
  const Tensor padded = input("x", f32, {kSize, length + 1});
  const Tensor deep = input("x", f32, {kSize, 3, length});
  for (const Tensor& s :
       {compute("s", {few}, sum(d, y(few, d))), compute("s", {same}, sum(d, square(same, d))),
        compute("s", {i}, sum(d, wide.at({Expr(i) * 2, Expr(d)}))),
        compute("s", {i}, sum(d, padded(i, d))), compute("s", {i}, sum({e, d}, deep(i, e, d))),
        compute("s", {i}, sum(d, x(i, d) * x.at({0 * Expr(i), Expr(d)})))}) {
    const std::string text = derived(s);
    EXPECT_FALSE(has(text, "alternative")) << text;
  }
}

}  // namespace
}  // namespace emulsion
