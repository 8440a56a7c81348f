// Elementwise operations whose rows have a run-time length: it may be that of pixels.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>

#include "dsl/operators.h"
#include "passes/derive/derive_schedule.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

const Extent kRows = Extent::size("R"), kLength = Extent::size("C");
const Target kV3 = Target::parse("x86-64-v3,cores=1");
const Target kFour = Target::parse("x86-64-v3,cores=4");

Tensor scaled(const Extent& rows, const Extent& length, const std::string& name = "y") {
  return mul(input("x", f32, {rows, length}), input("s", f32, {length}), name);
}

TEST(DerivePointwise, RowsOfARunTimeLengthMayBePixels) {
  const std::string text = derived(scaled(kRows, kLength), kV3);
  EXPECT_TRUE(has(text,
                  "y.specialize(C == 1 && R >= 8)\ny.split(i0, i0, lane, 8, shift_inwards)\n"
                  "y.vectorize(lane)\ny.reorder(lane, i1)\ny.unroll(i1)\n"))
      << text;
  for (const char* length : {"1", "2", "3"}) {
    EXPECT_TRUE(has(text, "y.specialize(C == " + std::string(length) +
                              ")\ny.split(i0, i0, lane, 8, predicate)\n"
                              "y.reorder(lane, i1)\ny.vectorize(lane)\ny.unroll(i1)\n"))
        << text;
  }
  EXPECT_TRUE(has(text, "y.specialize(C > 3)\ny.split(i1, i1, i1_v, 8, predicate)\n")) << text;
}

// What says that threads pay is a condition over the rows, and the blocks are of all elements.
TEST(DerivePointwise, BlocksOfAFlatPictureFitWhereThreadsPay) {
  const Tensor x = input("x", f64, {kRows * 2 + 1, 7});
  const Graph graph(sqrt(reshape(x, {-1}, "flat")) / 4);
  for (const char* level : kLevels) {
    EXPECT_TRUE(derives(graph, target_of(level, 4), {0, 3, 1800})) << level;
  }
}

// What is read where a mask says so. Of a number of columns the rest is cut when it is compiled.
TEST(DerivePointwise, RowsAreCutWhereDataChooseReadsThatAreHeld) {
  const auto held = [](const Extent& length, bool chosen) {
    const Axis i("i", kRows), j("j", length);
    const Tensor x = input("x", f32, {kRows, length}), m = input("m", bool_, {kRows, length});
    const Expr next = clamp(j + 1, 0, extent_value(length) - 1);
    return compute("y", {i, j}, chosen ? select(m(i, j), x(i, next), x(i, j)) : x(i, next));
  };
  EXPECT_TRUE(has(derived(held(201, true), kV3), "partition(j)"));
  EXPECT_FALSE(has(derived(held(201, false), kV3), "partition")) << "no data choose";
  EXPECT_FALSE(has(derived(held(8, true), kV3), "partition")) << "one vector";
  EXPECT_TRUE(has(derived(held(kLength, false), kV3), "partition(j)")) << "a run-time length";
  for (const int64_t length : {1, 7, 8, 9, 33}) {
    EXPECT_TRUE(derives(Graph(held(length, true)), kV3, {0, 1, 5})) << length;
  }
}

// A grid with periodic or reflecting ends.
TEST(DerivePointwise, RowsAreCutWhereTheirNeighboursAreTurned) {
  const auto turned = [](const Extent& length, bool wraps) {
    const Axis i("i", kRows), j("j", length);
    const Tensor x = input("x", f32, {kRows, length});
    const Expr n = extent_value(length);
    const auto at = [&](const Expr& place) {
      if (wraps) return x(i, (place + n) % n);
      return x(i, clamp(min(abs(place), 2 * n - 2 - abs(place)), 0, n - 1));
    };
    return compute("y", {i, j}, at(j - 1) + at(j + 1) - 2.0F * x(i, j));
  };
  for (const Tensor& y : {turned(200, true), turned(200, false), turned(kLength, false)}) {
    EXPECT_TRUE(has(derived(y, kV3), "partition(j)")) << derived(y, kV3);
  }
  EXPECT_FALSE(has(derived(turned(8, true), kV3), "partition")) << "one vector";
  for (const char* level : kLevels) {
    for (const int cores : {1, 4}) {
      const Target target = target_of(level, cores);
      EXPECT_TRUE(derives(Graph(turned(kLength, false)), target, {0, 1, 2, 3, 40, 133}));
      for (const int64_t length : {3, 8, 133}) {
        EXPECT_TRUE(derives(Graph(turned(length, true)), target, {0, 1, 5}));
        EXPECT_TRUE(derives(Graph(turned(length, false)), target, {0, 1, 5}));
      }
    }
  }
}

