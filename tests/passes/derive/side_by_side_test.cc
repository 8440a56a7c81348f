// Pixels whose values are all computed in one way: vectors go through both as they lie in memory.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "dsl/operators.h"
#include "passes/derive/derive_schedule.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("B");
const Target kV4 = Target::parse("x86-64-v4,cores=1");

bool is_side_by_side(const Tensor& y, const Target& target = kV4) {
  return has(derived(y, target), ".split(p, p, pixel, ") &&
         has(derived(y, target), ".fuse(pixel, c, lane)\n");
}

// The pixels of x, of so many values, and of z; what is one value of each pixel, or of each value.
struct Inputs {
  Inputs(const Extent& count, int64_t values, DType type = f32)
      : p("p", count),
        c("c", values),
        x(input("x", type, {count, values})),
        z(input("z", type, {count, values})),
        grey(input("grey", type, {count})),
        tint(input("tint", type, {values})) {}

  Tensor operator()(const Expr& value) const { return compute("y", {p, c}, value); }

  Axis p, c;
  Tensor x, z, grey, tint;
};

std::vector<Tensor> in_one_way(const Extent& count, int64_t values, DType type) {
  const Inputs of(count, values, type);
  const auto& [p, c, x, z, grey, tint] = of;
  return {of(x(p, c) * tint(c) + tint(c)),
          of(x(p, c) * x(p, 1) + z(p, c)),
          of(x(p, c) * grey(p)),
          of(grey(p) * tint(c)),
          of(select(x(p, c) > z(p, 0), x(p, c), tint(c))),
          of(max(x(p, c), min(x(p, 0), x(p, 1))))};
}

TEST(SideBySide, PixelsOfTwoToFourValues) {
  for (const DType type : {u8, i16, f32}) {
    for (const int64_t values : {2, 3, 4}) {
      for (const Extent& count : {Extent(100), Extent(64), kSize}) {
        for (const Tensor& y : in_one_way(count, values, type)) {
          EXPECT_TRUE(is_side_by_side(y)) << derived(y, kV4);
          EXPECT_FALSE(has(derived(y, kV4), "y.specialize(B >= 1)\ny.split(p, p, pixel"));
        }
      }
    }
  }
}

TEST(SideBySide, EveryNumberOfThemIsRight) {
  for (const char* level : kLevels) {
    for (const DType type : {u8, f32}) {
      for (const int64_t values : {2, 3, 4}) {
        for (const Extent& count : {Extent(8), Extent(35), Extent(64), kSize}) {
          for (const Tensor& y : in_one_way(count, values, type)) {
            EXPECT_TRUE(derives(Graph(y), target_of(level, 4), {0, 1, 7, 8, 9, 16, 33, 64, 65}));
          }
        }
      }
    }
  }
}

// Fewer are rows of four, of which each is a vector, or of which all are one or two.
TEST(SideBySide, NotFewOfFour) {
  const Inputs of(5, 4);
  const Tensor y = of(of.x(of.p, of.c) * of.tint(of.c));
  EXPECT_TRUE(has(derived(y, target_of("x86-64-v2", 1)), "y.vectorize(c)\n"));
  EXPECT_TRUE(has(derived(y, target_of("x86-64-v4", 1)), "y.fuse(p, c, flat)\n"));
}

// Of a few colours a run-time number has masks for one colour after another.
TEST(SideBySide, MasksOfSums) {
  const Tensor y = matmul(input("x", f32, {kSize, 3}), input("w", f32, {3, 3}), "y");
  const std::string text = derived(y, kV4);
  EXPECT_TRUE(has(text, "y_filled.split(m, m, pixel, 16, shift_inwards)\n")) << text;
  EXPECT_TRUE(has(text, "y_long.split(m, m, lane, 16, predicate)\n")) << text;
}

// As many as fill vectors; never fewer than eight.
TEST(SideBySide, HowMany) {
  struct Case {
    const char* level;
    DType type;
    int64_t values, count;
  };
  for (const auto& [level, type, values, count] :
       {Case{"x86-64-v4", f32, 3, 16}, Case{"x86-64-v3", f32, 3, 8}, Case{"x86-64-v2", f32, 3, 8},
        Case{"x86-64-v4", f32, 4, 8}, Case{"x86-64-v4", f32, 2, 8}, Case{"x86-64-v4", u8, 4, 16},
        Case{"x86-64-v4", u8, 3, 64}, Case{"x86-64-v3", i16, 3, 16}}) {
    const Inputs of(4096, values, type);
    const Tensor y = of(of.x(of.p, of.c) * of.tint(of.c));
    EXPECT_TRUE(has(derived(y, target_of(level, 1)), fmt::format("pixel, {})\n", count)))
        << level << " " << derived(y, target_of(level, 1));
  }
}

