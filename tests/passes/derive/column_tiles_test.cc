// How many sums are in registers at a time where some rows of a known length are summed up.

#include "passes/derive/column_tiles.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "dsl/operators.h"
#include "passes/derive/derive_stage.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("B");

Tensor sum_of(const Extent& rows, const Extent& columns) {
  return sum(input("x", f32, {3, rows, columns}), {1}, false, "s");
}

// The vectors of a tile, where sums may be computed twice.
int64_t vectors_of(const Tensor& sums, const Target& target, bool twice = true) {
  const int64_t lanes = target.vector_lanes(f32);
  const int64_t width = sums_at_a_time(*sums.op(), lanes, twice, target);
  return width % lanes == 0 ? width / lanes : 0;
}

TEST(ColumnTiles, LongPartsOfSomeRowsAreSummed) {
  for (const char* level : kLevels) {
    const Target target = target_of(level, 1);
    const int64_t most = target.vector_registers() == 32 ? 16 : 12;
    for (const int rows : {9, 21, 63}) EXPECT_EQ(vectors_of(sum_of(rows, 4096), target), most);
    const std::string width = std::to_string(most * target.vector_lanes(f32));
    const std::string text = derived(sum_of(21, 4096 * 3), target);
    EXPECT_TRUE(has(text, "s.split(i2, tile, lane, " + width + ")\n")) << text;
  }
}

TEST(ColumnTiles, FewRowsAndManyRowsHaveTheTilesThatTheyHad) {
  const Target target = target_of("x86-64-v4", 1);
  EXPECT_EQ(vectors_of(sum_of(8, 4096), target), 4);
  EXPECT_EQ(vectors_of(sum_of(64, 4096), target), 8);
  EXPECT_EQ(vectors_of(sum_of(kSize, 4096), target), 8);
  EXPECT_EQ(vectors_of(sum_of(21, kSize), target), 2);
}

// The last tile starts earlier; the fewer of the sums are there twice, the better.
TEST(ColumnTiles, NothingHasToDivideTheColumns) {
  const Target target = target_of("x86-64-v4", 1);
  EXPECT_EQ(vectors_of(sum_of(21, 784), target), 13);
  EXPECT_EQ(vectors_of(sum_of(21, 64), target), 4);
  EXPECT_EQ(vectors_of(sum_of(21, 17), target), 1);
  const std::string text = derived(sum_of(21, 784), target);
  EXPECT_TRUE(has(text, "s.split(i2, tile, lane, 208, shift_inwards)\n")) << text;
  // Otherwise the vectors divide them, or each has a mask.
  EXPECT_EQ(vectors_of(sum_of(21, 784), target, false), 7);
  EXPECT_EQ(vectors_of(sum_of(21, 4096), target, false), 16);
  EXPECT_EQ(vectors_of(sum_of(21, 785), target, false), 1);
}

TEST(ColumnTiles, NotWhatNeedsTheRegistersOtherwiseOrLiesOtherwise) {
  const Target target = target_of("x86-64-v3", 1);
  const Axis i("i", 512), r("r", 21), m("m", 4);
  const Tensor x = input("x", f32, {21, 512}), line = input("line", f32, {600});
  EXPECT_EQ(vectors_of(compute("s", {i}, sum(r, x(r, i) * x(r, i))), target), 11);
  EXPECT_EQ(vectors_of(compute("s", {i}, sum(r, exp(x(r, i)))), target), 4);
  EXPECT_EQ(vectors_of(compute("s", {i}, sum(r, line(i + r))), target), 4);
  const Expr much = (x(r, i) + 1.0F) * (x(r, i) + 2.0F) * (x(r, i) + 3.0F) * (x(r, i) + 4.0F);
  EXPECT_EQ(vectors_of(compute("s", {i}, sum(r, much)), target), 4);
  const Tensor w = input("w", f32, {4, 21});
  EXPECT_EQ(vectors_of(compute("s", {m, i}, sum(r, abs(w(m, r) - x(r, i)))), target), 4);
}

// Each of them has some of the tiles of one row.
TEST(ColumnTiles, ThreadsThatShareOneRowHaveTiles) {
  const Tensor row = sum(input("x", f32, {60, 16384}), {0}, false, "s");
  EXPECT_EQ(vectors_of(row, target_of("x86-64-v4", 2)), 16);
  EXPECT_EQ(vectors_of(row, target_of("x86-64-v4", 64)), 8);
}

