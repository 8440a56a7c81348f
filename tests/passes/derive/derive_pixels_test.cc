// Sums of pixels in derived schedules: vectors of a colour, or of four colours as they lie in
// memory, and blocks of pixels for threads.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/operators.h"
#include "passes/derive/derive_schedule.h"
#include "passes/derive/derive_stage.h"
#include "passes/lower/lower.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("B");
const Target kV3 = Target::parse("x86-64-v3,cores=1");
const Target kFour = Target::parse("x86-64-v3,cores=4");

std::string derived(const Tensor& y) { return derived(y, kV3); }

Tensor product(const Extent& points, int64_t depth, int64_t columns, DType type = f32) {
  return matmul(input("x", type, {points, depth}), weight("w", type, {depth, columns}), "y");
}

// A colour of each pixel made of its colours: vectors of pixels and their colours, not of three
// columns.
TEST(DerivePixels, ColoursThatAreMadeOfColoursAreSummedByPixels) {
  for (const Extent& pixels : {Extent(4096), kSize}) {
    const Axis p("p", pixels), j("j", 3), k("k", 3);
    const Tensor x = input("x", f32, {pixels, 3});
    for (const Tensor& w : {input("w", f32, {3, 3}), weight("w", f32, {3, 3})}) {
      const Tensor sums = compute("s", {p, j}, sum(k, x(p, k) * w(k, j)));
      const std::string text = derived(relu(sums, "y"));
      const std::string way = pixels.is_constant() ? "" : "_filled";
      EXPECT_TRUE(has(text, "y" + way + ".split(i0, i0, pixel, 8")) << text;
      EXPECT_TRUE(has(text, "y" + way + ".fuse(pixel, i1, lane)\n")) << text;
      EXPECT_TRUE(has(text, "s.compute_at(y, i0)\n")) << text;
      EXPECT_TRUE(has(text, "s.unroll(k)\n")) << text;
      EXPECT_FALSE(has(text, "pack")) << text;
    }
  }
}

// The least number of pixels for a way in blocks may be that from which threads pay.
TEST(DerivePixels, ReadersOfSumsOfOneStep) {
  for (const int64_t columns : {2, 3, 4}) {
    const Graph graph(relu(matmul(input("x", f32, {kSize, 1}), input("w", f32, {1, columns}))));
    for (const char* level : kLevels) {
      for (const int cores : {1, 2, 8}) {
        EXPECT_TRUE(derives(graph, target_of(level, cores), {0, 1, 17})) << level << cores;
      }
    }
  }
}

// Pixels far apart; few points; more columns than colours.
TEST(DerivePixels, NotByPixels) {
  for (const Tensor& y :
       {product(4096, 512, 3), product(4096, 3, 5), product(9, 3, 3), product(4096, 5, 3)}) {
    EXPECT_TRUE(has(derived(y), "panel") || has(derived(y), "rfactor")) << derived(y);
  }
}

// Of four colours of four bytes vectors are of pixels side by side: nothing is packed, on any
// machine.
TEST(DerivePixels, FourColoursLieSideBySide) {
  for (const char* level : kLevels) {
    const Target target = target_of(level, 1);
    const int64_t pixels = 2 * target.vector_lanes(f32) / 4;
    const std::string loops = fmt::format(
        "y.split(m, m, pixel, {})\ny.fuse(pixel, n, lane)\ny.vectorize(lane)\n", pixels);
    for (const Tensor& y : {product(4096, 4, 4), product(4096, 3, 4), product(4096, 4, 4, i32)}) {
      const std::string text = derived(y, target);
      EXPECT_TRUE(has(text, loops)) << text;
      EXPECT_TRUE(has(text, "y_acc.fuse(m, n, lane)\ny_acc.vectorize(lane)\ny_acc.unroll(k)\n"));
      EXPECT_FALSE(has(text, "pack")) << text;
    }
  }
}

