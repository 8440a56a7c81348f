// Sums of windows in derived schedules: how many rows of them at a time, and where that is no use.

#include "passes/derive/window_sums.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/derive/derive_schedule.h"
#include "passes/lower/lower.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

const Extent kAny = Extent::size("B"), kHeight = Extent::size("H"), kWidth = Extent::size("W");
const Target kV3 = target_of("x86-64-v3", 1);

std::string derived(const Tensor& y) { return derived(y, kV3); }

struct Squares {
  int64_t size = 3, down = 1, across = 1, apart = 1;  // steps from window to window, and inside
};

// The most of a window of pixels, at every so many-th place.
Tensor most_of_squares(const Extent& height, const Extent& width, const Squares& of = {}) {
  const Axis i("i", height), j("j", width), a("a", of.size), b("b", of.size);
  const int64_t more = (of.size - 1) * of.apart;
  const Tensor x = input("x", f32, {height * of.down + more, width * of.across + more});
  const Expr apart = int_constant(of.apart);
  const Expr row = int_constant(of.down) * i + apart * a;
  return compute("y", {i, j}, reduce_max({a, b}, x(row, int_constant(of.across) * j + apart * b)));
}

int64_t rows_of(const Tensor& y) { return rows_of_windows(*y.op()); }

TEST(WindowSums, RowsThatCostLeastAreSummedAtATime) {
  for (const auto& [height, rows] : {std::pair<Extent, int64_t>{480, 4},
                                     {kHeight, 4},
                                     {14, 3},
                                     {5, 3},
                                     {3, 3},
                                     {2, 2},
                                     {1, 1}}) {
    EXPECT_EQ(rows_of(most_of_squares(height, 40)), rows);
  }
  EXPECT_EQ(rows_of(most_of_squares(480, 40, {3, 2})), 4) << "one row of three is the next one's";
  EXPECT_EQ(rows_of(most_of_squares(480, 40, {3, 1, 1, 2})), 4) << "two apart";
  EXPECT_EQ(rows_of_windows(*most_of_squares(480, 40, {3, 1, 1, 2}).op(), 2), 1);
  EXPECT_EQ(rows_of_windows(*most_of_squares(480, 40).op(), 2), 2);
  EXPECT_EQ(rows_of(most_of_squares(480, 40, {8})), 4);
}

TEST(WindowSums, NotOfWindowsWithNothingInCommonNorLargeOnes) {
  EXPECT_EQ(rows_of(most_of_squares(480, 40, {2, 2})), 1) << "side by side";
  EXPECT_EQ(rows_of(most_of_squares(480, 40, {3, 3})), 1);
  EXPECT_EQ(rows_of(most_of_squares(480, 40, {2, 1, 1, 4})), 1) << "of four rows none is shared";
  EXPECT_EQ(rows_of(most_of_squares(480, 40, {1})), 1);
  EXPECT_EQ(rows_of(most_of_squares(480, 40, {9})), 1) << "81 steps";
  const Axis i("i", 64), j("j", 64), k("k", 3), some("k", kAny);
  EXPECT_EQ(rows_of(compute("y", {j}, sum(k, input("x", f32, {66})(j + k)))), 1) << "one row";
  const Tensor a = input("a", f32, {64, 3}), b = input("b", f32, {3, 64});
  EXPECT_EQ(rows_of(compute("y", {i, j}, sum(k, a(i, k) * b(k, j)))), 1) << "no windows";
  const Tensor tall = input("x", f32, {kAny + 64, 64});
  EXPECT_EQ(rows_of(compute("y", {i, j}, sum(some, tall(i + some, j)))), 1) << "any number";
}

