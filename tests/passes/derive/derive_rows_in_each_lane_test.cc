// Rows of a few elements, a row in each lane: how the last operation of a group goes through them.
// small_rows_test.cc has the groups, and few_small_rows_test.cc those of few rows.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/derive/derive_stage.h"
#include "passes/pipeline.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

constexpr int64_t kRows = 98;
const Target kWide = Target::parse("x86-64-v4,cores=1");

struct Matrix {
  int64_t columns;
  Extent rows = kRows;

  Axis i() const { return Axis("i", rows); }
  Axis j() const { return Axis("j", columns); }
  Tensor x(const std::string& name = "x") const { return input(name, f32, {rows, columns}); }
};

Tensor below_most(const Matrix& of) {
  const Axis r("r", of.columns);
  const Tensor x = of.x(), most = compute("most", {of.i()}, reduce_max(r, x(of.i(), r)));
  return compute("y", {of.i(), of.j()}, x(of.i(), of.j()) - most(of.i()));
}

// Each element times the sum of the squares of its row, and something behind it.
Tensor scaled(const Matrix& of, const Expr& behind) {
  const Axis r("r", of.columns);
  const Tensor x = of.x();
  const Tensor squares = compute("squares", {of.i()}, sum(r, x(of.i(), r) * x(of.i(), r)));
  return compute("y", {of.i(), of.j()}, x(of.i(), of.j()) * squares(of.i()) + behind);
}

// Whether the last operation goes through the rows of a tile as they lie in memory.
bool goes_along_rows(const Graph& graph, const Target& target) {
  EXPECT_TRUE(derives(graph, target, {0, 1, 15, 16, 17, 40}, 1e-5));
  return derived(graph, target).find(".fuse(row, ") != std::string::npos;
}
bool is_in_each_lane(const Graph& graph, const Target& target) {
  return derived(graph, target).find(", tile, ") != std::string::npos;
}

TEST(RowsInEachLane, TheLastOperationGoesAlongThem) {
  for (const char* level : {"x86-64-v2,cores=1", "x86-64-v3,cores=1", "x86-64-v4,cores=1"}) {
    const Target target = Target::parse(level);
    const Matrix of{5};
    const Tensor z = of.x("z"), scale = weight("scale", f32, {5});
    EXPECT_TRUE(goes_along_rows(Graph(below_most(of)), target)) << level;
    EXPECT_TRUE(goes_along_rows(Graph(scaled(of, z(of.i(), of.j()))), target)) << level;
    EXPECT_TRUE(goes_along_rows(Graph(scaled(of, scale(of.j()))), target)) << level;
    EXPECT_TRUE(goes_along_rows(Graph(rms_norm(of.x(), scale) + z), target)) << level;
  }
}

TEST(RowsInEachLane, OfAnyNumberAndLength) {
  for (const int64_t columns : {4, 7, 8, 16, 23}) {
    for (const int64_t rows : {16, 37, 64}) {
      EXPECT_TRUE(goes_along_rows(Graph(below_most({columns, rows})), kWide)) << columns;
    }
  }
  const Axis r("r", 5);
  const Tensor x = input("x", f32, {3, 7, 5});
  EXPECT_TRUE(goes_along_rows(Graph(x - reduce_max(x, {2}, true)), kWide));
}

// There is a way for fewer rows than lanes. Where there is none, the last tile has masks, under
// which what there is once in a row would be gathered.
TEST(RowsInEachLane, OfARunTimeNumberWhereAllTilesAreWhole) {
  const Extent rows = Extent::size("B");
  EXPECT_TRUE(goes_along_rows(Graph(below_most({8, rows})), kWide));
  EXPECT_FALSE(goes_along_rows(Graph(below_most({7, rows})), kWide));
}

TEST(RowsInEachLane, AFewElementsAreTurnedOver) {
  EXPECT_FALSE(goes_along_rows(Graph(below_most({3})), kWide));
  EXPECT_TRUE(goes_along_rows(Graph(below_most({4})), kWide));
  const Target narrow = Target::parse("x86-64-v3,cores=1");
  EXPECT_FALSE(goes_along_rows(Graph(below_most({4})), narrow));
  EXPECT_TRUE(goes_along_rows(Graph(below_most({5})), narrow));
}