// Four bytes are too few for a vector, four floats are one of any machine: they are a pixel where
// all four are computed in one way.
TEST(DerivePointwise, FourShortElementsAreAPixel) {
  const Axis p("p", kRows), c("c", 4);
  const Tensor bytes = input("x", u8, {kRows, 4}), floats = input("x", f32, {kRows, 4});
  const Tensor part = input("part", f32, {4});
  const auto of = [&](const Expr& value) { return compute("y", {p, c}, value); };
  const std::string pixels = "y.fuse(pixel, c, lane)\ny.vectorize(lane)\n";
  for (const Tensor& y : {of(bytes(p, c) + bytes(p, 3)), of(cast(i16, bytes(p, c)) * 3),
                          of(cast(u8, cast(i32, bytes(p, c)) * 77 / 256))}) {
    EXPECT_TRUE(has(derived(y, kV3), pixels)) << derived(y, kV3);
    for (const char* level : kLevels) {
      EXPECT_TRUE(derives(Graph(y), target_of(level, 4), {0, 1, 7, 16, 33}));
    }
  }
  const Axis five("c", 5);
  for (const Tensor& y :
       {of(exp(floats(p, 0)) * part(c)), of(exp(cast(f32, bytes(p, 0))) + cast(f32, bytes(p, c))),
        compute("y", {p, five}, input("x", u8, {kRows, 5})(p, five) + 1)}) {
    EXPECT_FALSE(has(derived(y, kV3), "unroll(c)")) << derived(y, kV3);
  }
}

// Each of the four parts is another expression: in a vector of them all four would be computed.
TEST(DerivePointwise, FourPartsThatAreComputedOtherwiseAreAPixel) {
  const Axis p("p", kRows), c("c", 4), five("c", 5);
  const Tensor a = input("a", f32, {kRows, 4}), b = input("b", f32, {kRows, 5});
  const auto part = [&](int i, int j) { return a(p, i) * b(p, j) - a(p, j) * b(p, i); };
  const auto of = [&](const Axis& axis) {
    const Expr rest = select(axis == 2, part(1, 3), part(0, 3));
    return compute("y", {p, axis},
                   select(axis == 0, part(0, 1), select(axis == 1, part(0, 2), rest)));
  };
  EXPECT_TRUE(has(derived(of(c), kV3), "y.vectorize(lane)\ny.reorder(lane, c)\ny.unroll(c)\n"))
      << derived(of(c), kV3);
  const Tensor masked = compute("y", {p, c}, select(a(p, c) > b(p, 0), a(p, c), b(p, c)));
  const Tensor by_row = compute("y", {p, c}, select(p < 9, a(p, c), b(p, c)));
  for (const Tensor& y : {of(five), masked, by_row}) {
    EXPECT_FALSE(has(derived(y, kV3), "unroll(c)")) << derived(y, kV3);
  }
  for (const char* level : kLevels) {
    for (const Tensor& y : {of(c), of(five), masked, by_row}) {
      EXPECT_TRUE(derives(Graph(y), target_of(level, 4), {0, 1, 3, 4, 7, 16, 33}));
    }
  }
}

// A row of what lies across them touches a line for each of its elements.
TEST(DerivePointwise, RowsAreInBlocksWhereAnyMemberReadsAcrossThem) {
  const auto blocks = [](int rows, int columns, int across) {
    Tensor sum = input("z", f32, {rows, columns});
    for (int i = 0; i < across; ++i) {
      const Tensor turned = transpose(input("x" + std::to_string(i), f32, {columns, rows}), {1, 0});
      sum = add(sum, turned * 0.5f);
    }
    // More than is written once for each row of a tile: no tiles are transposed.
    for (int i = 0; i < 8; ++i) sum = relu(sum * 2.0f);
    return has(derived(relu(sum, "y"), kV3), "y.split(i0, i0, row, 16");
  };
  EXPECT_TRUE(blocks(500, 1000, 1));
  EXPECT_TRUE(blocks(512, 128, 1)) << "steps of 2048 bytes have few sets";
  EXPECT_FALSE(blocks(500, 16, 1)) << "few lines";
  EXPECT_FALSE(blocks(500, 300, 1)) << "300 lines";
  EXPECT_TRUE(blocks(500, 300, 2)) << "600";
  EXPECT_FALSE(blocks(8, 1000, 1)) << "too few rows for a block";
}

