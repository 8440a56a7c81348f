// The operand of a contraction that has its columns: what can be packed, turned and copied, and
// what cannot.

#include "passes/derive/contraction_operands.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/derive/derive_schedule.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

const Target kV3 = Target::parse("x86-64-v3,cores=1");
const Axis m("m", 48), n("n", 64), k("k", 32);

Tensor x() {
  static const Tensor the_same = input("x", f32, {48, 32});
  return the_same;
}

// The read of the columns' operand.
Expr columns_of(const Tensor& y) { return match_contraction(*y.op()).value().b; }

Tensor along(const Tensor& w) { return compute("y", {m, n}, sum(k, x()(m, k) * w(k, n))); }
Tensor across(const Tensor& w) { return compute("y", {m, n}, sum(k, x()(m, k) * w(n, k))); }

std::optional<size_t> column_of(const Tensor& y) {
  return column_of_operand(*y.op(), columns_of(y), "n");
}

TEST(CanPack, WeightsOfAKnownNumberOfColumns) {
  EXPECT_TRUE(can_pack(columns_of(along(weight("w", f32, {32, 64}))), "n"));
  EXPECT_TRUE(can_pack(columns_of(across(weight("w", f32, {64, 32}))), "n"));
}

TEST(CanPack, NotInputsNorRunTimeColumns) {
  EXPECT_FALSE(can_pack(columns_of(along(input("w", f32, {32, 64}))), "n"));
  const Axis many("n", Extent::size("N"));
  const Tensor w = weight("w", f32, {32, Extent::size("N")});
  EXPECT_FALSE(can_pack(columns_of(compute("y", {m, many}, sum(k, x()(m, k) * w(k, many)))), "n"));
}

// One row of a few columns is a reduction: several rows of w at a time.
TEST(HasRegisterTiles, NotOneRowOfFewColumns) {
  const auto has_tiles = [](int64_t columns, DType type, bool across) {
    const Axis j("j", columns);
    const Tensor v = input("v", type, {32});
    const Tensor w = weight("w", type, across ? Shape{columns, 32} : Shape{32, columns});
    return has_register_tiles(*compute("y", {j}, sum(k, v(k) * (across ? w(j, k) : w(k, j)))).op());
  };
  EXPECT_FALSE(has_tiles(3, f32, false));
  EXPECT_FALSE(has_tiles(15, f32, false));
  EXPECT_FALSE(has_tiles(7, f64, false));
  EXPECT_TRUE(has_tiles(16, f32, false)) << "a vector";
  EXPECT_TRUE(has_tiles(8, f64, false));
  EXPECT_TRUE(has_tiles(10, f32, true)) << "along the sum";
  const Axis j("j", 10), one("m", 1), many("n", Extent::size("N"));
  const Tensor w = weight("w", f32, {32, 10});
  EXPECT_TRUE(has_register_tiles(*compute("y", {m, j}, sum(k, x()(m, k) * w(k, j))).op()));
  EXPECT_TRUE(has_register_tiles(
      *compute("y", {one, j}, sum(k, input("v", f32, {1, 32})(one, k) * w(k, j))).op()))
      << "of a batch of one";
  const Tensor wide = weight("w", f32, {32, Extent::size("N")});
  EXPECT_TRUE(has_register_tiles(
      *compute("y", {many}, sum(k, input("v", f32, {32})(k) * wide(k, many))).op()));
}

TEST(TransposesAWeight, APermutationOfAllAxesAndNothingElse) {
  const Tensor w = weight("w", f32, {64, 32});
  EXPECT_TRUE(transposes_a_weight(*transpose(w).op()));
  EXPECT_FALSE(transposes_a_weight(*transpose(input("w", f32, {64, 32})).op()));
  EXPECT_FALSE(transposes_a_weight(*relu(w).op()));
  EXPECT_FALSE(transposes_a_weight(*compute("t", {k}, w(0, k)).op()));
  EXPECT_FALSE(transposes_a_weight(*sum(w, {1}, true).op())) << "reads as many indices as it has";
  const Tensor square = weight("w", f32, {32, 32});
  EXPECT_FALSE(transposes_a_weight(*compute("t", {k}, square(k, k)).op())) << "a diagonal";
}

TEST(ColumnOfOperand, TheAxisThatTheColumnsAlone) {
  EXPECT_EQ(column_of(along(input("w", f32, {32, 64}))), 1U);
  EXPECT_EQ(column_of(across(input("w", f32, {64, 32}))), 0U);
}

