// Products of a run-time number of columns: a few of them are sums in lanes along the reduction, as
// of a number that is known, or else half a vector.

#include <gtest/gtest.h>

#include <string>

#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/derive/derive_schedule.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

const Extent kM = Extent::size("M"), kN = Extent::size("N"), kK = Extent::size("K");

Tensor product(const Extent& rows, const Extent& depth, const Extent& columns,
               bool by_columns = false, DType type = f32) {
  const Axis m("m", rows), n("n", columns), k("k", depth);
  const Tensor x = input("x", type, {rows, depth});
  const Tensor w =
      by_columns ? input("w", type, {columns, depth}) : input("w", type, {depth, columns});
  return compute("y", {m, n}, sum(k, x(m, k) * (by_columns ? w(n, k) : w(k, n))));
}

TEST(DeriveDots, AFewColumnsOfARunTimeNumberAreSummedInLanes) {
  const Target target = target_of("x86-64-v4", 1);
  const auto where = [&](const Tensor& y) {
    const std::string text = derived(y, target), way = "y_long.alternative(";
    const size_t from = text.find(way), to = text.find(", y_dots)\n");
    if (from == std::string::npos || to == std::string::npos) return text;
    return text.substr(from + way.size(), to - from - way.size());
  };
  EXPECT_EQ(where(product(kM, kK, kN)), "N <= 4 && K >= 64 && M >= 16");
  EXPECT_EQ(where(product(kM, kK, kN, true)), "N <= 4 && K >= 64");
  EXPECT_EQ(where(product(100, 200, kN)), "N <= 4");
  EXPECT_EQ(where(product(100, kK, kN, false, f64)), "N <= 2 && K >= 64");
  const std::string text = derived(product(kM, kK, kN), target);
  EXPECT_TRUE(has(text, "y_lanes_dots.copy_in(w, w_columns_dots)\n")) << text;
  for (const char* stage : {"y_lanes_dots", "y_lanes16_dots", "y_lanes4_dots", "y_acc_dots"}) {
    EXPECT_TRUE(has(text, std::string(stage) + ".specialize(N == 4)\n" + stage + ".unroll(n)\n"))
        << text;
  }
  // Only the last step of a long sum has masks.
  EXPECT_TRUE(has(text, "y_lanes_dots.partition(k)\n")) << text;
  EXPECT_FALSE(has(derived(product(100, 64, kN), target), "y_lanes_dots.partition(k)\n"));
}

TEST(DeriveDots, HasNoSuchWayForShortSumsFewRowsOrWhatLiesOtherwise) {
  const Target target = target_of("x86-64-v4", 1);
  const Axis m("m", kM), n("n", kN), k("k", kK), two("n", 2 * kN), b("b", 3);
  const Tensor x = input("x", f32, {kM, kK}), w = input("w", f32, {kK, kN});
  const Tensor turned = input("x", f32, {kK, kM}), v = input("v", f32, {kK});
  const Tensor wide = input("w", f32, {kK, 2 * kN}), deep = input("w", f32, {3, kK, kN});
  const Tensor third = input("c", f32, {kM, 2 * kK});
  const Tensor p = product(kM, kK, kN);
  for (const Tensor& y :
       {product(kM, 63, kN), product(15, kK, kN),                  // too short, too few
        compute("y", {m, n}, sum(k, turned(k, m) * w(k, n))),      // rows across
        compute("y", {n}, sum(k, v(k) * w(k, n))),                 // no rows
        compute("y", {m, two}, sum(k, x(m, k) * wide(k, two))),    // always two or more
        compute("y", {b, m, n}, sum(k, x(m, k) * deep(b, k, n))),  // no matrix to turn
        compute("y", {m, n}, sum(k, x(m, k) * third.at({m, 2 * k}) * w(k, n))),
        compute("y", {m, n}, sum(k, x(m, k) * w(k, n) * w.at({0 * k, n}))),  // read in two ways
        sum(p, {0}, false, "s")}) {                                          // others read them
    EXPECT_FALSE(has(derived(y, target), "_dots")) << derived(y, target);
  }
}

TEST(DeriveDots, TakesFewerColumnsOfShorterVectors) {
  for (const char* level : {"x86-64-v2", "x86-64-v3"}) {
    const std::string text = derived(product(kM, kK, kN), target_of(level, 1));
    EXPECT_TRUE(has(text, "y_long.alternative(N <= 2 && K >= 64 && M >= 16, y_dots)\n")) << text;
    EXPECT_FALSE(has(text, "specialize(N == 3)")) << text;
  }
}