// The last of them start earlier, or divide a block of threads; few of a run-time number have
// masks, which are made element by element.
TEST(SideBySide, NoMasks) {
  const auto scaled = [](const Extent& count) {
    const Inputs of(count, 3);
    return of(of.x(of.p, of.c) * of.tint(of.c));
  };
  EXPECT_TRUE(has(derived(scaled(100), kV4), "y.split(p, p, pixel, 16, shift_inwards)\n"));
  const std::string text = derived(scaled(kSize), target_of("x86-64-v4", 4));
  EXPECT_TRUE(has(text,
                  "y.split(p, block, within, 4096, shift_inwards)\n"
                  "y.split(within, within, pixel, 16)\ny.fuse(pixel, c, lane)\n"))
      << text;
  EXPECT_TRUE(has(text,
                  "y.specialize(B >= 16)\ny.split(p, p, pixel, 16, shift_inwards)\n"
                  "y.fuse(pixel, c, lane)\ny.vectorize(lane)\n"))
      << text;
  EXPECT_TRUE(has(text,
                  "y.specialize(B >= 1)\ny.split(p, p, lane, 16, predicate)\n"
                  "y.reorder(lane, c)\n"))
      << text;
}

// A run-time number of values may be that of pixels.
TEST(SideBySide, WhereARunTimeLengthIsTheirs) {
  const Extent length = Extent::size("C");
  const Tensor y = mul(input("x", f32, {kSize, length}), input("s", f32, {length}), "y");
  const std::string text = derived(y, kV4);
  for (const char* values : {"2", "3"}) {
    EXPECT_TRUE(has(text, "y.specialize(C == " + std::string(values) + " && B >= ")) << text;
  }
  EXPECT_TRUE(has(text, "pixel, 16, shift_inwards)\ny.fuse(pixel, i1, lane)\n")) << text;
}

// Too many values or too few pixels; values that are chosen between, or of which another one is
// read; what lies apart or where data say; what takes long, or many steps, once for each value.
TEST(SideBySide, NotOthers) {
  const Inputs of(4096, 3), five(4096, 5), few(7, 3);
  const auto& [p, c, x, z, grey, tint] = of;
  const Tensor turned = input("turned", f32, {3, 4096}), wide = input("wide", f32, {4096, 7}),
               at = input("at", i32, {4096}), twice = input("twice", f32, {8192, 3}),
               two = input("two", f32, {4096, 4096});
  const Expr place = clamp(at(p), 0, 4095);
  for (const Tensor& y :
       {five(five.x(five.p, five.c) * five.tint(five.c)),
        few(few.x(few.p, few.c) * few.tint(few.c)), of(select(c == 1, x(p, c), z(p, c))),
        of(select(p > 9, x(p, c) * tint(c), tint(c))), of(x(p, 2 - c) * tint(c)),
        of(turned(c, p) * tint(c)), of(wide(p, c) * tint(c)), of(wide(p, 5) * tint(c)),
        of(x(place, c) * tint(c)), of(twice(2 * p, c) * tint(c)), of(two(p, p) * tint(c)),
        of(exp(x(p, 0)) * tint(c)),
        of((x(p, 0) + x(p, 1) * 2 + x(p, 2) * 3 + grey(p)) * tint(c))}) {
    EXPECT_FALSE(has(derived(y, kV4), "pixel")) << derived(y, kV4);
    EXPECT_TRUE(derives(Graph(y), kV4));
  }
}

// Steps that are few, and what takes long but is another one for each value.
TEST(SideBySide, WhatIsRepeatedIsLittle) {
  const Inputs of(4096, 3);
  const auto& [p, c, x, z, grey, tint] = of;
  for (const Tensor& y : {of((x(p, 0) + x(p, 1) * 2 + x(p, 2)) * tint(c)),
                          of(exp(x(p, c)) * tint(c)), of(x(p, c) / sqrt(tint(c)))}) {
    EXPECT_TRUE(is_side_by_side(y)) << derived(y, kV4);
  }
}

Tensor turned(const Extent& count, int64_t steps, int64_t values, DType type = f32) {
  return matmul(input("x", type, {count, steps}), input("w", type, {steps, values}), "y");
}