TEST(ColumnOfOperand, NoneWhereAnIndexIsNoAxisOrTheOperandIsReadInTwoWays) {
  const Tensor long_ = input("w", f32, {32, 128});
  EXPECT_EQ(column_of(compute("y", {m, n}, sum(k, x()(m, k) * long_(k, n * 2)))), std::nullopt);
}

TEST(PaysToCopyPanels, OfManyRowsWhatLiesAcross) {
  const Tensor y = across(input("w", f32, {64, 32}));
  const RegisterTile tile{6, 16, 8};
  const auto pays = [&](std::optional<int64_t> rows) {
    return pays_to_copy_panels(*y.op(), columns_of(y), "n", tile, rows, 64, false);
  };
  EXPECT_EQ(pays(16), 0U);
  EXPECT_EQ(pays(std::nullopt), 0U) << "any number of rows";
  EXPECT_EQ(pays(15), std::nullopt) << "turning it takes longer than sums along the reduction";
}

TEST(PaysToCopyPanels, NotOfFewPages) {
  const Tensor y = along(input("w", f32, {32, 64}));
  EXPECT_EQ(pays_to_copy_panels(*y.op(), columns_of(y), "n", {6, 16, 8}, 48, 64, false),
            std::nullopt);
  EXPECT_EQ(pays_to_copy_panels(*y.op(), columns_of(y), "n", {6, 16, 8}, 48, 64, true), 1U)
      << "but where neighbours lie elsewhere";
}

// Of a batch of small matrices one that all of them read: y[b, m, n] = sum of x[b, m, k] w[n, k].
Tensor batch_of_turned(const Extent& batch, int rows, const Tensor& w) {
  const Axis b("b", batch), r("m", rows), c("n", w.shape()[0]), s("k", w.shape()[1]);
  const Tensor x = input("x", f32, {batch, rows, w.shape()[1]});
  return compute("y", {b, r, c}, sum(s, x(b, r, s) * w(c, s)));
}

TEST(PaysToTurnOnce, WhatAllOfABatchRead) {
  const auto pays = [](const Tensor& y, const std::vector<size_t>& outer = {0}) {
    return pays_to_turn_once(*y.op(), match_contraction(*y.op()).value().b, outer, kV3);
  };
  const Tensor w = input("w", f32, {8, 8});
  EXPECT_EQ(pays(batch_of_turned(Extent::size("B"), 8, w)), 0U);
  EXPECT_EQ(pays(batch_of_turned(2, 8, w)), 0U);
  EXPECT_EQ(pays(batch_of_turned(1, 8, w)), std::nullopt) << "few rows, all in all";
  EXPECT_EQ(pays(batch_of_turned(100, 8, input("w", f32, {64, 64}))), 0U);
  EXPECT_EQ(pays(batch_of_turned(100, 8, input("w", f32, {64, 65}))), std::nullopt)
      << "more than half of the first cache holds";
  EXPECT_EQ(pays(batch_of_turned(100, 8, input("w", f32, {8, Extent::size("K")}))), std::nullopt);
  EXPECT_EQ(pays(across(input("w", f32, {64, 32})), {}), std::nullopt) << "no batch";
  const Axis b("b", 10), r("m", 8), c("n", 8), s("k", 8);
  const Tensor x = input("x", f32, {10, 8, 8}), own = input("own", f32, {10, 8, 8});
  EXPECT_EQ(pays(compute("y", {b, r, c}, sum(s, x(b, r, s) * own(b, c, s)))), std::nullopt)
      << "each reads its own";
  EXPECT_EQ(pays(compute("y", {b, r, c}, sum(s, x(b, r, s) * w(s, c)))), std::nullopt)
      << "lies along the columns";
  EXPECT_EQ(pays(compute("y", {b, r, c}, sum(s, x(b, r, s) * w(c, 7 - s)))), std::nullopt)
      << "backwards";
}

TEST(PaysToTurnOnce, BeforeAllLoops) {
  const Extent batch = Extent::size("B");
  const Tensor y = batch_of_turned(batch, 8, input("w", f32, {8, 8}));
  for (const char* level : kLevels) {
    const Target target = target_of(level, 1);
    const Schedule schedule = derive_schedule(y, target);
    EXPECT_TRUE(has(to_string(schedule), "w_panel.reorder_storage(i0, i1)\n")) << level;
    EXPECT_FALSE(has(to_string(schedule), "w_panel.compute_at")) << level;
    for (const int64_t size : {0, 1, 3}) EXPECT_TRUE(lowers(Graph(y), schedule, {{"B", size}}));
    EXPECT_FALSE(has(derived(batch_of_turned(1, 8, input("w", f32, {8, 8})), target), "w_panel"));
  }
}