TEST(DerivePointwise, LoopsAreCutAtTheBordersOfAnyMember) {
  const Axis i("i", 64), j("j", 256);
  const Tensor x = input("x", f32, {64, 256});
  const Tensor chosen = compute("chosen", {i, j}, select(Expr(j) < 100, x(i, j), 0.0f));
  const Graph graph(relu(chosen * 2.0f, "y"));
  EXPECT_TRUE(has(derived(graph, kV3), "y.partition(j)") ||
              has(derived(graph, kV3), "y.partition(i1)"))
      << derived(graph, kV3);
  EXPECT_TRUE(derives(graph, kV3, {}));
}

TEST(DerivePointwise, ThreadsAreAskedForInEachCase) {
  const std::string text = derived(scaled(kRows, kLength), kFour);
  EXPECT_TRUE(has(text, "y.specialize(C == 3 && R >= 29127)\n")) << text;
  EXPECT_TRUE(has(text, "y.parallel(block)\ny.specialize(C == 3 && R >= 8)\n")) << text;
  const std::string many = derived(scaled(1 << 20, kLength), kFour);
  EXPECT_TRUE(has(many, "y.unroll(i1)\ny.parallel(block)\ny.specialize(C == 2)\n")) << many;
}

TEST(DerivePointwise, EveryLengthIsRight) {
  const Tensor three = relu(input("x", f32, {kRows, 20, kLength}) + 1, "y");
  for (const Target& target : {kV3, kFour, Target::parse("x86-64-v4,cores=1")}) {
    for (const Tensor& y : {scaled(kRows, kLength), scaled(40, kLength), three,
                            cast(input("x", u8, {kRows, kLength}), f32)}) {
      EXPECT_TRUE(derives(Graph(y), target, {0, 1, 2, 3, 4, 5, 8, 17, 33}));
    }
  }
  for (const char* level : kLevels) {
    for (const Tensor& y : {relu(input("x", f32, {kLength}), "y"),
                            neg(input("x", u8, {kLength}), "y"), scaled(kRows, 3)}) {
      EXPECT_TRUE(derives(Graph(y), target_of(level, 4), {0, 1, 7, 8, 9, 31, 32, 33, 70}));
    }
  }
}

// A mask of bytes is made element by element where the target has none: so is one of pixels, and
// all are without AVX. Where a row is as long as a vector, its last one starts earlier instead.
TEST(DerivePointwise, WhereMasksAreDearTheLastVectorStartsEarlier) {
  const Tensor bytes = neg(input("x", u8, {40, kLength}), "y");
  const std::string text = derived(bytes, kV3);
  EXPECT_TRUE(has(text,
                  "y.specialize(C > 3 && C >= 32)\n"
                  "y.split(i1, i1, lane, 32, shift_inwards)\ny.vectorize(lane)\n"
                  "y.specialize(C > 3)\ny.split(i1, i1, i1_v, 32, predicate)\n"))
      << text;
  const Axis r("r", kRows), c("c", 3);
  const Tensor turned = compute("y", {r, c}, input("x", f32, {kRows, 3})(r, 2 - c));
  EXPECT_TRUE(has(derived(turned, kV3),
                  "y.specialize(R >= 8)\ny.split(r, r, lane, 8, shift_inwards)\n"
                  "y.vectorize(lane)\ny.reorder(lane, c)\ny.unroll(c)\n"));
  const Tensor floats = relu(input("x", f32, {40, 7, kLength}), "y");
  EXPECT_TRUE(has(derived(floats, target_of("x86-64-v2", 1)), "shift_inwards"));
  const Axis i("i", 40), j("j", kLength);
  const Expr next = input("x", f32, {40, kLength})(i, clamp(j + 1, 0, extent_value(kLength) - 1));
  const Tensor held = compute("y", {i, j}, select(i < 3, next, 0.0F));  // a border of the rows
  EXPECT_TRUE(has(derived(held, target_of("x86-64-v2", 1)), "shift_inwards"));
}

