// Planes made of pixels: a few are computed side by side, out of the same lines of memory.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "dsl/operators.h"
#include "passes/derive/derive_schedule.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

const Extent kRows = Extent::size("H"), kColumns = Extent::size("W"), kPlanes = Extent::size("C");
const Target kV4 = Target::parse("x86-64-v4,cores=1");

// y[c, i] = x[i, c], and what is made of it.
struct Planes {
  Planes(const Extent& count, const Extent& length, DType type = f32)
      : c("c", count), i("i", length), x(input("x", type, {length, count})) {}
  Tensor operator()(const Expr& value) const { return compute("y", {c, i}, value); }

  Axis c, i;
  Tensor x;
};

Tensor turned(const Extent& count, const Extent& length, DType type = f32) {
  const Planes of(count, length, type);
  return of(of.x(of.i, of.c));
}

// Rows and columns of a picture.
Tensor picture(const Extent& rows, const Extent& columns, const Extent& colours, DType type = f32) {
  return transpose(input("x", type, {rows, columns, colours}), {2, 0, 1}, "y");
}

bool are_side_by_side(const Tensor& y, const Target& target = kV4) {
  return has(derived(y, target), "y.vectorize(lane)\ny.unroll(") ||
         has(derived(y, target), "y.vectorize(lane_v)\ny.unroll(lane)\ny.unroll(") ||
         has(derived(y, target), "y.vectorize(lane)\ny.reorder(lane, ");
}

TEST(PlanesOfPixels, VectorsOfEachSideBySide) {
  EXPECT_EQ(derived(turned(3, 16), kV4),
            "emulsion schedule 1\ny.reorder(c, i)\ny.split(i, i, lane, 16)\ny.reorder(lane, c)\n"
            "y.vectorize(lane)\ny.unroll(c)\n");
  EXPECT_EQ(derived(turned(3, 160), kV4),
            "emulsion schedule 1\ny.reorder(c, i)\ny.split(i, i, lane, 80)\ny.reorder(lane, c)\n"
            "y.split(lane, lane, lane_v, 16)\ny.vectorize(lane_v)\ny.unroll(lane)\ny.unroll(c)\n");
}

// As many as end with the row, or nearly so, and as registers hold of all planes.
TEST(PlanesOfPixels, SeveralVectorsOfEachWhereTheyAreLittle) {
  const auto block_of = [](const Tensor& y, int64_t steps, const std::string& tail = "") {
    return has(derived(y, kV4), fmt::format("y.split(i, i, lane, {}{})\ny.reorder(lane, c)\n"
                                            "y.split(lane, lane, lane_v, 16)\n",
                                            steps, tail));
  };
  EXPECT_TRUE(block_of(turned(2, 1280), 128));
  EXPECT_TRUE(block_of(turned(3, 30000), 128, ", shift_inwards")) << derived(turned(3, 30000), kV4);
  EXPECT_TRUE(block_of(turned(4, 1280), 64));
  EXPECT_TRUE(block_of(turned(8, 1280), 32));
  EXPECT_TRUE(are_side_by_side(turned(15, 1280))) << "one of each";
  EXPECT_FALSE(block_of(turned(15, 1280), 32));
  EXPECT_TRUE(block_of(turned(3, 1290), 64, ", shift_inwards")) << "54 of 1290 again";
  EXPECT_TRUE(block_of(turned(3, 112), 112)) << "seven are the row";
  EXPECT_TRUE(block_of(turned(3, 96), 96)) << "six, not two by two";
  EXPECT_TRUE(has(derived(turned(3, 176), kV4), "y.split(i, i, lane, 16)\n")) << "eleven: one each";
  const Planes of(3, 1280);
  Expr much = of.x(of.i, of.c);
  for (int k = 0; k < 40; ++k) much = much * of.x(of.i, of.c) + 1.0F;
  EXPECT_FALSE(block_of(of(much), 128)) << "much is computed of each";
  const std::string text = derived(turned(3, kRows), kV4);
  for (const char* condition : {"y.specialize(H >= 128)\n", "y.specialize(H >= 16)\n"}) {
    EXPECT_TRUE(has(text, condition)) << text;
  }
  for (const char* level : kLevels) {
    for (const int64_t length : {112, 127, 128, 130, 1290}) {
      EXPECT_TRUE(derives(Graph(turned(3, length, u8)), target_of(level, 1)));
      EXPECT_TRUE(derives(Graph(turned(2, length)), target_of(level, 2)));
    }
    EXPECT_TRUE(derives(Graph(turned(3, kRows)), target_of(level, 2), {0, 1, 15, 16, 130, 300}));
  }
}