TEST(WindowSums, WhereThereAreSoManyTheLastOnesAreComputedAgain) {
  const std::string known = derived(most_of_squares(511, 766));
  EXPECT_TRUE(has(known, "y.split(j, tile, lane, 8, shift_inwards)\n")) << known;
  EXPECT_TRUE(has(known, "y.split(i, i, row, 4, shift_inwards)\n")) << known;
  EXPECT_FALSE(has(known, "partition")) << known;
  const std::string open = derived(most_of_squares(kHeight, kWidth));
  EXPECT_TRUE(has(open, "y_long.alternative(W >= 8 && H >= 4, y_filled)\n")) << open;
  EXPECT_TRUE(has(open, "y_filled.split(j, tile, lane, 8, shift_inwards)\n")) << open;
  EXPECT_TRUE(has(open, "y_filled.split(i, i, row, 4, shift_inwards)\n")) << open;
  EXPECT_TRUE(has(open, "y_long.split(j, tile, lane, 8, predicate)\n")) << open;
  EXPECT_FALSE(has(open, "y_long.split(i,")) << "one row at a time of few\n" << open;
  const std::string tall = derived(most_of_squares(kHeight, 768));
  EXPECT_TRUE(has(tall, "y_long.alternative(H >= 4, y_filled)\n")) << tall;
  const std::string wide = derived(most_of_squares(512, kWidth));
  EXPECT_TRUE(has(wide, "y_long.alternative(W >= 8, y_filled)\n")) << wide;
}

// Windows of bytes along rows: without masks the end of a row would be loaded byte by byte, and
// with them a vector is so long that it is much of a row.
Tensor most_along_rows(DType dtype, const Extent& width = kWidth) {
  const Axis i("i", kHeight), j("j", width), b("b", 3);
  const Tensor x = input("x", dtype, {kHeight, width + 2});
  return compute("y", {i, j}, reduce_max(b, x(i, j + b)));
}

// Windows that stay inside what they read have as many places as it has rows, but for the border.
TEST(WindowSums, WaysForSumsOfSizes) {
  const std::string more = derived(most_of_squares(kHeight - 2, kWidth * 2));
  EXPECT_TRUE(has(more, "y_long.alternative(2 * W >= 8 && H - 2 >= 4, y_filled)\n")) << more;
  const std::string bytes = derived(most_along_rows(u8, kWidth + 1));
  EXPECT_TRUE(has(bytes, "y_long.alternative(W + 1 >= 32, y_filled)\n")) << bytes;
}

TEST(WindowSums, NoWaysForWhatIsNoOutputNorForDifferencesOfSizes) {
  const Axis i("i", kHeight), j("j", kWidth);
  const Tensor most = most_of_squares(kHeight, kWidth);
  const std::string inside = derived(compute("z", {j, i}, most(i, j) + 1.0F));
  EXPECT_FALSE(has(inside, "y_long")) << inside;
  EXPECT_TRUE(has(inside, "y.split(i, i, row, 2, guard)\n")) << inside;
  const Extent less = kAny - kWidth;
  const std::string rows = derived(most_of_squares(less, kWidth));
  EXPECT_FALSE(has(rows, "alternative")) << rows;
  const std::string bytes = derived(most_along_rows(u8, less));
  EXPECT_FALSE(has(bytes, "alternative")) << bytes;
}

TEST(WindowSums, AreWrittenOutWhereTheyAreWrittenOnce) {
  const std::string known = derived(most_of_squares(512, 768, {7}));
  EXPECT_TRUE(has(known, "y_acc.unroll(b)\n")) << known;
  const std::string rest = derived(most_of_squares(kAny - kHeight, 768, {7}));
  EXPECT_FALSE(has(rest, "unroll(b)\n")) << rest;
  const std::string small = derived(most_of_squares(kHeight, kWidth, {5}));
  EXPECT_TRUE(has(small, "y_acc.unroll(b)\ny_acc.unroll(a)\n")) << small;
  const std::string large = derived(most_of_squares(512, 768, {9}));
  EXPECT_FALSE(has(large, "unroll(b)")) << large;
}

// Of a bilateral filter each step has an exponential: written out it would compile for many
// seconds.
TEST(WindowSums, NotWrittenOutWhereMuchIsComputedInAStep) {
  const Axis i("i", 64), j("j", 64), a("a", 3), b("b", 3);
  const Tensor x = input("x", f32, {66, 66});
  const Expr apart = x(i + a, j + b) - x(i + 1, j + 1);
  const std::string squares = derived(compute("y", {i, j}, sum({a, b}, apart * apart)));
  EXPECT_TRUE(has(squares, "y_acc.unroll(a)\n") && has(squares, ", row, ")) << squares;
  const std::string series = derived(compute("y", {i, j}, sum({a, b}, exp(apart * apart))));
  EXPECT_FALSE(has(series, "unroll(a)") || has(series, ", row, ")) << series;
  Expr much = apart;
  for (int k = 0; k < 300; ++k) much = much * (apart + float(k));
  const std::string large = derived(compute("y", {i, j}, sum({a, b}, much)));
  EXPECT_FALSE(has(large, "unroll(a)")) << large;
}