TEST(DeriveDots, OneColumnIsSummedInLanesHoweverShort) {
  for (const char* level : kLevels) {
    const Target target = target_of(level, 1);
    const auto layer = [&](int64_t depth, int64_t columns, const Extent& rows = kM) {
      const Tensor w = weight("w", f32, {depth, columns});
      const Tensor p = matmul(input("x", f32, {rows, depth}), w, "p");
      return derived(relu(p + input("b", f32, {columns}), "y"), target);
    };
    for (int64_t depth : {17, 20, 63, 64}) {
      EXPECT_TRUE(has(layer(depth, 1), "p.rfactor(lane, p_lanes)\n")) << layer(depth, 1);
      EXPECT_FALSE(has(layer(depth, 1), "pack")) << layer(depth, 1);
    }
    EXPECT_TRUE(has(layer(20, 1, 7), ".rfactor(lane, p_lanes)\n")) << layer(20, 1, 7);
    for (int64_t depth : {4, 5, 16}) {  // as pixels are, or rows of points
      EXPECT_FALSE(has(layer(depth, 1), "rfactor")) << layer(depth, 1);
    }
    EXPECT_TRUE(has(layer(63, 2), "pack(w, n, ")) << layer(63, 2);
    const std::string two = derived(product(40, 63, 2, true), target);
    EXPECT_FALSE(has(two, "rfactor")) << two;
  }
}

TEST(DeriveDots, OneColumnIsSummedInLanesOfOperandsThatLieAlongTheSumsOnly) {
  const Target target = target_of("x86-64-v4", 1);
  const Axis m("m", 40), n("n", 1), k("k", 20), b("b", 3);
  const Tensor w = input("w", f32, {20, 1}), turned = input("x", f32, {20, 40});
  const Tensor x = input("x", f32, {40, 20}), deep = input("w", f32, {3, 20, 1});
  const Tensor pictures = input("p", f32, {3, 40, 20});
  const auto sums = [&](const Tensor& y) {
    return has(derived(y, target), "rfactor(lane, y_lanes");
  };
  EXPECT_TRUE(sums(compute("y", {m, n}, sum(k, x(m, k) * w(k, n)))));
  EXPECT_TRUE(sums(compute("y", {b, m, n}, sum(k, pictures(b, m, k) * deep(b, k, n)))));
  EXPECT_FALSE(sums(compute("y", {m, n}, sum(k, turned(k, m) * w(k, n)))));
}

// The sums of a block of rows are there before what follows them, in vectors of the rows.
TEST(DeriveDots, WhatFollowsOneColumnIsInVectorsOfRows) {
  const auto layer = [](const Shape& rows, int64_t columns) {
    Shape x = rows;
    x.push_back(20);
    const Tensor w = weight("w", f32, {20, columns});
    return sigmoid(matmul(input("x", f32, x), w, "p") + 0.5f, "y");
  };
  const auto is_in_vectors = [&](const Shape& rows, int64_t columns, const Target& target) {
    const std::string text = derived(layer(rows, columns), target);
    return has(text, "y.split(i0, block, row, ") && has(text, "y.vectorize(row") &&
           has(text, "p.compute_at(y, block)\n");
  };
  for (const char* level : kLevels) {
    const Target target = target_of(level, 1);
    EXPECT_TRUE(is_in_vectors({16}, 1, target)) << level;
    EXPECT_TRUE(is_in_vectors({1001}, 1, target)) << level;
    EXPECT_FALSE(is_in_vectors({3}, 1, target)) << level;
    const std::string two = derived(sigmoid(product(64, 70, 2), "z"), target);
    EXPECT_TRUE(has(two, "y.rfactor(lane, y_lanes)\n")) << two;
    EXPECT_FALSE(has(two, "vectorize(row_v)")) << two;
    for (const int cores : {1, 2}) {
      for (const Shape& rows : {Shape{16}, {37}, {131}, {3, 19}, {2, 5000}}) {
        EXPECT_TRUE(derives(layer(rows, 1), target_of(level, cores), {1})) << level;
      }
    }
  }
  const std::string shared = derived(layer({4000001}, 1), target_of("x86-64-v4", 2));
  EXPECT_TRUE(has(shared, "y.parallel(block)\n")) << shared;
  EXPECT_FALSE(has(shared, "p.parallel")) << shared;
}

// Sums that two blocks share are computed twice: there are few of them.
TEST(DeriveDots, BlocksOfOneColumnHaveAboutAsManyRowsEach) {
  const Target target = target_of("x86-64-v4", 1);
  const auto has_block = [&](int64_t rows, const std::string& block) {
    const Tensor w = weight("w", f32, {20, 1});
    const Tensor p = matmul(input("x", f32, {rows, 20}), w, "p");
    return has(derived(sigmoid(p + 0.5f, "y"), target),
               "y.split(i0, block, row, " + block + ", shift_inwards)");
  };
  EXPECT_TRUE(has_block(33, "33"));
  EXPECT_TRUE(has_block(128, "128"));
  EXPECT_TRUE(has_block(129, "68"));
  EXPECT_TRUE(has_block(256, "128"));
  EXPECT_TRUE(has_block(465, "120"));
}