Tensor filter(const Extent& columns) {
  const Axis i("i", columns), k("k", 15);
  const Tensor x = input("x", f32, {columns + 14}), h = input("h", f32, {15});
  return compute("s", {i}, sum(k, x(i + k) * h(k)));
}

// Of windows the last tile starts earlier, too, where few are computed twice.
TEST(ColumnTiles, SeveralVectorsOfWindows) {
  const Target target = target_of("x86-64-v4", 1);
  EXPECT_EQ(vectors_of(filter(20001), target), 4);
  EXPECT_EQ(vectors_of(filter(20001), target, false), 1);
  EXPECT_EQ(vectors_of(filter(63), target), 2);
  EXPECT_EQ(vectors_of(filter(65), target), 1);
  EXPECT_EQ(vectors_of(filter(10), target), 0);
}

// In tasks made of whole tiles none of a run-time number is computed for little.
TEST(ColumnTiles, SeveralVectorsOfWindowsInTasks) {
  const Extent n = Extent::size("N");
  for (const auto& [level, lanes] : {std::pair("x86-64-v4", 16), std::pair("x86-64-v3", 8)}) {
    const Target target = target_of(level, 2);
    for (const Extent& columns : {n, 64 * n}) {
      const std::string text = derived(filter(columns), target);
      EXPECT_TRUE(has(text, fmt::format("split(tile, tile, lane, {})\n", 4 * lanes))) << text;
    }
    // Fewer than a task are computed one vector at a time.
    EXPECT_TRUE(has(derived(filter(n), target), fmt::format("lane, {}, predicate)\n", lanes)));
    EXPECT_TRUE(derives(Graph(filter(n)), target, {0, 1, 15, 17, 64, 65, 1023, 1025, 1088, 3001}));
  }
}

// Of windows that several rows are made of at a time: where a vector is a line of the cache.
// Sums of few steps wait for memory: that of few rows is fetched ahead, and vectors side by side
// share lines.
TEST(ColumnTiles, WindowsOfFewStepsAreInFewRows) {
  const auto tile_of = [](const std::string& level, int64_t size, const Extent& height,
                          const Extent& width, DType type = f32, int64_t apart = 1) {
    const Axis i("i", height), j("j", width), a("a", size), b("b", size);
    const int64_t more = (size - 1) * apart;
    const Tensor x = input("x", type, {height + more, width + more});
    const Expr row = i + int_constant(apart) * a, column = j + int_constant(apart) * b;
    const Tensor y = compute("y", {i, j}, reduce_max({a, b}, x(row, column)));
    const Target target = target_of(level, 1);
    const int64_t lanes = value_lanes(*y.op(), target);
    const ColumnTile tile = column_tile({y.op().get()}, lanes, target);
    return std::vector<int64_t>{tile.rows, tile.width / lanes};
  };
  using Tile = std::vector<int64_t>;
  EXPECT_EQ(tile_of("x86-64-v4", 2, 40, 64), (Tile{1, 4}));
  EXPECT_EQ(tile_of("x86-64-v3", 2, 40, 64), (Tile{1, 4}));
  EXPECT_EQ(tile_of("x86-64-v4", 3, 40, 64), (Tile{2, 4}));
  EXPECT_EQ(tile_of("x86-64-v4", 3, 40, 64, f64), (Tile{2, 4}));
  EXPECT_EQ(tile_of("x86-64-v4", 3, 40, 63), (Tile{2, 2})) << "one column twice";
  EXPECT_EQ(tile_of("x86-64-v4", 3, 40, 48), (Tile{2, 1})) << "a quarter of the columns twice";
  EXPECT_EQ(tile_of("x86-64-v4", 3, 40, kSize * 32), (Tile{2, 1})) << "any number";
  EXPECT_EQ(tile_of("x86-64-v3", 3, 40, 64), (Tile{4, 1})) << "shorter than a line";
  EXPECT_EQ(tile_of("x86-64-v4", 4, 40, 64), (Tile{4, 1})) << "many steps";
  EXPECT_EQ(tile_of("x86-64-v4", 3, 1, 64), (Tile{1, 4})) << "one row";
  EXPECT_EQ(tile_of("x86-64-v4", 3, kSize, 64), (Tile{2, 1})) << "rows that may be few";
  // Of every second row: two neighbours have none in common, four do.
  EXPECT_EQ(tile_of("x86-64-v4", 3, 40, 64, f32, 2), (Tile{1, 4}));
  EXPECT_EQ(tile_of("x86-64-v3", 3, 40, 64, f32, 2), (Tile{4, 1}));
  EXPECT_EQ(tile_of("x86-64-v3", 3, kSize, 64, f32, 2), (Tile{1, 4})) << "rows that may be few";
}