// Each addition would wait for the one before: of long windows four rows are under way.
TEST(WindowSums, LongOnesAreSummedInSeveralRows) {
  for (const Extent& height : {kHeight, Extent(251)}) {
    const std::string rows = derived(most_of_squares(height, kWidth, {9}));
    EXPECT_TRUE(has(rows, "y.split(j, tile, lane, 8, predicate)\n")) << rows;
    EXPECT_TRUE(has(rows, "y.split(i, i, row, 4, guard)\n")) << rows;
  }
  for (const Tensor& y : {most_of_squares(1, kWidth, {9}), most_of_squares(kHeight, 768, {9})}) {
    EXPECT_FALSE(has(derived(y), "row, 4, guard")) << derived(y);
  }
}

// Lanes along windows of eight would be added up for each of them.
TEST(WindowSums, ThatStrideALittleAreSummedInVectorsAcrossThem) {
  const auto of = [](const Extent& width, int64_t size, int64_t step) {
    const Axis i("i", 40), j("j", width), k("k", size);
    const Tensor x = input("x", f32, {40, width * step + size});
    return compute("y", {i, j}, sum(k, x(i, int_constant(step) * j + k)));
  };
  for (const Tensor& y : {of(64, 8, 2), of(kWidth, 16, 4), of(12, 5, 2), of(64, 8, 5)}) {
    EXPECT_TRUE(has(derived(y), ".cache_write(y_acc)\n")) << derived(y);
  }
  for (const Tensor& y : {of(64, 20, 5), of(64, 64, 2), of(7, 8, 2)}) {
    EXPECT_TRUE(has(derived(y), "rfactor")) << derived(y);
  }
}

TEST(WindowSums, AreRightForAllTargets) {
  for (const char* level : kLevels) {
    for (const int cores : {1, 4}) {
      const Target target = target_of(level, cores);
      for (const Squares& of : {Squares{}, {3, 2, 2}, {2, 1, 1, 3}, {7}}) {
        const Tensor y = most_of_squares(kHeight, kWidth, of);
        EXPECT_TRUE(derives(Graph(y), target, {0, 1, 2, 3, 4, 17, 37})) << level;
        EXPECT_TRUE(derives(Graph(relu(most_of_squares(5, 37, of))), target)) << level;
        EXPECT_TRUE(derives(Graph(most_of_squares(kHeight + 1, 3, of)), target, {0, 1, 4, 9}));
      }
    }
  }
}

// Sums of a window and of its squares, which what reads them takes apart.
Tensor spread(const Extent& height, const Extent& width) {
  const Axis i("i", height), j("j", width), a("a", 3), b("b", 3);
  const Expr x = input("x", f32, {height + 2, width + 2})(i + a, j + b);
  const Tensor s = compute("s", {i, j}, sum({a, b}, x)),
               t = compute("t", {i, j}, sum({a, b}, x * x));
  const Tensor u = compute("u", {i, j}, sum({a, b}, x * 3.0F));
  return compute("y", {i, j}, t(i, j) * u(i, j) - s(i, j) * s(i, j));
}

TEST(WindowSums, ThatWaitTogetherHaveFewerRows) {
  const std::string known = derived(spread(512, 766));
  EXPECT_TRUE(has(known, "y.split(j, tile, lane, 8, shift_inwards)\n")) << known;
  EXPECT_TRUE(has(known, "y.split(i, i, row, 2)\n")) << known;
  for (const char* name : {"s", "t", "u"}) {
    const std::string sums(name);
    EXPECT_TRUE(has(known, sums + ".compute_at(y, tile)\n" + sums + ".reorder(j, i, b, a)\n"))
        << known;
    EXPECT_TRUE(has(known, sums + ".unroll(b)\n" + sums + ".unroll(a)\n")) << known;
  }
  const std::string open = derived(spread(kHeight, kWidth));
  EXPECT_TRUE(has(open, ".alternative(W >= 8 && H >= 2, y_filled)\n")) << open;
  EXPECT_TRUE(has(open, "s_filled.compute_at(y_filled, tile)\n")) << open;
}