TEST(IsBetterAsReduction, WhatLiesAlongALongReduction) {
  const auto better = [](const Tensor& y) {
    return is_better_as_reduction(*y.op(), match_contraction(*y.op()).value(), n, kV3);
  };
  EXPECT_TRUE(better(across(input("w", f32, {64, 32}))));
  EXPECT_FALSE(better(along(input("w", f32, {32, 64}))));
  const Axis few("k", 15);
  const Tensor narrow = input("x", f32, {48, 15}), w = input("w", f32, {64, 15});
  EXPECT_FALSE(better(compute("y", {m, n}, sum(few, narrow(m, few) * w(n, few)))));
}

// Of a length that is known at run time only: what is behind pixels may be their few colours.
TEST(IsBetterAsReduction, WhatLiesAlongARunTimeLengthWithoutOtherColumns) {
  const Extent size = Extent::size("K");
  const Axis depth("k", size), row("r", 8);
  const Tensor x = input("x", f32, {48, size});
  const Tensor one = input("w", f32, {64, size}), two = input("v", f32, {8, 64, size});
  const auto better = [](const Tensor& y) {
    return is_better_as_reduction(*y.op(), match_contraction(*y.op()).value(), n, kV3);
  };
  EXPECT_TRUE(better(compute("y", {m, n}, sum(depth, x(m, depth) * one(n, depth)))));
  EXPECT_FALSE(better(compute("y", {m, row, n}, sum(depth, x(m, depth) * two(row, n, depth)))));
}

// A store with a mask takes as long as several steps, but with AVX-512.
TEST(PaysToMask, FewColumnsOfManySteps) {
  const auto pays = [](int64_t columns, const Extent& steps, const char* level) {
    const Tensor y = matmul(input("x", f32, {48, steps}), input("w", f32, {steps, columns}), "y");
    return pays_to_mask(*y.op(), 1, target_of(level, 1));
  };
  for (const Extent& steps : {Extent(17), Extent(64), Extent::size("K")}) {
    EXPECT_TRUE(pays(5, steps, "x86-64-v3"));
    EXPECT_TRUE(pays(5, steps, "x86-64-v4"));
    EXPECT_FALSE(pays(3, steps, "x86-64-v2")) << "has no masks";
  }
  EXPECT_TRUE(pays(5, 3, "x86-64-v4"));
  EXPECT_FALSE(pays(5, 3, "x86-64-v3"));
  EXPECT_FALSE(pays(5, 16, "x86-64-v3"));
  EXPECT_FALSE(pays(4, 64, "x86-64-v3")) << "half a vector";
  EXPECT_FALSE(pays(8, 64, "x86-64-v3"));
}

// Distances of points, each of `depth` coordinates.
Tensor distances(const Extent& rows, const Extent& columns, const Extent& depth) {
  const Axis p("p", rows), c("c", columns), d("d", depth);
  const Tensor a = input("x", f32, {rows, depth}), b = input("z", f32, {columns, depth});
  const Expr difference = a(p, d) - b(c, d);
  return compute("y", {p, c}, sum(d, difference * difference));
}

const RegisterTile kTile = {7, 32, 8};
const Extent kMany = Extent::size("N"), kSteps = Extent::size("K");

TEST(IsFlat, FewStepsAndManyColumns) {
  const Target target = Target::parse("x86-64-v3,l1=32768");
  const auto flat = [&](const Extent& columns, const Extent& depth) {
    return is_flat(*distances(100, columns, depth).op(), kTile, target);
  };
  EXPECT_TRUE(flat(65, 3));
  EXPECT_TRUE(flat(1024, 8));
  EXPECT_FALSE(flat(1024, 9));
  EXPECT_FALSE(flat(64, 3)) << "two panels lie near one another";
  EXPECT_FALSE(flat(1025, 3)) << "more than the first cache holds";
  EXPECT_FALSE(flat(kMany, 3));
  EXPECT_FALSE(flat(100, kSteps));
}

