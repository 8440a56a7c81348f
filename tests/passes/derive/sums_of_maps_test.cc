// Sums over pictures and the pixels of small maps: which are of pictures first, and that they are
// right.

#include "passes/derive/sums_of_maps.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/derive/derive_schedule.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

const Extent kPictures = Extent::size("B");
const Target kV3 = Target::parse("x86-64-v3,cores=1");

Tensor sum_of(const Shape& shape, const std::vector<int>& axes = {0, 2, 3}, DType dtype = f32) {
  return sum(input("x", dtype, shape), axes, false, "s");
}

bool is_of_maps(const Tensor& y, const Target& target = kV3) {
  const Graph graph(y);
  return sums_of_maps(*graph.ops().back(), target);
}

std::string schedule_of(const Tensor& y) { return to_string(derive_schedule(Graph(y), kV3)); }

// x: [pictures, channels, height, width].
Tensor batch_norm_of(const Shape& shape, bool keepdims) {
  const std::vector<int> axes = {0, 2, 3};
  const Tensor x = input("x", f32, shape);
  if (keepdims) {
    const Tensor centred = sub(x, mean(x, axes, true), "centred");
    return div(centred, sqrt(mean(centred * centred, axes, true) + 1), "y");
  }
  const Axis n("n", shape[0]), c("c", shape[1]), h("h", shape[2]), w("w", shape[3]);
  const Tensor means = mean(x, axes);
  const Tensor centred = compute("centred", {n, c, h, w}, x(n, c, h, w) - means(c));
  const Tensor scale = sqrt(mean(centred * centred, axes) + 1);
  return compute("y", {n, c, h, w}, centred(n, c, h, w) / scale(c));
}

TEST(SumsOfMaps, PicturesFirst) {
  const std::string text = schedule_of(sum_of({100, 64, 4, 4}));
  EXPECT_TRUE(has(text, "s.fuse(r2, r3, flat)\ns.rfactor(flat, s_pixels)\n")) << text;
  EXPECT_TRUE(has(text, "s_pixels.fuse(i1, flat, flat1)\ns_pixels.split(r0, r0, row, 5)\n"))
      << text;
}

TEST(SumsOfMaps, PixelsInLanesOrAcrossChannels) {
  EXPECT_TRUE(has(schedule_of(sum_of({100, 64, 4, 4})), "s.rfactor(lane, s_lanes)\n"));
  EXPECT_TRUE(has(schedule_of(sum_of({100, 64, 2, 2})),
                  "s.split(i1, i1, lane, 8)\ns.reorder(lane, flat, i1)\ns.vectorize(lane)\n"
                  "s.unroll(flat)\n"));
  EXPECT_TRUE(has(schedule_of(sum_of({100, 61, 2, 2})), "s.split(i1, i1, lane, 8, guard)\n"));
}

TEST(SumsOfMaps, OfFewPixels) {
  EXPECT_TRUE(is_of_maps(sum_of({20, 50, 3, 5})));
  EXPECT_TRUE(is_of_maps(sum_of({20, 50, 15}, {0, 2})));
  EXPECT_TRUE(is_of_maps(sum_of({10, 5, 50, 3, 5}, {0, 1, 3, 4})));
  EXPECT_TRUE(is_of_maps(reduce_max(input("x", u8, {20, 50, 2, 2}), {0, 2, 3})));
}

// Of 16 pixels and more, if there are many pictures, or their maps fall into one set of the cache.
TEST(SumsOfMaps, OfManyPictures) {
  EXPECT_TRUE(is_of_maps(sum_of({65, 50, 4, 4})));
  EXPECT_FALSE(is_of_maps(sum_of({64, 50, 4, 4})));
  EXPECT_TRUE(is_of_maps(sum_of({16, 128, 8, 8})));
  EXPECT_FALSE(is_of_maps(sum_of({8, 128, 8, 8})));
  EXPECT_TRUE(is_of_maps(sum_of({kPictures, 50, 7, 7})));
}