// y(i, k) = x(i, 0, k) + x(i, 1, k) + .., by `factor`, where there is one.
Tensor short_sums(int64_t steps, int64_t columns, DType dtype, bool has_factor = false) {
  const Axis i("i", 40), j("j", steps), k("k", columns);
  const Tensor x = input("x", dtype, {40, steps, columns});
  const Tensor factor = input("factor", dtype, {40, columns});
  const Expr one = cast(i32, x(i, j, k));
  return compute("y", {i, k}, sum(j, has_factor ? one * cast(i32, factor(i, k)) : one));
}

TEST(ColumnTiles, OddPartsOfAVectorHaveAMaskWhereSumsAreShort) {
  const Target target = target_of("x86-64-v4", 1);
  const auto is_masked = [&](const Tensor& y, int64_t lanes) {
    return has(derived(y, target), fmt::format("tile, lane, {}, predicate)\n", lanes));
  };
  EXPECT_TRUE(is_masked(short_sums(5, 7, i16), 8));
  EXPECT_TRUE(is_masked(short_sums(5, 7, i16, true), 8));
  EXPECT_TRUE(is_masked(short_sums(3, 11, i32), 16));
  EXPECT_TRUE(is_masked(short_sums(8, 15, u8, true), 16));
  EXPECT_FALSE(is_masked(short_sums(5, 6, i16), 8)) << "two pieces";
  EXPECT_FALSE(is_masked(short_sums(5, 8, i16), 8)) << "one";
  EXPECT_FALSE(is_masked(short_sums(9, 7, i16), 8)) << "many steps";
  EXPECT_FALSE(is_masked(short_sums(5, 7, i32, true), 8)) << "two operands";
  EXPECT_FALSE(has(derived(short_sums(5, 7, i16), target_of("x86-64-v3", 1)), "predicate"));
  for (const char* level : kLevels) {
    for (const int64_t columns : {7, 11, 13, 14, 15}) {
      EXPECT_TRUE(derives(Graph(short_sums(3, columns, u8, true)), target_of(level, 2))) << level;
      EXPECT_TRUE(derives(Graph(short_sums(8, columns, i32)), target_of(level, 1))) << level;
    }
    const Axis i("i", 5), k("k", 13), r("r", 3);
    const Tensor x = input("x", f32, {5, 15});
    EXPECT_TRUE(
        derives(Graph(compute("y", {i, k}, reduce_max(r, x(i, Expr(k) + r)))), target_of(level, 1)))
        << level;
  }
}

TEST(ColumnTiles, ComputeWhatTheGraphSays) {
  for (const char* level : kLevels) {
    for (const int64_t columns : {10, 63, 65, 1001}) {
      EXPECT_TRUE(derives(Graph(filter(columns)), target_of(level, 1)));
    }
    for (const int cores : {1, 4}) {
      const Target target = target_of(level, cores);
      for (const int columns : {1, 15, 17, 100, 785, 1024}) {
        EXPECT_TRUE(derives(Graph(sum_of(21, columns)), target)) << columns;
      }
      EXPECT_TRUE(derives(Graph(sum_of(15, kSize)), target, {0, 1, 17, 64, 257}));
      const Tensor x = input("x", u8, {kSize, 9, 300});
      EXPECT_TRUE(derives(Graph(reduce_max(x, {1}, false, "s")), target, {0, 1, 3}));
      EXPECT_TRUE(
          derives(Graph(mean(input("x", f32, {2, 32, 333}), {1}, false, "s")), target, {1}, 1e-5));
    }
  }
}

}  // namespace
}  // namespace emulsion