TEST(WindowSums, ThatWaitTogetherAreRightForAllTargets) {
  for (const char* level : kLevels) {
    for (const int cores : {1, 4}) {
      const Target target = target_of(level, cores);
      EXPECT_TRUE(derives(Graph(spread(kHeight, kWidth)), target, {0, 1, 2, 3, 17, 37})) << level;
      EXPECT_TRUE(derives(Graph(spread(kHeight + 1, 30)), target, {0, 1, 2, 17})) << level;
      EXPECT_TRUE(derives(Graph(relu(spread(5, 37))), target)) << level;
    }
  }
}

// Pixels that share the weights of their channels.
TEST(WindowSums, WeightsThatPixelsShareAreReadOnceForThem) {
  Conv2dOptions options;
  options.groups = 64;
  const Tensor x = input("x", f32, {1, 66, 66, 64}), w = weight("w", f32, {3, 3, 1, 64});
  const std::string text = derived(conv2d(x, w, options, "y"));
  EXPECT_TRUE(has(text, "y.split(o, tile, lane, 8)\ny.split(x, x, row, 4)\n")) << text;
  EXPECT_TRUE(has(text, "y_acc.vectorize(o)\ny_acc.unroll(x)\n")) << text;
  EXPECT_TRUE(has(text, "y_acc.unroll(kx)")) << text;
  options.stride_w = 2;  // windows side by side, 33 = 3 x 11
  const std::string beside = derived(conv2d(x, weight("w", f32, {2, 2, 1, 64}), options, "y"));
  EXPECT_TRUE(has(beside, "y.split(o, tile, lane, 16)\ny.split(x, x, row, 3)\n")) << beside;
  EXPECT_FALSE(has(beside, "y_acc.unroll(kx)")) << beside;
}

// At every `stride`-th pixel, each of its channels by itself.
Tensor depthwise(const Extent& size, const Extent& channels, int64_t stride) {
  const Axis i("i", size), j("j", size), c("c", channels), a("a", 3), b("b", 3);
  const Extent all = size * stride + 3 - stride;
  const Tensor x = input("x", f32, {all, all, channels}), w = input("w", f32, {3, 3, channels});
  const Expr step = int_constant(stride);
  return compute("y", {i, j, c}, sum({a, b}, x(step * i + a, step * j + b, c) * w(a, b, c)));
}

// The channels first.
Tensor depthwise_of_planes(const Extent& channels, const Extent& height, const Extent& width,
                           int64_t stride) {
  const Axis i("i", height), j("j", width), c("c", channels), a("a", 3), b("b", 3);
  const Tensor x = input("x", f32, {channels, height * stride + 2, width * stride + 2});
  const Tensor w = input("w", f32, {channels, 3, 3});
  const Expr step = int_constant(stride);
  return compute("y", {c, i, j}, sum({a, b}, x(c, step * i + a, step * j + b) * w(c, a, b)));
}

TEST(WindowSums, OfChannelsAreNoRegisterTiles) {
  for (const Extent& size : {Extent(56), kHeight}) {
    const std::string text = derived(depthwise_of_planes(16, size, size, 1));
    EXPECT_FALSE(has(text, "panel")) << text;
    EXPECT_TRUE(has(text, ".split(i, i, row, 4")) << text;
  }
}

TEST(WindowSums, OfChannelsAreRightForAllTargets) {
  for (const char* level : kLevels) {
    const Tensor open = depthwise(kAny * 2 + 1, Extent::size("C"), 2), few = depthwise(7, 20, 1);
    EXPECT_TRUE(derives(Graph(open), target_of(level, 1), {0, 1, 2, 17})) << level;
    EXPECT_TRUE(derives(Graph(relu(few)), target_of(level, 4))) << level;
    for (const int64_t stride : {1, 2}) {
      const Tensor planes = depthwise_of_planes(Extent::size("C"), kHeight, kWidth, stride);
      EXPECT_TRUE(derives(Graph(planes), target_of(level, 4), {0, 1, 3, 5, 18})) << level;
      EXPECT_TRUE(derives(Graph(relu(depthwise_of_planes(3, 5, 28, stride))), target_of(level, 1)));
    }
  }
}