// Rows that lie one after another in all that is read are one, be they as short as they may.
TEST(PlanesOfPixels, RowsThatLieOneAfterAnotherAreOne) {
  const std::string text = derived(picture(50, 100, 3), kV4);
  EXPECT_TRUE(has(text, "y.fuse(i1, i2, flat)\ny.reorder(i0, flat)\n")) << text;
  EXPECT_TRUE(has(derived(picture(kRows, 100, 3), kV4), "y.fuse(i1, i2, flat)\n"));
  EXPECT_TRUE(has(derived(picture(7, 7, 3), kV4), "y.fuse(i1, i2, flat)\n"));
  EXPECT_FALSE(has(derived(picture(50, kColumns, 3), kV4), "fuse(")) << "a number, or not inside";
  const Axis c("c", 3), i("i", 50), j("j", 60);
  const Tensor wide = input("x", f32, {50, 61, 3}), pixels = input("x", f32, {50, 60, 3});
  const Tensor rows = input("s", f32, {50}), cube = input("z", f32, {50, 60, 50});
  for (const Tensor& y :
       {compute("y", {c, i, j}, wide(i, j, c)), compute("y", {c, i, j}, pixels(i, j, c) * rows(i)),
        compute("y", {c, i, j}, pixels(49 - i, j, c)),
        compute("y", {c, i, j}, pixels(i, j, c) * cube(i, j, i))}) {
    EXPECT_FALSE(has(derived(y, kV4), "fuse(i, j")) << derived(y, kV4);
    EXPECT_TRUE(derives(Graph(y), kV4));
  }
  // From a row on, which the pixels have more of.
  const Tensor later = compute("y", {c, i, j}, input("x", f32, {55, 60, 3})(i + 5, j, c));
  EXPECT_TRUE(has(derived(later, kV4), "y.fuse(i, j, flat)\n")) << derived(later, kV4);
  for (const char* level : kLevels) {
    for (const Tensor& y : {later, picture(50, 100, 3), picture(7, 7, 3), picture(7, 9, 8, u8),
                            picture(kRows, 23, 2)}) {
      EXPECT_TRUE(derives(Graph(y), target_of(level, 2), {0, 1, 2, 9}));
    }
  }
}

// By turns they would be stored in lines that are not whole; what the second one reads again is
// still in the cache.
TEST(PlanesOfPixels, TwoOfShortRowsAreComputedOneAfterTheOther) {
  const auto parts = [](const Extent& rows, int64_t columns, int64_t count, DType type = f32) {
    const Axis b("b", count), i("i", rows), j("j", columns);
    const Tensor x = input("x", type, {rows, columns * count});
    return compute("y", {b, i, j}, x(i, count * j + b));
  };
  EXPECT_FALSE(are_side_by_side(parts(56, 56, 2))) << derived(parts(56, 56, 2), kV4);
  EXPECT_FALSE(are_side_by_side(parts(64, 64, 2, u8)));
  EXPECT_TRUE(are_side_by_side(parts(56, 64, 2))) << "four vectors of each";
  EXPECT_TRUE(are_side_by_side(parts(56, 112, 2))) << "seven of each";
  EXPECT_TRUE(are_side_by_side(parts(56, 57, 3))) << "three would be read three times";
  EXPECT_TRUE(are_side_by_side(parts(50000, 56, 2))) << "no cache holds them";
  EXPECT_TRUE(are_side_by_side(parts(kRows, 56, 2))) << "any number of rows";
  const Axis b("b", 2), j("j", 56);
  EXPECT_TRUE(are_side_by_side(compute("y", {b, j}, input("x", f32, {112})(2 * j + b))))
      << "one row of each";
  for (const char* level : kLevels) {
    EXPECT_TRUE(derives(Graph(parts(56, 56, 2)), target_of(level, 2)));
    EXPECT_TRUE(derives(Graph(parts(9, 112, 2, u8)), target_of(level, 1)));
  }
}