TEST(DerivePointwise, NotWhereMasksAreCheapOrNotNeeded) {
  const Tensor floats = relu(input("x", f32, {40, 7, kLength}), "y");
  const Tensor bytes = neg(input("x", u8, {40, 7, kLength}), "y");
  EXPECT_FALSE(has(derived(floats, kV3), "shift_inwards"));
  EXPECT_FALSE(has(derived(bytes, target_of("x86-64-v4", 1)), "shift_inwards"));
  EXPECT_FALSE(has(derived(neg(input("x", u8, {7, kLength * 32})), kV3), "specialize"));
  const Tensor padded = pad(input("x", f32, {40, 7, kLength}), {0, 0, 1}, {0, 0, 1});
  EXPECT_FALSE(has(derived(padded, kV3), "shift_inwards"));
  const Tensor joined = concat({input("x", u8, {7, kLength}), input("z", u8, {7, kLength})}, 1);
  EXPECT_FALSE(has(derived(joined, target_of("x86-64-v4", 1)), "shift_inwards"));
}

// The loops between the borders of what is joined or padded have no choice left, and those at them
// no masks.
TEST(DerivePointwise, WhatIsJoinedOrPaddedStartsItsLastVectorEarlierToo) {
  const Tensor x = input("x", u8, {7, kLength}), z = input("z", u8, {7, kLength});
  const std::string joined = derived(concat({x, z}, 1, "y"), kV3);
  EXPECT_TRUE(has(joined,
                  "y.specialize(C >= 32)\ny.cut(i1, C)\n"
                  "y.split(i1, i1, i1_v, 32, shift_inwards)\ny.vectorize(i1_v)\n"
                  "y.partition(i1)\n"))
      << joined;
  const std::string padded = derived(pad(x, {0, 1}, {0, 1}, 0, "y"), kV3);
  EXPECT_TRUE(has(padded, "y.specialize(C + 2 >= 32)\n")) << padded;
  EXPECT_TRUE(has(padded, "y.specialize(C + 2 >= 1)\ny.split(i1, i1, i1_v, 16, predicate)\n"))
      << padded;
  for (const char* level : kLevels) {
    for (const Tensor& y :
         {concat({x, z}, 1), pad(x, {1, 3}, {0, 2}), pad(relu(z), {0, 9}, {1, 0})}) {
      EXPECT_TRUE(derives(Graph(y), target_of(level, 2), {0, 1, 7, 16, 17, 32, 33, 70})) << level;
    }
  }
}

// Which colour it is is no border of the row.
TEST(DerivePointwise, AColourThatIsMadeOtherwiseIsNoBorder) {
  const Axis i("i", 7), j("j", kLength), c("c", 4);
  const Tensor x = input("x", u8, {7, kLength, 3});
  const Tensor opaque = compute("y", {i, j, c}, select(c < 3, x(i, j, min(c, 2)), cast(u8, 255)));
  const Tensor low = compute("z", {i, j, c}, select(j < 30, opaque(i, j, c), cast(u8, 0)));
  for (const char* level : kLevels) {
    const std::string text = derived(opaque, target_of(level, 1));
    EXPECT_TRUE(has(text, "shift_inwards)\n")) << text;
    EXPECT_FALSE(has(derived(low, target_of(level, 1)), "shift_inwards)\n"));
    for (const Tensor& y : {opaque, low}) {
      EXPECT_TRUE(derives(Graph(y), target_of(level, 4), {0, 1, 15, 16, 17, 31, 33, 64, 70}));
    }
  }
}