TEST(WindowSums, OfRowsOfBytesTheLastTileStartsEarlierWhereThatFits) {
  for (const auto& [level, lanes] :
       {std::pair("v2", 16), std::pair("v3", 32), std::pair("v4", 64)}) {
    const std::string text =
        derived(most_along_rows(u8), target_of(std::string("x86-64-") + level, 1));
    const std::string columns = std::to_string(lanes);
    EXPECT_TRUE(has(text, "y_long.alternative(W >= " + columns + ", y_filled)\n")) << text;
    EXPECT_TRUE(has(text, "y_filled.split(j, tile, lane, " + columns + ", shift_inwards)\n"))
        << text;
    EXPECT_FALSE(has(text, "y_filled.partition")) << text;
    EXPECT_TRUE(has(text, "y_long.split(j, tile, lane, " + columns + ", predicate)\n")) << text;
  }
}

// A row of them is walked for each tile: of a long sum a tile is as wide as of any other.
TEST(WindowSums, OfALongSumOfBytesATileIsWide) {
  const Axis j("j", kWidth), a("a", 64);
  const Tensor x = input("x", u8, {64, kWidth * 2});
  const std::string text =
      derived(compute("y", {j}, reduce_max({a}, x(a, j * 2))), target_of("x86-64-v3", 1));
  EXPECT_TRUE(has(text, "y_long.alternative(W >= 128, y_filled)\n")) << text;
  EXPECT_TRUE(has(text, "y_acc.compute_at(y_long, j)\n")) << "of fewer, one by one: " << text;
}

TEST(WindowSums, OfRowsThatTheTargetCanMaskNoTileStartsEarlier) {
  for (const char* level : {"x86-64-v3", "x86-64-v4"}) {
    const std::string text = derived(most_along_rows(f32), target_of(level, 1));
    EXPECT_FALSE(has(text, "alternative")) << text;
  }
  const std::string text = derived(most_along_rows(f32), target_of("x86-64-v2", 1));
  EXPECT_TRUE(has(text, "y_long.alternative(W >= 4, y_filled)\n")) << text;
}

// The last of several vectors would be computed for nothing.
TEST(WindowSums, AlongRowsTakeOneVectorAtATime) {
  for (const int64_t step : {1, 2, 3}) {
    const Axis j("j", kWidth), b("b", 3);
    const Tensor x = input("x", f32, {kWidth * step + 3 - step});
    const std::string text =
        derived(compute("y", {j}, reduce_max(b, x(int_constant(step) * j + b))));
    EXPECT_TRUE(has(text, ".split(j, tile, lane, 8, predicate)\n")) << text;
    EXPECT_TRUE(has(text, ".partition(tile)\n")) << text;
    // Masks of what is not side by side cost much.
    EXPECT_EQ(has(text, "y_filled.split(j, tile, lane, 8, shift_inwards)\n"), step > 1) << text;
    EXPECT_TRUE(has(text, "y_acc.unroll(b)\n")) << text;
  }
}

TEST(WindowSums, WindowsOfBytesAreRightForAllTargets) {
  const Axis i("i", Extent::size("H")), j("j", Extent::size("W"));
  const Axis down("a", 3), across("b", 3);
  const Tensor bytes = input("x", u8, {kHeight + 2, kWidth + 2});
  const Tensor most = compute("y", {i, j}, reduce_max({down, across}, bytes(i + down, j + across)));
  const Tensor less = compute("z", {i, j}, most(i, j) - cast(u8, 3));
  const Axis more("j", j.extent() + 1), a("a", 3);
  const Tensor one_more =
      compute("y", {more}, reduce_max(a, input("x", u8, {more.extent() + 2})(more + a)));
  const Tensor inner = most_of_squares(kHeight - 2, kWidth - 2);
  for (const char* level : kLevels) {
    for (const int cores : {1, 4}) {
      EXPECT_TRUE(derives(Graph(most), target_of(level, cores), {0, 1, 2, 31, 33, 64, 70}));
      EXPECT_TRUE(derives(Graph(one_more), target_of(level, cores), {0, 1, 33, 70}));
      EXPECT_TRUE(derives(Graph(inner), target_of(level, cores), {2, 3, 5, 6, 34, 66, 70}));
      EXPECT_TRUE(derives(Graph(less), target_of(level, cores), {0, 1, 33, 70}));
      EXPECT_TRUE(derives(Graph({most, less}), target_of(level, cores), {0, 1, 33}));
    }
  }
}