TEST(SumsOfMaps, NotOfOthers) {
  EXPECT_FALSE(is_of_maps(sum_of({100, 50, 9, 9}))) << "long maps";
  EXPECT_FALSE(is_of_maps(sum_of({15, 50, 3, 3}))) << "few pictures";
  EXPECT_FALSE(is_of_maps(sum_of({100, 1, 4, 4}))) << "one channel";
  EXPECT_FALSE(is_of_maps(sum_of({100, kPictures, 4, 4})));
  EXPECT_FALSE(is_of_maps(sum_of({100, 20, 4, kPictures})));
  EXPECT_FALSE(is_of_maps(sum_of({20, 2000000, 2, 2}))) << "more than a cache holds";
  EXPECT_FALSE(is_of_maps(sum_of({100, 50, 4, 4}, {0, 1}))) << "pixels are kept";
  EXPECT_FALSE(is_of_maps(sum_of({100, 50, 4, 4}, {2, 3}))) << "pictures are kept";
  EXPECT_FALSE(is_of_maps(sum_of({100, 4, 4, 50}, {0, 1, 2}))) << "channels last";
  EXPECT_FALSE(is_of_maps(relu(sum_of({100, 50, 4, 4}))));
  const Axis c("c", 50), n("n", 100), p("p", 4);
  const Tensor x = input("x", f32, {100, 50, 4}), z = input("z", f32, {50, 100, 4});
  EXPECT_TRUE(is_of_maps(compute("s", {c}, sum({n, p}, x(n, c, p) * x(n, c, p)))));
  EXPECT_FALSE(is_of_maps(compute("s", {c}, sum({n, p}, x(n, c, p) * z(c, n, p)))));
  EXPECT_FALSE(is_of_maps(compute("s", {c}, sum({n, p}, z(c, n, p)))));
}

// No group of rows, a channel each, takes the sums and what reads them.
TEST(SumsOfMaps, WhatFollowsHasLoopsOfItsOwn) {
  for (const Extent& pictures : {Extent(100), kPictures}) {
    const std::string scaled = schedule_of(mul(sum_of({pictures, 64, 4, 4}), 0.5, "y"));
    EXPECT_TRUE(has(scaled, "s.rfactor(flat, s_pixels)\n")) << scaled;
  }
  for (const bool keepdims : {false, true}) {
    for (const Shape& shape : {Shape{100, 64, 4, 4}, {32, 512, 8, 8}}) {
      const std::string norm = schedule_of(batch_norm_of(shape, keepdims));
      EXPECT_TRUE(has(norm, "_pixels)\n")) << norm;
    }
  }
}

// Few of each column, over many rows that each are vectors: of groups of channels, as a norm has
// them.
TEST(SumsOfFewSideBySide, RowsFirst) {
  const Target v4 = Target::parse("x86-64-v4,cores=2");
  const auto schedule = [&](const Shape& shape, const std::vector<int>& axes = {1, 3}) {
    return to_string(derive_schedule(Graph(sum_of(shape, axes)), v4));
  };
  EXPECT_TRUE(has(schedule({kPictures, 1760, 8, 4}),
                  "s.rfactor(r3, s_rows)\ns.reorder(i2, r3)\ns.vectorize(i2)\ns.unroll(r3)\n"));
  EXPECT_TRUE(has(schedule({kPictures, 1760, 8, 4}),
                  "s_rows.fuse(i2, r3, flat)\n"
                  "s_rows.split(flat, flat, lane, 16)\n"));
  EXPECT_TRUE(has(schedule({kPictures, 1760, 8, 4}), "s_rows.compute_at(s, i0)\n"));
  EXPECT_TRUE(has(schedule({kPictures, 1760, 6, 4}), "s_rows.split(flat, flat, lane, 8)\n"));
  EXPECT_TRUE(has(schedule({4, 9, 10, 8, 2}, {1, 2, 4}), "s.rfactor(r4, s_rows)\n"));
}

// What each column is less by has vectors of columns, which do not decide.
TEST(SumsOfFewSideBySide, OfWhatIsCentredToo) {
  const Axis n("n", kPictures), p("p", 1760), c("c", 8), k("k", 4);
  const Tensor x = input("x", f32, {kPictures, 1760, 8, 4}), m = input("m", f32, {kPictures, 8});
  const Expr centred = x(n, p, c, k) - m(n, c);
  const Tensor s = compute("s", {n, c}, sum({p, k}, centred * centred));
  for (const char* level : {"x86-64-v3,cores=2", "x86-64-v4,cores=2"}) {
    const std::string text = to_string(derive_schedule(Graph(s), Target::parse(level)));
    EXPECT_TRUE(has(text, "s_rows.fuse(c, k, flat)\n")) << text;
  }
}

