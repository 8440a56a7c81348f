// How the operations of a grouped graph read one another.

#include "passes/derive/graph_reads.h"

#include <gtest/gtest.h>

#include "dsl/operators.h"
#include "passes/fuse/fuse_epilogues.h"
#include "tests/passes/op_of.h"

namespace emulsion {
namespace {

const Axis i("i", 8), j("j", 6), k("k", 6);

Tensor producer() { return compute("p", {i, j}, input("x", f32, {8, 6})(i, j) * 2.0f); }

Reads reads(const Tensor& y, size_t dimensions = 2) {
  const Graph grouped = fuse_epilogues(Graph(y));
  return reads_of(*op_of(grouped, "p"), *op_of(grouped, "y"), dimensions).value();
}

bool whole(const Tensor& y, size_t first, const RowPositions& rows = {}) {
  const Graph graph(y);
  const Op& p = *op_of(graph, "p");
  return reads_whole(p, reads_of(p, *op_of(graph, "y"), 2).value(), first, rows);
}

TEST(GraphReads, EachReadByItself) {
  const Axis few("i", 7);
  Tensor p = producer();
  const Reads all = reads(compute("y", {few, j}, p(few, j) - p.at({Expr(few) + 1, j})));
  ASSERT_EQ(all.all.size(), 2U);
  EXPECT_TRUE(is_axis(all.all[0][0], few));
  EXPECT_FALSE(is_axis(all.all[1][0], few));
  EXPECT_TRUE(is_axis(all.all[1][1], j));
}

TEST(GraphReads, OfAGroupInTheAxesOfTheLast) {
  Tensor p = producer();
  Tensor turned = compute("turned", {j, i}, p(i, j) + 1.0f);
  const Reads all = reads(relu(turned, "y"));
  ASSERT_EQ(all.all.size(), 1U);
  EXPECT_TRUE(is_axis(all.all[0][0], all.axes[1]));
}

TEST(GraphReads, AxesOfSumsHaveNamesOfTheirOwn) {
  Tensor p = producer();
  const Reads all = reads(compute("y", {i}, sum(k, p(i, k))));
  EXPECT_EQ(all.reduction_axes.count("y.k"), 1U);
  EXPECT_EQ(all.all.at(0).at(1).coefficients.count("y.k"), 1U);
}

TEST(GraphReads, NoneWhereAnIndexIsData) {
  Tensor p = producer(), at = input("at", i32, {8});
  const Graph graph(compute("y", {i}, p.at({i, min(max(at(i), 0), 5)})));
  EXPECT_FALSE(reads_of(*op_of(graph, "p"), *op_of(graph, "y"), 2));
  EXPECT_TRUE(reads_of(*op_of(graph, "p"), *op_of(graph, "y"), 1));
}

TEST(GraphReads, WholeRowsOrPartsOfThem) {
  const Axis part("j", 5);
  Tensor p = producer();
  EXPECT_TRUE(whole(compute("y", {i, j}, p(i, j)), 0));
  EXPECT_TRUE(whole(compute("y", {i, j}, p(i, Expr(5) - j)), 1));
  EXPECT_TRUE(whole(compute("y", {i}, sum(k, p(i, k))), 1));
  EXPECT_FALSE(whole(compute("y", {i, part}, p(i, part)), 1));
  EXPECT_FALSE(whole(compute("y", {i, part}, p(i, Expr(part) + 1)), 1));
}

// Of the row that the reader computes: a diagonal has one element of each.
TEST(GraphReads, WholeRowsOfTheRowThatIsComputed) {
  const Axis a("a", 6), b("b", 6);
  Tensor p = compute("p", {a, b}, input("x", f32, {6, 6})(a, b) * 2.0f);
  const RowPositions rows{{0}, {0}};
  EXPECT_TRUE(whole(compute("y", {a, b}, p(a, b)), 0, rows));
  EXPECT_FALSE(whole(compute("y", {a, b}, p(a, a)), 0, rows));
  EXPECT_TRUE(whole(compute("y", {a, b}, p(a, a)), 0)) << "where nobody asks for rows";
  EXPECT_TRUE(whole(compute("y", {a, b}, p(a, a) + p(a, b)), 0, rows));
  EXPECT_FALSE(whole(compute("y", {a, b}, p(b, a)), 0, rows));
}

TEST(GraphReads, WhatCombinesWindows) {
  const Axis narrow("j", 4), window("k", 3);
  Tensor x = input("x", f32, {8, 6});
  const Tensor pooled = compute("y", {i, narrow}, sum(window, x.at({i, Expr(narrow) + window})));
  EXPECT_TRUE(combines_windows(*op_of(Graph(pooled), "y")));
  EXPECT_FALSE(combines_windows(*op_of(Graph(compute("y", {i}, sum(k, x(i, k)))), "y")));
}

TEST(GraphReads, OnlyReadersOfWhatTheOutsideDoesNotRead) {
  Tensor p = producer();
  const Tensor y = compute("y", {i}, sum(k, p(i, k)));
  const Graph inner(y), both({y, p});
  ASSERT_NE(Readers(inner).only_readers(*op_of(inner, "p")), nullptr);
  EXPECT_EQ(Readers(inner).only_readers(*op_of(inner, "p"))->size(), 1U);
  EXPECT_EQ(Readers(both).only_readers(*op_of(both, "p")), nullptr);
}

TEST(GraphReads, PointsBesideSomeDimensions) {
  const Tensor p = producer(), x = input("x", f32, {8, 6});
  const Tensor s = compute("s", {i}, sum(k, x(i, k)));  // has those that it combines
  const Tensor b = relu(input("b", f32, {Extent::size("B"), 6}));
  EXPECT_EQ(points_beside(*p.op(), {0}), 6);
  EXPECT_EQ(points_beside(*p.op(), {1}), 8);
  EXPECT_EQ(points_beside(*p.op(), {0, 1}), 1);
  EXPECT_EQ(points_beside(*s.op(), {0}), 6);
  EXPECT_EQ(points_beside(*b.op(), {0}), 6);
  EXPECT_EQ(points_beside(*b.op(), {1}), std::nullopt);
}

TEST(GraphReads, ElementsBehindADimension) {
  Tensor p = producer(), b = input("b", f32, {Extent::size("B"), 6});
  EXPECT_EQ(elements_from(*p.op(), 0), 48);
  EXPECT_EQ(elements_from(*p.op(), 1), 6);
  EXPECT_EQ(elements_from(*p.op(), 2), 1);
  EXPECT_EQ(elements_from(*b.op(), 0), std::nullopt);
}

}  // namespace
}  // namespace emulsion