// The least of neighbours along rows, those at the ends taken where there are none.
Tensor least_along_rows(const std::string& name, const Tensor& x, int64_t taps) {
  const Axis i("i", x.shape()[0]), j("j", x.shape()[1]), k("k", taps);
  const Expr last = extent_value(j.extent()) - 1;
  return compute(name, {i, j}, reduce_min(k, x(i, clamp(j + k - int_constant(taps / 2), 0, last))));
}

Tensor most_down_columns(const std::string& name, const Tensor& x, int64_t taps) {
  const Axis i("i", x.shape()[0]), j("j", x.shape()[1]), k("k", taps);
  const Expr last = extent_value(i.extent()) - 1;
  return compute(name, {i, j}, reduce_max(k, x(clamp(i + k - int_constant(taps / 2), 0, last), j)));
}

// The tiles between the ends have no clamps.
TEST(WindowSums, ThatAreHeldAtTheEndsOfARowAreInRegisters) {
  const auto of = [](DType dtype, const Extent& width) {
    return derived(least_along_rows("y", input("x", dtype, {kHeight, width}), 5));
  };
  for (const Extent& width : {Extent(640), Extent(37)}) {
    const std::string text = of(f32, width);
    EXPECT_TRUE(has(text, "y_acc.compute_at(y, tile)\n")) << text;
    EXPECT_TRUE(has(text, "y.partition(tile)\n")) << text;
    EXPECT_TRUE(has(text, "y_acc.unroll(k)\n")) << text;
  }
  for (const DType dtype : {f32, u8}) {
    const std::string text = of(dtype, kWidth);
    EXPECT_TRUE(has(text, "y_filled.partition(tile)\n")) << text;
    EXPECT_TRUE(has(text, "y_filled.split(j, tile, lane, " + std::string(dtype == u8 ? "32" : "8") +
                              ", shift_inwards)\n"))
        << text;
  }
  EXPECT_FALSE(has(of(f32, 8), "partition")) << "one tile: " << of(f32, 8);
}

// What data say is no window.
TEST(WindowSums, WhatDataSayIsNotHeldAtTheEndsOfARow) {
  const Axis i("i", kHeight), j("j", 640), k("k", 5);
  const Tensor x = input("x", f32, {640}), at = input("at", i32, {640});
  const Tensor y = compute("y", {i, j}, reduce_min(k, x(clamp(at(j) + k, 0, 639))));
  EXPECT_FALSE(has(derived(y), "partition(tile)")) << derived(y);
}

TEST(WindowSums, HeldAtTheEndsOfARowAreRightForAllTargets) {
  for (const char* level : kLevels) {
    for (const int cores : {1, 4}) {
      const Target target = target_of(level, cores);
      for (const DType dtype : {f32, u8}) {
        const Tensor x = input("x", dtype, {kHeight, kWidth});
        EXPECT_TRUE(derives(Graph(least_along_rows("y", x, 5)), target, {0, 1, 2, 5, 40, 130}));
        const Tensor known = input("x", dtype, {3, 131});
        EXPECT_TRUE(derives(Graph(least_along_rows("y", known, 7)), target));
      }
    }
  }
}

// Sums of five neighbours along rows, reflected or wrapped around at the ends.
Tensor sums_over_ends(const Tensor& x, bool wraps) {
  const Axis i("i", x.shape()[0]), j("j", x.shape()[1]), k("k", 5);
  const Expr n = extent_value(j.extent()), far = abs(j + k - 2);
  const Expr reflected = clamp(min(far, 2 * n - 2 - far), 0, n - 1);
  const Expr at = wraps ? (j + k + n - 2) % n : reflected;
  return compute("y", {i, j}, sum(k, x(i, at)));
}