// Of a run-time number of rows a last block of few would be summed up whole.
TEST(DeriveDots, WhatFollowsOneColumnOfARunTimeNumberOfRowsReadsAllSums) {
  const auto layer = [](const Shape& rows, bool has_series) {
    Shape x = rows;
    x.push_back(20);
    const Tensor p = matmul(input("x", f32, x), weight("w", f32, {20, 1}), "p");
    return has_series ? mul(p, sigmoid(p), "y") : relu(p + 0.5f, "y");
  };
  for (const char* level : kLevels) {
    const Target target = target_of(level, 1);
    const std::string text = derived(layer({kM}, true), target);
    EXPECT_TRUE(has(text, "y.vectorize(lane)\n")) << text;
    EXPECT_FALSE(has(text, "p.compute_at(")) << text;
    EXPECT_FALSE(has(text, "p.compute_inline()")) << text;
    // A few instructions take less than to store the sums and load them again.
    const std::string few = derived(layer({kM}, false), target);
    EXPECT_TRUE(has(few, "p.compute_at(y, tile)\n")) << few;
    for (const int cores : {1, 2}) {
      for (const Shape& rows : {Shape{kM}, {3, kM}}) {
        const Tensor y = layer(rows, true);
        EXPECT_TRUE(derives(y, target_of(level, cores), {0, 1, 3, 17, 70})) << level;
      }
    }
  }
  const std::string shared = derived(layer({kM}, true), target_of("x86-64-v4", 2));
  EXPECT_TRUE(has(shared, "y.parallel(block)\n")) << shared;
  EXPECT_TRUE(has(shared, "p.parallel(tile)\n")) << shared;
}

// Of two rows each: a task of its own would be a call for little.
TEST(DeriveDots, ThreadsShareSeveralTilesAtATime) {
  const std::string text = derived(product(kM, kK, kN), target_of("x86-64-v4", 2));
  EXPECT_TRUE(has(text, "y_dots.split(tile, task, tile, 16, guard)\n")) << text;
  EXPECT_TRUE(has(text, "y_dots.parallel(task)\n")) << text;
  const std::string known = derived(product(4096, 512, 3), target_of("x86-64-v4", 2));
  EXPECT_TRUE(has(known, "y.parallel(tile)\n")) << known;
}

TEST(DeriveDots, ComputeWhatTheGraphSays) {
  for (const char* level : kLevels) {
    const Target target = target_of(level, 2);
    for (bool by_columns : {false, true}) {
      for (DType type : {f32, f64, i32}) {
        const Graph graph(product(kM, kK, kN, by_columns, type));
        const Schedule schedule = derive_schedule(graph, target);
        for (int64_t columns : {0, 1, 2, 3, 4, 5}) {
          for (const auto& [rows, depth] :
               {std::pair(0, 64), {16, 0}, {17, 64}, {19, 77}, {35, 63}}) {
            EXPECT_TRUE(lowers(graph, schedule, {{"M", rows}, {"K", depth}, {"N", columns}}));
          }
        }
      }
    }
    for (int64_t depth : {1, 4, 7, 33}) {
      const Graph one(relu(product(kM, depth, 1) + input("b", f32, {1}), "z"));
      EXPECT_TRUE(derives(one, target, {0, 1, 3, 4, 9, 21}));
    }
    const Tensor y = product(kM, 70, kN);
    const Graph graph(relu(y + input("b", f32, {kN}), "z"));
    EXPECT_TRUE(derives(graph, target, {0, 1, 3, 4, 9, 21}));
  }
}

Tensor products(const Extent& size, DType type = f32) {
  const Extent batch = Extent::size("B");
  return matmul(input("x", type, {batch, size, size}), input("w", type, {batch, size, size}), "y");
}

