// Rows whose parts are made of the same elements are computed a few vectors of each part at a time.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/operators.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("B");

// Means and differences of pairs of neighbours.
Tensor wavelet(const Extent& rows, const Extent& half) {
  const Axis i("i", rows), j("j", half);
  const Tensor x = input("x", f32, {rows, half * Extent(2)});
  const Expr first = x(i, 2 * Expr(j)), second = x(i, 2 * Expr(j) + 1);
  const Tensor means = compute("means", {i, j}, (first + second) * 0.5F);
  const Tensor details = compute("details", {i, j}, (first - second) * 0.5F);
  return concat({means, details}, 1, "y");
}

// Pairs of numbers half a row apart, each pair turned by an angle.
Tensor turned(const Extent& rows, int64_t half) {
  const Axis i("i", rows), j("j", half);
  const Tensor x = input("x", f32, {rows, 2 * half});
  const Tensor c = input("c", f32, {half}), s = input("s", f32, {half});
  const Expr first = x(i, j), second = x(i, Expr(j) + half);
  const Tensor a = compute("a", {i, j}, first * c(j) - second * s(j));
  const Tensor b = compute("b", {i, j}, first * s(j) + second * c(j));
  return concat({a, b}, 1, "y");
}

// What `j` chooses by that condition.
std::string chosen_by(const Expr& condition, const Axis& j) {
  const Axis i("i", 100);
  const Tensor x = input("x", f32, {100, 512});
  const Expr other = x(i, clamp(Expr(j) - 64, 0, 255) * 2);
  const Tensor y = compute("y", {i, j}, select(condition, x(i, Expr(j) * 2) + 1.0F, other));
  return derived(y, target_of("x86-64-v3", 1));
}

// Eight vectors of each, which are stored one after another, or as many as divide it.
TEST(EqualParts, VectorsOfEachAreComputedAtATime) {
  for (const char* level : kLevels) {
    const Target target = target_of(level, 1);
    const int64_t lanes = target.vector_lanes(f32);
    const std::string text = derived(wavelet(100, 128), target);
    EXPECT_TRUE(has(text, fmt::format("y.split(i1, part, i1, 128)\ny.reorder(part, i1)\n"
                                      "y.split(i1, i1, lane, {})\ny.reorder(lane, part)\n"
                                      "y.split(lane, lane, lane_v, {})\ny.vectorize(lane_v)\n"
                                      "y.unroll(lane)\ny.unroll(part)\n",
                                      8 * lanes, lanes)))
        << text;
    EXPECT_TRUE(has(derived(wavelet(100, 6 * lanes), target),
                    fmt::format("y.split(i1, i1, lane, {})\n", 6 * lanes)));
    EXPECT_TRUE(
        has(derived(wavelet(100, 11 * lanes), target), "y.reorder(part, i1)\ny.unroll(part)\n"))
        << "one of each";
    EXPECT_FALSE(has(text, "partition")) << text;
    const int64_t half = target.vector_lanes(f32);
    const Axis i("i", 100), j("j", 2 * half);
    const Tensor x = input("x", f32, {100, 2 * half});
    const Expr first = x(i, min(Expr(j), half - 1) * 2), again = x(i, max(Expr(j) - half, 0) * 2);
    const Tensor y = compute("y", {i, j}, select(j < half, first, -again));
    EXPECT_TRUE(has(derived(y, target), "y.vectorize(j)\ny.unroll(part)\n")) << derived(y, target);
  }
}

TEST(EqualParts, RowsAreSharedByThreads) {
  const std::string text = derived(wavelet(1024, 512), target_of("x86-64-v3", 4));
  EXPECT_TRUE(has(text, "y.unroll(part)\n")) << text;
  EXPECT_TRUE(has(text, "y.parallel(")) << text;
}

TEST(EqualParts, HoweverTheBorderIsWritten) {
  const Axis j("j", 128);
  for (const Expr& condition : {j<64, j <= 63, Expr(64)> j, Expr(63) >= j, j < 64 && j < 128,
                                !(j >= 64), j < 64 || j < 0}) {
    EXPECT_TRUE(has(chosen_by(condition, j), "y.split(j, part, j, 64)")) << to_string(condition);
  }
  const Axis three("j", 192);
  EXPECT_TRUE(has(chosen_by(three < 64 || three >= 128, three), "y.split(j, part, j, 64)"));
}

TEST(EqualParts, NotOfOtherBorders) {
  const Axis j("j", 128);
  for (const Expr& condition : {j < 63, j <= 64, j < 60 || j > 90, j % 2 < 1, 2 * Expr(j) < 64}) {
    EXPECT_FALSE(has(chosen_by(condition, j), "part,")) << to_string(condition);
  }
}

TEST(EqualParts, NotOfPartsThatHaveNothingInCommon) {
  const Target target = target_of("x86-64-v3", 1);
  const Tensor a = input("a", f32, {100, 64}), b = input("b", f32, {100, 64});
  EXPECT_FALSE(has(derived(concat({a, b}, 1, "y"), target), "part,"));
  const Tensor x = input("x", f32, {100, 128});
  const Axis i("i", 100), j("j", 128);
  EXPECT_FALSE(
      has(derived(compute("y", {i, j}, select(j < 64, x(i, j), x(i, j) + 1.0F)), target), "part,"));
}

TEST(EqualParts, NotOfShortOnesOrOfARunTimeLength) {
  const Target target = target_of("x86-64-v3", 1);
  EXPECT_FALSE(has(derived(wavelet(100, 7), target), "part,"));
  EXPECT_FALSE(has(derived(wavelet(100, kSize), target), "part,"));
}

TEST(EqualParts, ComputeWhatTheGraphSays) {
  for (const char* level : kLevels) {
    for (const int cores : {1, 4}) {
      const Target target = target_of(level, cores);
      for (const int64_t half : {16, 37, 64}) {
        EXPECT_TRUE(derives(Graph(wavelet(kSize, half)), target, {0, 1, 5}));
        EXPECT_TRUE(derives(Graph(turned(kSize, half)), target, {0, 1, 5}));
      }
    }
  }
}

}  // namespace
}  // namespace emulsion