// Elements that do not lie side by side have masks on no target. What is clamped has vectors of
// neighbours between the ends alone, where a row is cut if masks are there for these.
TEST(DerivePointwise, WhereElementsLieApartTheLastVectorStartsEarlier) {
  const Axis i("i", 7), j("j", kLength), twice("j", kLength * 2);
  for (const DType type : {f32, u8, i16}) {
    const Tensor wide = input("x", type, {7, kLength * 3}), x = input("x", type, {7, kLength});
    const Tensor pixels = input("x", type, {7, kLength, 3}),
                 turned = input("x", type, {kLength, 7});
    const Tensor square = input("x", type, {kLength, kLength});
    const Expr next = min(Expr(j) + 1, size_value("C") - 1);
    for (const Tensor& y :
         {compute("y", {i, j}, wide(i, 3 * j + 1)), compute("y", {i, j}, x(i, next)),
          compute("y", {i, j}, pixels(i, j, 0) + pixels(i, j, 2)),
          compute("y", {i, twice}, x(i, twice / 2)), compute("y", {i, j}, turned(j, i)),
          compute("y", {i, j}, square(j, j))}) {
      for (const char* level : kLevels) {
        const std::string text = derived(y, target_of(level, 1));
        EXPECT_TRUE(has(text, "shift_inwards)\n") || has(text, "y.cut(j, C - 1)\n")) << text;
        EXPECT_TRUE(derives(Graph(y), target_of(level, 4), {0, 1, 2, 15, 16, 17, 33, 70}));
      }
    }
  }
  const Tensor exact = input("x", f32, {7, kLength * 48});
  const Tensor y = compute("y", {i, Axis("j", kLength * 16)}, exact(i, 3 * Axis("j", 1)));
  EXPECT_FALSE(has(derived(y, kV3), "shift_inwards")) << derived(y, kV3);
}

// Bytes are shuffled 16 at a time, or by instructions that take them from anywhere in a vector.
TEST(DerivePointwise, VectorsThatAreShuffledOutOfBytesAreShort) {
  const Axis i("i", 7), j("j", 200);
  const auto lanes = [&](const Tensor& y, int count, const char* level) {
    const std::string text = derived(y, target_of(level, 1));
    EXPECT_TRUE(has(text, fmt::format("_v, {}, shift_inwards)\n", count))) << text;
    EXPECT_TRUE(derives(Graph(y), target_of(level, 1), {}));
  };
  const auto third = [&](DType type) {
    return compute("y", {i, j}, input("x", type, {7, 600})(i, 3 * j));
  };
  lanes(third(u8), 16, "x86-64-v4");
  lanes(third(u8), 16, "x86-64-v3");
  EXPECT_TRUE(has(derived(third(u8), Target::parse("x86-64-v4-avx512_zen4")), "j_v, 64, "));
  lanes(third(i16), 32, "x86-64-v4");
  lanes(compute("y", {i, j}, input("x", u8, {7, 800})(i, 4 * j)), 64, "x86-64-v4");
  lanes(compute("y", {i, j}, input("x", u8, {7, 200})(i, j)), 64, "x86-64-v4");
}

// Compiling a mask for each of 64 bytes takes many seconds.
TEST(DerivePointwise, VectorsThatAreMadeElementByElementAreShort) {
  const Target v4 = target_of("x86-64-v4", 1);
  const Tensor turned = transpose(input("x", u8, {kRows, kLength}), {1, 0}, "y");
  EXPECT_TRUE(has(derived(turned, v4), "lane, 16, predicate)\n")) << derived(turned, v4);
  const Axis i("i", 7), j("j", kLength);
  const Tensor fifth = compute("y", {i, j}, input("x", u8, {7, kLength * 5})(i, 5 * j));
  EXPECT_TRUE(has(derived(fifth, v4), "lane, 64, shift_inwards)\n")) << derived(fifth, v4);
  EXPECT_TRUE(has(derived(fifth, v4), "j_v, 16, predicate)\n")) << derived(fifth, v4);
  const Tensor pixels =
      compute("y", {j, Axis("c", 3)}, input("x", u8, {kLength, 3})(j, 2 - Expr(Axis("c", 3))));
  EXPECT_TRUE(has(derived(pixels, v4), "lane, 16, predicate)\n")) << derived(pixels, v4);
  // Side by side there are masks for all 64 of them.
  const Tensor same = neg(input("x", u8, {40, 7, kLength}), "y");
  EXPECT_TRUE(has(derived(same, v4), ", 64, predicate)\n")) << derived(same, v4);
}