TEST(DeriveNarrowTiles, UpToHalfAVectorOfColumnsIsHalfAVector) {
  for (const auto& [level, half] : {std::pair("x86-64-v3", "4"), {"x86-64-v4", "8"}}) {
    const std::string text = derived(products(kN), target_of(level, 1)), width = half;
    EXPECT_TRUE(has(text, "y_long.alternative(N <= " + width + ", y_narrow)\n")) << text;
    EXPECT_TRUE(has(text, "y_narrow.split(n, panel, column, " + width + ", predicate)\n")) << text;
    EXPECT_TRUE(has(text, "y_narrow.split(m, tile, row, 6, guard)\n")) << text;
    EXPECT_TRUE(has(text, "y_narrow.partition(tile)\n")) << text;
    EXPECT_FALSE(has(text, "y_narrow.partition(panel)\n")) << text;
    EXPECT_FALSE(has(text, "y_acc_narrow.copy_in")) << text;
  }
  // What does not lie along the columns is turned; of a few rows there is no tile of six.
  const Target target = target_of("x86-64-v4", 1);
  const std::string turned = derived(product(kM, kK, kN, true), target);
  EXPECT_TRUE(has(turned, "y_acc_narrow.copy_in(w, w_panel_narrow)\n")) << turned;
  EXPECT_TRUE(has(derived(product(4, kK, kN), target), "y_narrow.split(m, tile, row, 4"));
  EXPECT_TRUE(has(derived(products(kN, f64), target), "y_long.alternative(N <= 4, y_narrow)\n"));
}

TEST(DeriveNarrowTiles, SquaresOfAFewElementsHaveAWayForEachLength) {
  for (const auto& [level, half] : {std::pair("x86-64-v3", "4"), {"x86-64-v4", "8"}}) {
    const std::string text = derived(products(kN), target_of(level, 1)), width = half;
    EXPECT_TRUE(has(text,
                    "y_long.alternative(N == 2, y_of_2)\ny_long.alternative(N == 3, y_of_3)\n"
                    "y_long.alternative(N == 4, y_of_4)\ny_long.alternative(N <= "))
        << text;
    EXPECT_TRUE(has(text, "y_of_3.split(n, panel, column, " + width + ", predicate)\n")) << text;
    EXPECT_TRUE(has(text, "y_of_3.split(m, tile, row, 3, guard)\n")) << text;
    EXPECT_FALSE(has(text, "_of_1") || has(text, "_of_5")) << text;
  }
  // Not of more than half a vector.
  const std::string halves = derived(products(kN, f64), target_of("x86-64-v3", 1));
  EXPECT_TRUE(has(halves, "y_of_2") && !has(halves, "y_of_3")) << halves;
}

// Rows, columns and steps of other sizes, and single products.
TEST(DeriveNarrowTiles, NoWaysForEachLengthOfOtherProducts) {
  const Target target = target_of("x86-64-v4", 1);
  const Extent batch = Extent::size("B");
  const auto of = [&](const Extent& rows, const Extent& steps, const Extent& columns) {
    return matmul(input("x", f32, {batch, rows, steps}), input("w", f32, {batch, steps, columns}),
                  "y");
  };
  for (const Tensor& y :
       {of(kM, kN, kN), of(kN, kK, kN), of(kN, kN, kM), of(3, kN, kN), product(kN, kN, kN)}) {
    EXPECT_TRUE(has(derived(y, target), "_narrow")) << derived(y, target);
    EXPECT_FALSE(has(derived(y, target), "_of_")) << derived(y, target);
  }
  EXPECT_FALSE(has(derived(of(3, 3, 3), target), "_of_"));
  EXPECT_FALSE(has(derived(products(kN), target_of("x86-64-v2", 1)), "_of_"));
}

TEST(DeriveNarrowTiles, NotWithoutMasksOrWhereThereAreMore) {
  const Target target = target_of("x86-64-v4", 1);
  const Axis n("n", kN), k("k", kK);
  const Tensor v = input("v", f32, {kK}), w = input("w", f32, {kK, kN});
  EXPECT_FALSE(has(derived(products(kN), target_of("x86-64-v2", 1)), "_narrow"));
  for (const Tensor& y :
       {product(kM, kK, 7), product(kM, kK, 8 * kN), product(kM, kK, kN, false, i8),
        compute("y", {n}, sum(k, v(k) * w(k, n))), sum(product(kM, kK, kN), {0}, false, "s")}) {
    EXPECT_FALSE(has(derived(y, target), "_narrow")) << derived(y, target);
  }
}

TEST(DeriveNarrowTiles, ComputeWhatTheGraphSays) {
  for (const char* level : kLevels) {
    for (DType type : {f32, f64, i32}) {
      for (const Tensor& y : {products(kN, type), relu(products(kN, type), "z")}) {
        const Schedule schedule = derive_schedule(Graph(y), target_of(level, 2));
        for (int64_t size : {0, 1, 2, 3, 4, 5, 7, 8, 9}) {
          EXPECT_TRUE(lowers(Graph(y), schedule, {{"B", 3}, {"N", size}})) << level << size;
        }
      }
    }
  }
}

}  // namespace
}  // namespace emulsion