// Of whatever is summed up of such pixels, and of what reads the sums.
TEST(DerivePixels, SumsOfFourColoursOfAllKinds) {
  const Axis p("p", 70), c("c", 4), k("k", 4);
  const Tensor x = input("x", f32, {70, 4}), m = input("m", f32, {4, 4}), z = input("z", f32, {4});
  const Tensor bytes = input("bytes", u8, {70, 4});
  const Tensor turned = compute("s", {p, c}, sum(k, m(c, k) * x(p, k)));
  const Tensor sums[] = {
      turned, add(turned, z, "y"), cast(max(turned, 0), u8),
      compute("y", {p, c}, reduce_max(k, x(p, k) + m(k, c))),
      compute("y", {p, c}, sum(k, cast(i32, bytes(p, k)) * cast(i32, bytes(p, c))))};
  for (const Tensor& y : sums) {
    for (const char* level : kLevels) {
      const std::string text = derived(y, target_of(level, 1));
      EXPECT_TRUE(has(text, ".fuse(pixel, ")) << text;
      EXPECT_TRUE(derives(Graph(y), target_of(level, 4)));
    }
  }
}

// Wide values; more steps or elements between pixels; fewer pixels than vectors have lanes.
TEST(DerivePixels, NotSideBySide) {
  for (const Tensor& y : {product(4096, 4, 4, f64), product(4096, 5, 4), product(4096, 4, 8),
                          product(15, 4, 4), product(7, 3, 3)}) {
    EXPECT_FALSE(has(derived(y), "pixel")) << derived(y);
  }
  const Axis p("p", 40), c("c", 4), b("b", 17);
  const Tensor x = input("x", f32, {60, 4});
  EXPECT_FALSE(has(derived(compute("y", {p, c}, sum(b, x(p + b, c)))), "pixel"));
}

// A task of a few sums would cost as much as the sums.
TEST(DerivePixels, ThreadsShareBlocks) {
  for (const auto& [columns, block] : {std::pair(3, 1816), {4, 1364}}) {
    const std::string text = derived(product(100000, 3, columns), kFour);
    EXPECT_TRUE(has(text, fmt::format("y.split(m, block, m, {}, shift_inwards)\n", block))) << text;
    EXPECT_TRUE(has(text, "y.parallel(block)\n")) << text;
  }
  EXPECT_TRUE(has(derived(product(1 << 16, 4, 4), kFour), "y.split(m, block, m, 1024)\n"));
  // Each core is to have several tasks.
  EXPECT_TRUE(has(derived(product(20000, 4, 4), kFour), "y.split(m, block, m, 624, "));
  // Rows that threads share as they are.
  const Tensor rows = matmul(input("x", f32, {64, 1000, 4}), weight("w", f32, {4, 4}), "y");
  EXPECT_FALSE(has(derived(rows, kFour), "y.parallel(block)\n")) << derived(rows, kFour);
  for (const char* level : kLevels) {
    for (const int64_t columns : {3, 4}) {
      EXPECT_TRUE(derives(Graph(product(30001, 3, columns)), target_of(level, 4)));
    }
  }
}

// Of a run-time number there are ways for many, without masks; of few the last vector has them.
TEST(DerivePixels, ARunTimeNumberIsSummedInBlocksWhereItIsLarge) {
  for (const auto& [columns, block] : {std::pair(3, 1816), {4, 1364}}) {
    const std::string text = derived(product(kSize, 3, columns), kFour);
    const std::string many = fmt::format("y_long.alternative(B >= {}, y_blocks)\n", 8 * block);
    EXPECT_TRUE(has(text, many)) << text;
    EXPECT_TRUE(has(text, fmt::format("y_blocks.split(m, block, m, {}, shift_inwards)\n", block)));
    EXPECT_TRUE(has(text, "y_blocks.parallel(block)\n")) << text;
    EXPECT_TRUE(has(text, "y_long.alternative(B >= ")) << text;
    EXPECT_TRUE(has(text, "y_long.partition(m)\n")) << text;
  }
  for (const char* level : kLevels) {
    EXPECT_TRUE(derives(Graph(product(kSize, 3, 4)), target_of(level, 4), {0, 1, 7, 33, 10920}));
    EXPECT_TRUE(derives(Graph(product(kSize, 3, 3)), target_of(level, 4), {0, 1, 7, 33, 14600}));
    EXPECT_TRUE(derives(Graph(product(kSize, 4, 4)), target_of(level, 1), {0, 1, 7, 33}));
  }
}