// Whole ones, too, where what they read lies far apart, backwards, or where data say; not of what
// is near, or of a known length.
TEST(DerivePointwise, SoAreThoseWithoutMasks) {
  const Target v4 = target_of("x86-64-v4", 1);
  const Axis i("i", 7), j("j", kLength), c("c", 3);
  const Tensor x = input("x", u8, {7, kLength}), deep = input("x", u8, {3, kLength, 9});
  const Tensor pixels = input("x", u8, {kLength, 3}), place = input("p", i32, {kLength});
  const Expr last = size_value("C") - 1;
  const Expr at = clamp(place(j), 0, last);
  for (const Tensor& y : {compute("y", {j, c}, pixels(last - j, c)),
                          compute("y", {i, j}, deep(0, j, i)), compute("y", {j, c}, pixels(at, c)),
                          compute("y", {i, j}, input("x", u8, {7, kLength * 9})(i, 9 * j))}) {
    const std::string text = derived(y, v4);
    EXPECT_TRUE(has(text, "lane, 16, shift_inwards)\n")) << text;
    EXPECT_FALSE(has(text, ", 64")) << text;
    for (const char* level : kLevels) {
      EXPECT_TRUE(derives(Graph(y), target_of(level, 4), {1, 2, 15, 16, 17, 64, 70}));
    }
  }
  for (const Tensor& y : {compute("y", {j, c}, pixels(j, 2 - c)),
                          compute("y", {i, j}, input("x", u8, {7, kLength * 8})(i, 8 * j)),
                          compute("y", {i, Axis("j", kLength * 2)}, x(i, Axis("j", 1) / 2))}) {
    EXPECT_TRUE(has(derived(y, v4), "lane, 64, shift_inwards)\n")) << derived(y, v4);
  }
  const Axis many("j", 70);
  const Tensor known = compute("y", {many, c}, input("x", u8, {70, 3})(69 - many, c));
  EXPECT_TRUE(has(derived(known, v4), "lane, 64, shift_inwards)\n")) << derived(known, v4);
}

// What data say has no ends at which a loop is to be cut.
TEST(DerivePointwise, ClampedDataAreNoEnds) {
  const Axis i("i", kRows), j("j", kLength);
  const Tensor x = input("x", f32, {kRows, kLength}), rows = input("r", i32, {kRows});
  const Expr row = clamp(rows(i), 0, size_value("R") - 1);
  const std::string text = derived(compute("y", {i, j}, x(row, j)), kV3);
  EXPECT_FALSE(has(text, "partition(i)")) << text;
}

// Blocks of a long row are for threads: where these do not share them, there are none.
TEST(DerivePointwise, OneLongRowHasBlocksWhereThreadsShareThem) {
  const std::string text = derived(relu(input("x", f32, {kLength}), "y"), kFour);
  EXPECT_TRUE(has(text, "y.specialize(C >= 131072)\ny.split(i0, block, within, 8192, guard)\n"))
      << text;
  EXPECT_TRUE(has(text,
                  "y.parallel(block)\ny.specialize(C >= 1)\n"
                  "y.split(i0, i0, i0_v, 8, predicate)\n"))
      << text;
}

// Of pixels, and of bytes where the target cannot mask them, the last block starts earlier.
TEST(DerivePointwise, WhereMasksLackTheLastBlockStartsEarlier) {
  const std::string block = ", 4096, shift_inwards)\n";
  for (const Extent& rows : {kRows, Extent(50000)}) {
    const std::string text = derived(scaled(rows, 3), kFour);
    EXPECT_TRUE(has(text, "y.split(i0, block, within" + block)) << text;
    EXPECT_FALSE(has(text, "partition")) << text;
  }
  const Tensor bytes = neg(input("x", u8, {kLength}), "y");
  EXPECT_TRUE(has(derived(bytes, kFour), block)) << derived(bytes, kFour);
  EXPECT_FALSE(has(derived(bytes, target_of("x86-64-v4", 4)), block));
  // Blocks that divide the row; a length of which no condition speaks; borders at which it is cut.
  EXPECT_FALSE(has(derived(scaled(8 * 8192, 3), kFour), block));
  EXPECT_TRUE(has(derived(scaled(kRows * Extent(2), 3), kFour), block));
  for (const Tensor& y : {scaled(kRows - kLength, 3), pad(input("x", u8, {600000}), {3}, {3})}) {
    const std::string text = derived(y, kFour);
    EXPECT_TRUE(has(text, ", 8192, guard)\n") && has(text, ".partition(block)\n")) << text;
  }
  for (const char* level : kLevels) {
    EXPECT_TRUE(derives(Graph(scaled(kRows, 3)), target_of(level, 4), {0, 1, 17, 43691, 45057}));
    EXPECT_TRUE(derives(Graph(scaled(45057, 3)), target_of(level, 4)));
  }
}