TEST(PlanesOfPixels, OfWhateverIsComputed) {
  const Planes of(3, 100), four(4, 100);
  const Tensor scale = input("s", f32, {3});
  const Axis a("a", 2), b("b", 2), i("i", 50), j("j", 64);
  const Tensor halves = input("x", f32, {100, 128});
  for (const Tensor& y :
       {of((of.x(of.i, of.c) - scale(of.c)) * scale(of.c)), of(of.x(of.i, 2 - of.c)),
        of(max(of.x(of.i, of.c), input("z", f32, {3, 100})(of.c, of.i))),
        compute("y", {of.c, of.i}, four.x(of.i, of.c)),
        compute("y", {a, b, i, j}, halves(2 * i + a, 2 * j + b)),
        compute("y", {a, of.c, of.i}, input("x", f32, {2, 100, 3})(a, of.i, of.c))}) {
    EXPECT_TRUE(are_side_by_side(y)) << derived(y, kV4);
    for (const char* level : kLevels) EXPECT_TRUE(derives(Graph(y), target_of(level, 2)));
  }
}

// Many planes, one, few pixels, or what lies apart whatever the plane.
TEST(PlanesOfPixels, NotOfOthers) {
  const Axis c("c", 3), i("i", 100), k("k", 20);
  const Tensor x = input("x", f32, {100, 20}), by_plane = input("x", f32, {3, 100});
  for (const Tensor& y :
       {turned(1, 100), turned(3, 15), compute("y", {c, i}, x(i, c)),
        compute("y", {c, i}, by_plane(c, i)), compute("y", {c, i}, x(i, 0)),
        compute("y", {c, i}, x(99 - i, c)), compute("y", {c, i}, input("x", f32, {300})(3 * i)),
        compute("y", {c, i}, by_plane(2 - c, 99 - i))}) {
    EXPECT_FALSE(are_side_by_side(y)) << derived(y, kV4);
    EXPECT_TRUE(derives(Graph(y), kV4));
  }
  // Many planes are no planes, but rows of a tile.
  EXPECT_TRUE(has(derived(turned(16, 100), kV4), "reorder(lane, row, i, c)\n"));
}

// Another operand lies across the rows, so that these are computed several together.
TEST(PlanesOfPixels, NotWhereRowsAreBlocked) {
  const Axis c("c", 3), i("i", 64), j("j", 2000);
  const Expr pixel = input("x", f32, {64, 2000, 3})(i, j, c);
  const Tensor across = compute("y", {c, i, j}, pixel + input("z", f32, {2000, 64})(j, i));
  EXPECT_FALSE(are_side_by_side(across)) << derived(across, kV4);
  EXPECT_TRUE(has(derived(across, kV4), "y.reorder(lane, row, ")) << derived(across, kV4);
  EXPECT_FALSE(has(derived(across, kV4), "y.reorder(c, ")) << derived(across, kV4);
  EXPECT_TRUE(are_side_by_side(compute("y", {c, i, j}, pixel)));
}

// y[c, p] of `count` planes, each a sum of its own of the planes of x.
Tensor mixed(const Extent& count, const Extent& length, DType type = f32) {
  const Axis c("c", count), p("p", length);
  const Tensor x = input("x", type, {3, length});
  const auto sum_of = [&](int a, int b) {
    return x(0, p) * constant(type, a) + x(1, p) * constant(type, b) + x(2, p);
  };
  return compute("y", {c, p}, select(c == 0, sum_of(1, 2), select(c == 1, sum_of(3, 0), x(2, p))));
}