TEST(SumsOfFewSideBySide, NotOfOthers) {
  const auto is_one = [](const Tensor& y) {
    return sums_of_few_side_by_side(*Graph(y).ops().back(), kV3);
  };
  const auto is_of = [&](const Shape& shape, const std::vector<int>& axes = {1, 3}) {
    return is_one(sum_of(shape, axes));
  };
  EXPECT_TRUE(is_of({kPictures, 8, 8, 4}));
  EXPECT_FALSE(is_of({kPictures, 7, 8, 4})) << "few rows";
  EXPECT_FALSE(is_of({kPictures, 9, 8, 8})) << "lanes of them";
  EXPECT_FALSE(is_of({kPictures, 9, 64, 4})) << "more than registers hold";
  EXPECT_FALSE(is_of({kPictures, 9, 1, 3})) << "no vector";
  EXPECT_FALSE(is_of({kPictures, 9, 3, 5})) << "no whole vectors";
  EXPECT_FALSE(is_of({4, 9, kPictures, 4})) << "nobody knows";
  EXPECT_FALSE(is_of({kPictures, 9, 4, 8}, {1, 2})) << "columns last";
  EXPECT_FALSE(is_of({kPictures, 9, 8, 4}, {3})) << "each row";
  EXPECT_FALSE(is_of({9, 8, 4}, {0, 2})) << "maps";
  const Axis n("n", 5), p("p", 20), c("c", 8), k("k", 4);
  const Tensor x = input("x", f32, {5, 20, 8, 4}), z = input("z", f32, {20, 8});
  const Tensor m = input("m", f32, {5, 8});
  const Expr centred = x(n, p, c, k) - m(n, c);
  EXPECT_TRUE(is_one(compute("s", {n, c}, sum({p, k}, centred * centred))));
  EXPECT_FALSE(is_one(compute("s", {n, c}, sum({p, k}, x(n, p, c, k) * z(p, c)))));
}

TEST(SumsOfFewSideBySide, ComputeTheSums) {
  const Axis n("n", kPictures), p("p", 20), c("c", 8), k("k", 4);
  const Tensor x = input("x", f32, {kPictures, 20, 8, 4}), m = input("m", f32, {kPictures, 8});
  const Expr centred = x(n, p, c, k) - m(n, c);
  const Tensor squares = compute("s", {n, c}, sum({p, k}, centred * centred));
  const std::vector<int> axes = {1, 3};
  for (const char* level : {"x86-64-v2,cores=1", "x86-64-v3,cores=2", "x86-64-v4,cores=2"}) {
    const Target target = Target::parse(level);
    for (const Shape& shape : {Shape{kPictures, 20, 8, 4}, {3, 200, 6, 4}, {kPictures, 9, 16, 2}}) {
      EXPECT_TRUE(derives(sum_of(shape, axes), target, {0, 1, 5})) << level;
      EXPECT_TRUE(derives(sum_of(shape, axes, i32), target, {0, 1, 5})) << level;
      EXPECT_TRUE(derives(reduce_max(input("x", u8, shape), axes), target, {0, 1, 5})) << level;
      EXPECT_TRUE(derives(mean(input("x", f32, shape), axes, true), target, {0, 1, 5})) << level;
    }
    EXPECT_TRUE(derives(squares, target, {0, 1, 5}, 1e-5)) << level;
  }
}

TEST(SumsOfMaps, ComputeTheSums) {
  for (const char* level : {"x86-64-v2,cores=1", "x86-64-v3,cores=2", "x86-64-v4,cores=1"}) {
    const Target target = Target::parse(level);
    for (const Shape& shape : {Shape{20, 11, 3, 3}, {17, 32, 2, 2}, {66, 5, 4, 4}, {19, 4, 2, 3}}) {
      EXPECT_TRUE(derives(sum_of(shape), target)) << level;
      EXPECT_TRUE(derives(sum_of(shape, {0, 2, 3}, i32), target)) << level;
      EXPECT_TRUE(derives(reduce_max(input("x", u8, shape), {0, 2, 3}), target)) << level;
    }
    for (const bool keepdims : {false, true}) {
      EXPECT_TRUE(derives(batch_norm_of({20, 11, 3, 3}, keepdims), target, {1}, 1e-5)) << level;
      EXPECT_TRUE(derives(batch_norm_of({66, 5, 4, 4}, keepdims), target, {1}, 1e-5)) << level;
    }
    EXPECT_TRUE(derives(sum_of({kPictures, 7, 4, 5}), target, {0, 1, 2, 9})) << level;
    EXPECT_TRUE(derives(relu(sum_of({kPictures, 7, 13}, {0, 2})), target, {0, 1, 9})) << level;
  }
}

}  // namespace
}  // namespace emulsion