// One core; another run-time size; a number of which no condition speaks; no output.
TEST(DerivePixels, NotInBlocks) {
  const Tensor rows =
      matmul(input("x", f32, {Extent::size("H"), kSize, 3}), weight("w", f32, {3, 3}), "y");
  EXPECT_FALSE(has(derived(product(kSize, 3, 3)), "block"));
  const Axis p("p", kSize), c("c", 3), k("k", Extent::size("K"));
  const Tensor x = input("x", f32, {kSize * Extent(2) + k.extent(), 3});
  const Tensor windows = compute("y", {p, c}, sum(k, x(2 * p + k, c)));
  for (const Tensor& y : {rows, product(kSize * Extent(2), 3, 3), windows}) {
    const std::string text = derived(y, kFour);
    EXPECT_FALSE(has(text, "block")) << text;
    EXPECT_TRUE(has(text, "predicate)\n") && has(text, "y_long.partition(")) << text;
    EXPECT_TRUE(derives(Graph(y), kFour, {0, 1, 17}));
  }
  const Tensor inner = product(kSize, 3, 3);
  const Graph two({sum(inner, {0}, false, "s"), softmax(inner, 0, "z")});
  EXPECT_FALSE(has(derived(two, kFour), "y_blocks"));
  EXPECT_TRUE(derives(two, kFour, {0, 1, 17}, 1e-4));
}

// The sums of squares of pixels of bytes, whose masks are made element by element.
Tensor box_of_bytes(const Extent& width, DType type = u8) {
  const Axis i("i", 5), j("j", width), c("c", 3), a("a", 3), b("b", 3);
  const Tensor x = input("x", type, {7, width * Extent(2) + 1, 3});
  return compute("y", {i, j, c}, sum({a, b}, x(i + a, 2 * j + b, c)));
}

TEST(DerivePixels, ARowThatFillsAVectorOfPixelsHasNoMasks) {
  for (const Extent& width : {kSize, kSize * 2, kSize - 2}) {
    const std::string text = derived(box_of_bytes(width), target_of("x86-64-v4", 1));
    const std::string least = to_string(extent_value(width) >= 64);
    EXPECT_TRUE(has(text, "y_long.alternative(" + least + ", y_filled)\n")) << text;
    EXPECT_TRUE(has(text, "y_filled.split(j, j, lane, 64, shift_inwards)\n")) << text;
    EXPECT_FALSE(has(text, "y_filled.partition")) << text;
    EXPECT_TRUE(has(text, "y_long.split(j, j, lane, 16, predicate)\n")) << text;
    EXPECT_TRUE(has(text, "y_long.partition(j)\n")) << text;
  }
  for (const char* level : kLevels) {
    for (const DType type : {u8, i16, f32}) {
      for (const Extent& width : {kSize, kSize * 2 + 1}) {
        const Graph graph(box_of_bytes(width, type));
        EXPECT_TRUE(derives(graph, target_of(level, 4), {0, 1, 7, 8, 15, 16, 31, 63, 64, 70}));
      }
    }
  }
}

// Vectors that divide the row; a difference of sizes, of which no condition says how large it is;
// what is no output.
TEST(DerivePixels, NoWayForWhatFillsVectors) {
  const Target v4 = target_of("x86-64-v4", 1);
  for (const Extent& width : {Extent(70), kSize * 64}) {
    EXPECT_FALSE(has(derived(box_of_bytes(width), v4), "y_filled"));
    EXPECT_FALSE(has(derived(box_of_bytes(width), v4), "partition"));
  }
  const Tensor difference = box_of_bytes(kSize - Extent::size("H"));
  EXPECT_FALSE(has(derived(difference, v4), "y_filled")) << derived(difference, v4);
  EXPECT_NO_THROW(lower(Graph(difference), derive_schedule(Graph(difference), v4)));
  const Tensor inner = box_of_bytes(kSize);
  const Graph two({cast(inner, i32, "s"), transpose(inner, {1, 0, 2}, "t")});
  const std::string text = derived(two, v4);
  EXPECT_TRUE(has(text, "y.split(j, j, lane, 16, predicate)\n")) << text;
  EXPECT_FALSE(has(text, "y_filled")) << text;
  EXPECT_TRUE(derives(two, v4, {0, 1, 15, 16, 17, 64, 70}));
}

}  // namespace
}  // namespace emulsion