TEST(MayBeFlat, WhereRunTimeSizesSayThatItIs) {
  const auto where = [](const Extent& columns, const Extent& depth) {
    const auto condition = may_be_flat(*distances(100, columns, depth).op(), kTile);
    return condition ? to_string(*condition) : "";
  };
  EXPECT_EQ(where(kMany, kSteps), "K <= 8 && N >= 65");
  EXPECT_EQ(where(kMany, 3), "N >= 65");
  EXPECT_EQ(where(65, kSteps), "K <= 8");
  EXPECT_EQ(where(64, kSteps), "");
  EXPECT_EQ(where(kMany, 9), "");
  EXPECT_EQ(where(kMany, 0), "");
  EXPECT_EQ(where(65, 3), "") << "is known";
  EXPECT_EQ(where(kMany, kMany), "") << "as many steps as columns";
  const Axis e("e", 2);
  const Tensor w = input("w", f32, {kMany, 2, 2}), of_two = input("x", f32, {48, 2, 2});
  const Axis many("n", kMany), d("d", 2);
  EXPECT_FALSE(may_be_flat(
      *compute("y", {m, many}, sum({d, e}, of_two(m, d, e) * w(many, d, e))).op(), kTile));
}

// What is written lies along the rows: panels are inside of them, and threads share them.
TEST(FlatSums, GoAlongTheRows) {
  const Target two = Target::parse("x86-64-v4,cores=2");
  const std::string known = derived(distances(4096, 500, 3), two);
  EXPECT_TRUE(has(known, "y.reorder(lane, column, row, panel, tile)\n")) << known;
  EXPECT_TRUE(has(known, "y.parallel(tile)\n")) << known;
  const std::string text = derived(distances(Extent::size("M"), kMany, kSteps), two);
  EXPECT_TRUE(has(text, "y_long.alternative(K <= 8 && N >= 65, y_flat)\n")) << text;
  EXPECT_TRUE(has(text, "y_flat.split(m, tile, row, 4, guard)\n") ||
              has(text, "y_flat.split(p, tile, row, 4, guard)\n"))
      << text;
  EXPECT_TRUE(has(text, "y_flat.reorder(lane, column, row, panel, tile)\n")) << text;
  EXPECT_TRUE(has(text, "y_flat.parallel(tile)\n")) << text;
  EXPECT_FALSE(has(text, "y_flat.parallel(panel)\n")) << text;
}

TEST(FlatSums, NotOfFewRowsThatThreadsShare) {
  const Target two = Target::parse("x86-64-v4,cores=2");
  const std::string text = derived(distances(20, kMany, 3), two);
  EXPECT_TRUE(has(text, "y_flat.parallel(panel)\n")) << text;
  EXPECT_TRUE(has(text, "panel)\n") && !has(text, "y_flat.parallel(tile)\n")) << text;
}

TEST(FlatSums, MeanWhatTheGraphMeans) {
  for (const char* level : kLevels) {
    const Target two = target_of(level, 2);
    EXPECT_TRUE(derives(Graph(distances(9, 101, 3)), two)) << level;
    EXPECT_TRUE(derives(Graph(distances(9, kMany, 3)), two, {0, 1, 64, 65, 66, 97, 131})) << level;
    EXPECT_TRUE(derives(Graph(distances(kMany, 101, kSteps)), two, {0, 1, 3, 8, 9})) << level;
    const Tensor x = input("x", f32, {9, kSteps}), w = input("w", f32, {kSteps, kMany});
    EXPECT_TRUE(derives(Graph(relu(matmul(x, w))), two, {0, 1, 3, 8, 9, 67})) << level;
    const Tensor batches = input("x", f32, {3, 9, kSteps}),
                 ws = input("w", f32, {3, kSteps, kMany});
    EXPECT_TRUE(derives(Graph(matmul(batches, ws)), two, {0, 1, 3, 8, 9, 67})) << level;
  }
}

// Vectors of as many lanes as there are columns, their few steps written out.
TEST(SmallProducts, HaveNeitherMasksNorLoopsOverTheirSteps) {
  const Extent any = Extent::size("B");
  for (const auto& [size, batch] : {std::pair<int64_t, Extent>{3, 40}, {3, any}, {7, any}}) {
    const Tensor y =
        matmul(input("x", f32, {batch, size, size}), input("w", f32, {batch, size, size}), "y");
    const std::string text = derived(y, kV3);
    EXPECT_TRUE(has(text, "y_acc.vectorize(n)\ny_acc.unroll(m)\ny_acc.unroll(k)\n")) << text;
    EXPECT_FALSE(has(text, "predicate")) << text;
    for (const char* level : kLevels) {
      EXPECT_TRUE(derives(Graph(y), target_of(level, 1))) << level;
      EXPECT_TRUE(derives(Graph(relu(y)), target_of(level, 4))) << level;
    }
  }
}