// Threads share fewer pixels than a block has where each of them takes long.
TEST(DerivePointwise, NotWhereThreadsShareLessThanABlock) {
  for (const Extent& rows : {kRows, Extent(3600)}) {
    Tensor y = scaled(rows, 3, "scaled");
    for (int round = 0; round < 4; ++round) y = exp(tanh(y));
    for (const char* level : kLevels) {
      const std::string text = derived(y, target_of(level, 4));
      const bool is_wide = std::string(level) == "x86-64-v4";  // where each takes less
      EXPECT_TRUE(is_wide || !has(text, ", 4096, shift_inwards)\n")) << text;
      EXPECT_TRUE(derives(Graph(y), target_of(level, 4), {0, 1, 17, 3500, 3600, 5000}));
    }
  }
}

// Four columns fill a vector, and are enough for threads.
TEST(DerivePointwise, OneCaseForTwoReasons) {
  const Tensor y = tanh(exp(tanh(scaled(3600, kLength, "scaled"))), "y");
  for (const char* level : kLevels) {
    EXPECT_TRUE(derives(Graph(y), target_of(level, 2), {0, 1, 3, 4, 5})) << level;
  }
}

TEST(DerivePointwise, NotOfRowsThatAreFewOrAlone) {
  for (const Tensor& y :
       {scaled(4, kLength), relu(input("x", f32, {kLength})), relu(input("x", f32, {kRows, 64}))}) {
    EXPECT_FALSE(has(derived(y, kV3), "specialize")) << derived(y, kV3);
  }
}

// The rows of a square are as many as they are long; a row may have borders, or be read elsewhere.
TEST(DerivePointwise, NotOfOtherLengthsOrOfRowsThatAreReadOtherwise) {
  const Axis i("i", kRows), j("j", kLength);
  const Tensor x = input("x", f32, {kRows, kLength});
  for (const Tensor& y :
       {scaled(kLength, kLength), scaled(kRows, kLength + Extent(1)), scaled(kRows, kLength * 2),
        pad(x, {0, 1}, {0, 0}), compute("y", {i, j}, input("z", f32, {kLength, kRows + 1})(j, i)),
        compute("y", {i, j}, select(Expr(i) >= 2, x(i, j), 0.0f))}) {
    EXPECT_FALSE(has(derived(y, kV3), " == ")) << derived(y, kV3);
  }
}

// Rows that would be loaded and stored in several pieces. Where masks are dear they are, and half a
// vector is one piece.
TEST(DerivePointwise, RowsThatAreAPartOfAVectorHaveMasks) {
  const auto is_masked = [](const Tensor& y, const char* level) {
    return has(derived(y, target_of(level, 1)), "y.split(j, j, lane, ");
  };
  const auto rows_of = [](int64_t columns, DType type, bool gathers) {
    const Axis i("i", 64), j("j", columns);
    const Tensor x = input("x", type, {64, columns}), d = input("d", i32, {columns});
    const Tensor row = input("r", type, {columns + 1});
    const Expr column = gathers ? clamp(d(j), 0, static_cast<int>(columns) - 1) : Expr(j);
    return compute("y", {i, j}, x(i, column) * row(j + 1));
  };
  for (int64_t columns : {5, 6, 7, 9, 12, 15}) {
    EXPECT_TRUE(is_masked(rows_of(columns, f32, false), "x86-64-v4")) << columns;
    EXPECT_FALSE(is_masked(rows_of(columns, f32, false), "x86-64-v3")) << columns;
    EXPECT_FALSE(is_masked(rows_of(columns, f32, true), "x86-64-v4")) << columns;
  }
  EXPECT_TRUE(is_masked(rows_of(7, f64, false), "x86-64-v4"));
  EXPECT_FALSE(is_masked(rows_of(9, f64, false), "x86-64-v4")) << "more than one vector";
  EXPECT_FALSE(is_masked(rows_of(8, f32, false), "x86-64-v4")) << "half a vector";
  EXPECT_FALSE(is_masked(rows_of(13, u8, false), "x86-64-v4")) << "bytes";
  for (const char* level : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    for (int64_t columns : {5, 12, 15}) {
      EXPECT_TRUE(derives(Graph(rows_of(columns, f32, false)), target_of(level, 1)));
    }
  }
}

}  // namespace
}  // namespace emulsion