TEST(PlanesOfPixels, EachOtherwiseOfTheSameValues) {
  EXPECT_EQ(derived(mixed(3, 16), kV4),
            "emulsion schedule 1\ny.reorder(c, p)\ny.split(p, p, lane, 16)\ny.reorder(lane, c)\n"
            "y.vectorize(lane)\ny.unroll(c)\n");
  EXPECT_TRUE(has(derived(mixed(3, kRows), kV4),
                  "y.reorder(c, p)\ny.vectorize(p, 16, predicate)\ny.reorder(p_v, c)\n") ||
              has(derived(mixed(3, kRows), kV4), "y.reorder(lane, c)\n"))
      << derived(mixed(3, kRows), kV4);
  // A picture of any length of rows has no cases for short ones.
  const Axis of("c", 3), rows("i", kRows), columns("j", kColumns);
  const Tensor colours = input("x", f32, {3, kRows, kColumns});
  const Expr first = colours(0, rows, columns), second = colours(1, rows, columns);
  const Tensor any = compute("y", {of, rows, columns}, select(of == 0, first - second, first));
  for (const char* level : kLevels) {
    const std::string text = derived(any, target_of(level, 1));
    EXPECT_TRUE(has(text, "y.unroll(c)\n")) << text;
    EXPECT_FALSE(has(text, "W == 1")) << text;
  }
  // The states of a filter, next to another axis.
  const Axis b("b", 5), c("c", 4), p("p", 100);
  const Tensor z = input("z", f32, {5, 4, 100});
  const Expr next = select(c < 3, z(b, min(c + 1, 3), p), 0.0F);
  EXPECT_TRUE(are_side_by_side(compute("y", {b, c, p}, z(b, 0, p) - next)));
}

// Many of them, what they have not in common, what data choose, or what is no choice.
TEST(PlanesOfPixels, NotEachOtherwise) {
  const Axis c("c", 3), p("p", 160);
  const Tensor x = input("x", f32, {3, 160}), z = input("z", f32, {160}), w = input("w", f32, {3});
  for (const Tensor& y :
       {mixed(9, 160), mixed(kPlanes, 160), compute("y", {c, p}, select(c == 0, z(p), x(c, p))),
        compute("y", {c, p}, z(p) * w(c)), compute("y", {c, p}, select(w(c) > 0.0F, z(p), 0.0F)),
        compute("y", {c, p}, select(p < 80, z(p), x(c, p))),
        compute("y", {c, p}, select(c == 0, w(0), w(1)) * x(c, p))}) {
    EXPECT_FALSE(are_side_by_side(y)) << derived(y, kV4);
    EXPECT_TRUE(derives(Graph(y), kV4));
  }
}

// The last vectors start earlier, and shorter rows have masks.
TEST(PlanesOfPixels, OfARunTimeLength) {
  const std::string text = derived(turned(3, kRows), kV4);
  EXPECT_TRUE(has(text,
                  "y.specialize(H >= 16)\ny.reorder(c, i)\n"
                  "y.split(i, i, lane, 16, shift_inwards)\ny.vectorize(lane)\n"
                  "y.reorder(lane, c)\ny.unroll(c)\n"))
      << text;
  EXPECT_TRUE(has(text,
                  "y.specialize(H >= 1)\ny.reorder(c, i)\n"
                  "y.split(i, i, lane, 16, predicate)\ny.reorder(lane, c)\n"
                  "y.vectorize(lane)\ny.unroll(c)\n"))
      << text;
}