TEST(SmallProducts, NotOfManyStepsOrWholeVectors) {
  const auto product = [](int64_t columns, const Extent& steps) {
    return matmul(input("x", f32, {40, 6, steps}), input("w", f32, {40, steps, columns}), "y");
  };
  for (const Tensor& y :
       {product(5, 17), product(5, Extent::size("K")), product(8, 8), product(16, 3)}) {
    EXPECT_FALSE(has(derived(y, kV3), "unroll(k)")) << derived(y, kV3);
  }
  EXPECT_FALSE(has(derived(product(5, 1), kV3), "unroll(k)")) << "a loop of one step";
}

// One row of each, whose few steps are written out; of many steps more vectors are summed at a
// time.
TEST(SmallProducts, OfOneRowHaveFourVectorsAtATime) {
  const auto product = [](const Extent& columns, int64_t steps) {
    const Axis b("b", 40), n("n", columns), some("k", steps);
    const Tensor x = input("x", f32, {40, steps}), w = input("w", f32, {40, steps, columns});
    return derived(compute("y", {b, n}, sum(some, x(b, some) * w(b, some, n))), kV3);
  };
  for (const Extent& columns : {Extent(768), Extent(760), Extent::size("W")}) {
    const std::string text = product(columns, 9);
    EXPECT_TRUE(has(text, "y.split(n, panel, column, 32")) << text;
    EXPECT_TRUE(has(text, "y_acc.vectorize(n)\ny_acc.unroll(k)\n")) << text;
  }
  const std::string many = product(768, 64);
  EXPECT_FALSE(has(many, "panel, column, 32")) << many;
  EXPECT_FALSE(has(many, "unroll(k)")) << many;
}

TEST(TurnColumns, RowsStartAtAnOddNumberOfLines) {
  const Extent any = Extent::size("N");
  for (const auto& [dtype, columns, padded] : {std::tuple<DType, Extent, int64_t>{f32, 64, 80},
                                               {f32, 80, 80},
                                               {f32, 100, 112},
                                               {f32, any, 80},
                                               {f64, any, 40}}) {
    const Axis wide("n", columns);
    const Tensor w = input("w", dtype, {columns, 32}), a = input("a", dtype, {48, 32});
    const Tensor y = compute("y", {m, wide}, sum(k, a(m, k) * w(wide, k)));
    Schedule schedule{Graph(y)};
    turn_columns(*w.op(), 0, "y", {8, "y", m, std::nullopt, m}, 8, &schedule);
    const std::string text = to_string(schedule);
    EXPECT_NE(text.find("w_turned.align_storage(i0, " + std::to_string(padded) + ")"),
              std::string::npos)
        << text;
  }
}

// A vector of elements that lie apart is made of one instruction or more for each.
TEST(ColumnsApart, VectorsOfNarrowElementsAreShort) {
  const auto has_lanes = [](const Tensor& y, const char* level, int lanes) {
    const std::string split = "y.split(column, column, lane, " + std::to_string(lanes) + ")\n";
    return has(derived(y, target_of(level, 1)), split);
  };
  const auto of_rows = [](DType type) {
    return matmul(input("x", type, {Extent::size("M"), 7}), weight("w", type, {7, 1}), "y");
  };
  EXPECT_TRUE(has_lanes(of_rows(u8), "x86-64-v4", 16));
  EXPECT_TRUE(has_lanes(of_rows(i16), "x86-64-v4", 16));
  EXPECT_TRUE(has_lanes(of_rows(u8), "x86-64-v3", 16));
  EXPECT_TRUE(has_lanes(of_rows(f32), "x86-64-v4", 16)) << "a vector of the machine";
  EXPECT_TRUE(has_lanes(of_rows(f64), "x86-64-v4", 8));
  const Tensor row = matmul(input("x", u8, {1, 7}), weight("w", u8, {7, 1000}), "y");
  EXPECT_TRUE(has_lanes(row, "x86-64-v4", 64)) << "these lie side by side";
}

}  // namespace
}  // namespace emulsion