TEST(RowsInEachLane, RowsThatAreStoredStayInLanes) {
  const Matrix of{5};
  const Axis i = of.i(), j = of.j(), r("r", 5);
  const Tensor x = of.x(), powers = compute("powers", {i, j}, exp(x(i, j)));
  const Tensor total = compute("total", {i}, sum(r, powers(i, r)));
  for (const Graph& graph :
       {Graph(softmax(of.x())), Graph(compute("y", {i, j}, powers(i, j) * total(i)))}) {
    EXPECT_FALSE(goes_along_rows(graph, kWide));
    EXPECT_TRUE(is_in_each_lane(graph, kWide));
  }
}

TEST(RowsInEachLane, WhatLiesOtherwiseStaysInLanes) {
  const Matrix of{5};
  const Axis i = of.i(), j = of.j();
  const Tensor turned = input("turned", f32, {5, kRows}), wide = input("wide", f32, {kRows, 6}),
               z = of.x("z"), scale = weight("scale", f32, {9}), table = weight("t", f32, {5, 9});
  for (const Expr& behind :
       {Expr(turned(j, i)), Expr(wide(i, j)), Expr(wide(i, j + 1)), Expr(z(i, 4 - j)),
        Expr(z(kRows - 1 - i, j)), Expr(scale(2 * j)), Expr(table(j, 3)), z(i, j) + z(i, 4 - j)}) {
    const Graph graph(scaled(of, behind));
    EXPECT_FALSE(goes_along_rows(graph, kWide)) << to_string(behind);
    EXPECT_TRUE(is_in_each_lane(graph, kWide));
  }
}

// Once for all elements that have it.
TEST(RowsInEachLane, WhatTakesLongOfARowOrAColumnStaysInLanes) {
  const Matrix of{5};
  const Axis r("r", 5);
  const Tensor x = of.x(), w = weight("w", f32, {5});
  const Tensor squares = compute("squares", {of.i()}, sum(r, x(of.i(), r) * x(of.i(), r)));
  const auto graph_of = [&](const Expr& factor) {
    return Graph(compute("y", {of.i(), of.j()}, x(of.i(), of.j()) * factor));
  };
  const Expr row = squares(of.i()), column = w(of.j());
  EXPECT_TRUE(goes_along_rows(graph_of(row + column), kWide));
  EXPECT_TRUE(goes_along_rows(graph_of(row * column), kWide));
  for (const Expr& factor : {sqrt(row), 1.0F / (row + 1.0F), row / (column + 1.0F),
                             row * exp(column), exp(-row) + column}) {
    const Graph graph = graph_of(factor);
    EXPECT_FALSE(goes_along_rows(graph, kWide)) << to_string(factor);
    EXPECT_TRUE(is_in_each_lane(graph, kWide)) << to_string(factor);
  }
  // Of an element it takes as long in either way.
  const Expr of_element = sqrt(abs(x(of.i(), of.j())) + row);
  EXPECT_TRUE(goes_along_rows(graph_of(of_element), kWide));
}

TEST(RowsInEachLane, WhatIsSummedUpAgainStaysInLanes) {
  const Matrix of{5};
  const Axis r("r", 5), s("s", 5);
  const Tensor x = of.x(), most = compute("most", {of.i()}, reduce_max(r, x(of.i(), r)));
  const Graph graph(compute("y", {of.i()}, sum(s, x(of.i(), s) * most(of.i()))));
  EXPECT_FALSE(goes_along_rows(graph, kWide));
  EXPECT_TRUE(is_in_each_lane(graph, kWide));
}

TEST(RowsInEachLane, ThreadsShareTilesOfThem) {
  const Target target = Target::parse("x86-64-v4,cores=4");
  const Graph graph(below_most({8, 100000}));
  const std::string text = derived(graph, target);
  EXPECT_NE(text.find("y.fuse(row, j, flat)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("y.parallel("), std::string::npos) << text;
}

}  // namespace
}  // namespace emulsion