TEST(WindowSums, ThatAreTurnedAtTheEndsOfARowAreInRegisters) {
  for (const bool wraps : {true, false}) {
    const std::string text = derived(sums_over_ends(input("x", f32, {kHeight, 256}), wraps));
    EXPECT_TRUE(has(text, "y_acc.compute_at(y, tile)\n")) << text;
    EXPECT_TRUE(has(text, "y.partition(tile)\n")) << text;
  }
  for (const char* level : kLevels) {
    for (const DType dtype : {f32, u8}) {
      const Target target = target_of(level, 1);
      const Tensor any = input("x", dtype, {kHeight, kWidth});
      EXPECT_TRUE(derives(Graph(sums_over_ends(any, false)), target, {0, 1, 2, 3, 40, 133}));
      for (const int64_t width : {3, 8, 133}) {
        const Tensor known = input("x", dtype, {3, width});
        EXPECT_TRUE(derives(Graph(sums_over_ends(known, true)), target)) << width;
        EXPECT_TRUE(derives(Graph(sums_over_ends(known, false)), target)) << width;
      }
    }
  }
}

// Differences of blocks and those around them: five rows of five places, of 64 steps.
TEST(WindowSums, RowsOfLessThanAVectorCountAsOne) {
  const Axis n("n", kAny), i("i", 5), j("j", 5), a("a", 8), b("b", 8);
  const Tensor x = input("x", u8, {kAny * 8, 8}), z = input("z", u8, {kAny * 8 + 4, 12});
  const auto at = [](const Expr& value) { return cast(i32, value); };
  const Expr apart = at(x(8 * n + a, b)) - at(z(8 * n + a + i, j + b));
  const Tensor y = compute("y", {n, i, j}, sum({a, b}, abs(apart)));
  const std::string text = derived(y, target_of("x86-64-v4", 1));
  EXPECT_TRUE(has(text, "y_acc.unroll(i)\n")) << text;
  EXPECT_FALSE(has(text, "unroll(a)")) << text;
  for (const char* level : kLevels) {
    EXPECT_TRUE(derives(Graph(y), target_of(level, 1), {0, 1, 7})) << level;
  }
}

// Erosion and dilation: each row is computed once for each strip.
TEST(WindowSums, ChainsOfThemSlide) {
  const auto opening = [](const Tensor& x) {
    const Tensor less = most_down_columns("b", least_along_rows("a", x, 3), 3);
    return most_down_columns("y", least_along_rows("c", less, 3), 3);
  };
  const Graph known(opening(input("x", f32, {1024, 768})));
  const LoopNest nest = lower(known, derive_schedule(known, kV3));
  for (const char* name : {"a", "b", "c"}) {
    EXPECT_TRUE(has(to_string(nest), std::string("window ") + name + "[")) << to_string(nest);
  }
  const std::string text = to_string(nest);
  size_t slides = 0;
  for (size_t at = text.find("slides along"); at != std::string::npos;
       at = text.find("slides along", at + 1)) {
    ++slides;
  }
  EXPECT_EQ(slides, 3U) << text;
  for (const char* level : kLevels) {
    for (const int cores : {1, 4}) {
      const Target target = target_of(level, cores);
      const Graph any(opening(input("x", u8, {kHeight, kWidth})));
      EXPECT_TRUE(derives(any, target, {0, 1, 2, 9, 70}));
      EXPECT_TRUE(derives(Graph(opening(input("x", f32, {40, 70}))), target));
    }
  }
}

// Of a run-time number of channels those of one pixel may be few. A group of one channel is none.
TEST(WindowSums, WindowsOfChannelsSlideAlongNoRow) {
  const Axis i("i", kAny), c("c", Extent::size("C")), a("a", 9);
  const Tensor x = input("x", f32, {kAny * 9, c.extent()});
  const std::string text = derived(compute("y", {i, c}, reduce_max(a, x(9 * i + a, c))));
  EXPECT_TRUE(has(text, "y.split(c, tile, lane, 16, predicate)\n")) << text;
  EXPECT_FALSE(has(text, "unroll(a)")) << text;
  const Axis one("one", 1);
  const std::string grouped =
      derived(compute("y", {i, c}, reduce_max({a, one}, x(9 * i + a, c + one))));
  EXPECT_TRUE(has(grouped, "y.split(c, tile, lane, 16, predicate)\n")) << grouped;
}

}  // namespace
}  // namespace emulsion