TEST(PlanesOfPixels, OfARunTimeNumberOfThem) {
  const std::string text = derived(turned(kPlanes, kRows), kV4);
  for (const char* planes : {"2", "3", "4"}) {
    EXPECT_TRUE(has(text, fmt::format("y.specialize(C == {} && H >= 16)\ny.reorder(c, i)\n"
                                      "y.split(i, i, lane, 16, shift_inwards)\n",
                                      planes)))
        << text;
  }
  EXPECT_TRUE(has(text, "y.specialize(C >= 1)\ny.split(c, c, row, 16, guard)\n")) << text;
  EXPECT_FALSE(has(text, "C == 5")) << text;
}

// Those of a square are as many as it is long; those of another tensor lie further apart.
TEST(PlanesOfPixels, NotOfARunTimeNumberThatSaysMore) {
  const Axis c("c", kPlanes), i("i", kRows);
  for (const Tensor& y : {turned(kPlanes, kPlanes), turned(kPlanes, kPlanes + 3),
                          compute("y", {c, i}, input("x", f32, {kRows, kPlanes + 1})(i, c))}) {
    EXPECT_FALSE(has(derived(y, kV4), "C == ")) << derived(y, kV4);
    EXPECT_TRUE(derives(Graph(y), kV4, {0, 1, 3, 17}));
  }
}

// They share the rows of a picture, or blocks of a row, and not the planes.
TEST(PlanesOfPixels, Threads) {
  const Target two = target_of("x86-64-v4", 2);
  EXPECT_TRUE(has(derived(picture(1000, 1000, 3), two), "y.parallel(block)\n"));
  EXPECT_TRUE(has(derived(picture(1000, 1000, 3), two), "y.split(flat, block, "))
      << derived(picture(1000, 1000, 3), two);
  const std::string row = derived(turned(3, kRows), two);
  EXPECT_TRUE(has(row, "y.split(i, block, within, 4096, shift_inwards)\n")) << row;
  const std::string rows = derived(picture(kRows, kColumns, 3), two);
  EXPECT_TRUE(has(rows, "y.split(i1, task, i1, 4, guard)\ny.parallel(task)\n")) << rows;
  EXPECT_FALSE(has(rows, "y.parallel(i0)\n")) << rows;
}

TEST(PlanesOfPixels, EveryNumberOfThemIsRight) {
  for (const char* level : kLevels) {
    for (const DType type : {u8, f32, f64}) {
      for (const int64_t planes : {2, 3, 5, 8, 15}) {
        EXPECT_TRUE(derives(Graph(turned(planes, 67, type)), target_of(level, 2)));
        EXPECT_TRUE(derives(Graph(turned(planes, kRows, type)), target_of(level, 2),
                            {0, 1, 15, 16, 63, 64, 65, 131}));
      }
      EXPECT_TRUE(derives(Graph(turned(kPlanes, kRows, type)), target_of(level, 2),
                          {0, 1, 2, 3, 4, 5, 16, 17, 67}));
      EXPECT_TRUE(derives(Graph(picture(kRows, kColumns, kPlanes, type)), target_of(level, 2),
                          {0, 1, 3, 4, 17, 66}));
    }
  }
}

TEST(PlanesOfPixels, EachOtherwiseIsRight) {
  for (const char* level : kLevels) {
    for (const DType type : {u8, f32}) {
      EXPECT_TRUE(derives(Graph(mixed(8, 67, type)), target_of(level, 2)));
      EXPECT_TRUE(
          derives(Graph(mixed(3, kRows, type)), target_of(level, 2), {0, 1, 4, 15, 16, 63, 65}));
    }
  }
}

// Axes of any names.
TEST(PlanesOfPixels, NamesThatOthersWouldHave) {
  const Axis lane("lane", 3), within("within", kRows);
  const Tensor x = input("x", f32, {kRows, 3});
  const Tensor y = compute("y", {lane, within}, x(within, lane));
  EXPECT_TRUE(has(derived(y, target_of("x86-64-v4", 2)), "y.unroll(lane)\n"));
  EXPECT_TRUE(derives(Graph(y), target_of("x86-64-v4", 2), {0, 1, 17, 40}));
}

}  // namespace
}  // namespace emulsion