// What sums are made of besides pixels stays in registers.
TEST(SideBySide, SumsOfFewSteps) {
  for (const char* level : kLevels) {
    for (const int64_t values : {2, 3}) {
      for (const int64_t steps : {2, 3, 4}) {
        const std::string text = derived(turned(4096, steps, values), target_of(level, 1));
        EXPECT_TRUE(has(text, "y.fuse(pixel, n, lane)\ny.vectorize(lane)\n")) << text;
        EXPECT_TRUE(has(text, "y_acc.fuse(m, n, lane)\ny_acc.vectorize(lane)\n")) << text;
        for (const Extent& count : {Extent(70), Extent(5), kSize}) {
          EXPECT_TRUE(derives(Graph(turned(count, steps, values)), target_of(level, 4),
                              {0, 1, 7, 8, 9, 16, 33}));
        }
      }
    }
  }
}

// Fewer than fill vectors, if more than one vector has lanes.
TEST(SideBySide, SumsOfFewPixels) {
  const Axis c("c", 3), b("b", 3);
  const Tensor x = input("x", f32, {20, 3}), w = input("w", f32, {3});
  const auto windows = [&](const Axis& p) {
    return compute("y", {p, c}, sum(b, x(p + b, c) * w(c)));
  };
  for (const char* level : kLevels) {
    EXPECT_FALSE(has(derived(windows(Axis("p", 5)), target_of(level, 1)), "pixel")) << level;
    EXPECT_TRUE(has(derived(windows(Axis("p", 16)), target_of(level, 1)), "pixel")) << level;
    EXPECT_TRUE(derives(Graph(windows(Axis("p", 5))), target_of(level, 4)));
  }
}

// Many steps, other elements than of four bytes, pixels that are read elsewhere.
TEST(SideBySide, NotOtherSums) {
  const Axis p("p", 4096), c("c", 3), k("k", 3), b("b", 3);
  const Tensor x = input("x", f32, {4098, 3}), wide = input("wide", f32, {4096, 7}),
               w = input("w", f32, {3, 3}), z = input("z", f32, {3, 3, 3});
  for (const Tensor& y : {turned(4096, 5, 3), turned(4096, 3, 3, f64), turned(4096, 3, 3, i16),
                          compute("y", {p, c}, sum({b, k}, x(p + b, k) * z(b, k, c))),
                          compute("y", {p, c}, sum(k, x(p, c) * wide(p, k))),
                          compute("y", {p, c}, sum(k, x(4095 - p, k) * w(k, c)))}) {
    EXPECT_FALSE(has(derived(y, kV4), "pixel")) << derived(y, kV4);
    EXPECT_TRUE(derives(Graph(y), kV4));
  }
}

// Those that say which pixel, where they lie one after another and the last one has too few steps.
TEST(SideBySide, SeveralAxesOfPixelsAreOne) {
  const auto text_of = [](const Shape& shape, const Shape& memory) {
    const Axis a("a", shape[0]), b("b", shape[1]), c("c", shape[2]);
    const Tensor x = input("x", f32, memory), tint = input("tint", f32, {shape[2]});
    return derived(compute("y", {a, b, c}, x(a, b, c) * tint(c)), kV4);
  };
  EXPECT_TRUE(has(text_of({30, 3, 4}, {30, 3, 4}), "y.fuse(a, b, rows)\n"));
  EXPECT_TRUE(has(text_of({30, 3, 4}, {30, 3, 4}), "y.fuse(pixel, c, lane)\n"));
  EXPECT_TRUE(has(text_of({kSize, 3, 4}, {kSize, 3, 4}), "y.fuse(pixel, c, lane)\n"));
  EXPECT_FALSE(has(text_of({30, 16, 4}, {30, 16, 4}), "rows")) << "enough as it is";
  EXPECT_FALSE(has(text_of({30, 3, 4}, {30, 5, 4}), "rows")) << "apart";
  EXPECT_FALSE(has(text_of({2, 3, 4}, {2, 3, 4}), "rows")) << "too few";
  EXPECT_FALSE(has(text_of({30, 3, 5}, {30, 3, 5}), "rows")) << "no pixels";
  const Tensor x = input("x", f32, {kSize, 3, 4}), tint = input("tint", f32, {4});
  for (const char* level : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    EXPECT_TRUE(derives(Graph(mul(x, tint, "y")), target_of(level, 1), {0, 1, 2, 5, 6, 40}));
  }
}

}  // namespace
}  // namespace emulsion
