// A series (exp, tanh) behind a product of few columns, in vectors through several rows.

#include <gtest/gtest.h>

#include <string>

#include "dsl/operators.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("B");

Tensor product_of(const Extent& rows, int columns, bool is_weight = true, int outer = 0) {
  const Shape shape = outer > 0 ? Shape{outer, rows, 32} : Shape{rows, 32};
  const Tensor w = is_weight ? weight("w", f32, {32, columns}) : input("w", f32, {32, columns});
  return matmul(input("a", f32, shape), w, "mm");
}
Tensor vector_of(int columns, const std::string& name) { return input(name, f32, {columns}); }
std::string for_v4(const Tensor& y, int cores = 1) {
  return derived(y, target_of("x86-64-v4", cores));
}

TEST(DeriveSeriesOfProduct, IsFlatBehindTheProductOfABlockOfRows) {
  for (const int columns : {5, 13, 20}) {
    const std::string text = for_v4(tanh(product_of(960, columns), "y"));
    EXPECT_TRUE(has(text, "mm.compute_at(y, i0)\n")) << text;
    EXPECT_TRUE(has(text, "y.fuse(row, i1, flat)\n")) << text;
    EXPECT_FALSE(has(text, "y.compute_at")) << text;
  }
}

TEST(DeriveSeriesOfProduct, WhatRowsAddIsInTheTilesOfTheProduct) {
  const std::string text =
      for_v4(gelu(add(product_of(960, 13), vector_of(13, "b"), "s"), Gelu::tanh, "y"));
  EXPECT_TRUE(has(text, "s.compute_at(y, i0)\n")) << text;
  EXPECT_TRUE(has(text, "mm.store_in(registers)\n") && has(text, "y.fuse(row, i1, flat)\n"))
      << text;
  // What follows goes by rows again.
  const Tensor t = tanh(product_of(960, 13), "t");
  const std::string scaled = for_v4(mul(t, vector_of(13, "c"), "y"));
  EXPECT_TRUE(has(scaled, "t.fuse(i0, i1, flat)\n") && !has(scaled, "y.fuse")) << scaled;
}

TEST(DeriveSeriesOfProduct, OfBlocksFewRowsAreComputedAgain) {
  const auto block = [](int rows, int columns) {
    const std::string text = for_v4(tanh(product_of(rows, columns), "y"));
    const std::string split = "y.split(i0, i0, row, ";
    const size_t from = text.find(split);
    if (from == std::string::npos) return 0;
    return std::stoi(text.substr(from + split.size()));
  };
  // Of few rows all are one block.
  for (const auto& [rows, columns] : {std::pair(12, 13), {15, 89}, {13, 89}, {17, 20}}) {
    EXPECT_EQ(block(rows, columns), rows) << columns;
  }
  for (const auto& [rows, columns] :
       {std::pair(960, 13), {500, 20}, {997, 5}, {241, 20}, {14, 113}, {110, 38}}) {
    const int of_block = block(rows, columns);
    ASSERT_GT(of_block, 0);
    EXPECT_LE((rows + of_block - 1) / of_block * of_block - rows, rows / 16) << rows;
  }
}

TEST(DeriveSeriesOfProduct, OfARunTimeNumberOfRowsItHasLoopsOfItsOwn) {
  const std::string text = for_v4(tanh(product_of(kSize, 13), "y"));
  EXPECT_TRUE(has(text, "y.fuse(i0, i1, flat)\n")) << text;
  EXPECT_FALSE(has(text, "mm.compute_at")) << text;
  const std::string few = for_v4(tanh(product_of(3, 13), "y"));
  EXPECT_FALSE(has(few, "mm.compute_at(y, i0)")) << few;
}

TEST(DeriveSeriesOfProduct, NotOfOthers) {
  for (const Tensor& y : {
           tanh(product_of(960, 32), "y"),   // full vectors
           tanh(product_of(960, 250), "y"),  // few lanes are empty
           relu(product_of(960, 13), "y"),   // no series
       }) {
    EXPECT_FALSE(has(for_v4(y), "flat")) << for_v4(y);
  }
}

TEST(DeriveSeriesOfProduct, ThreadsShareTheBlocks) {
  EXPECT_TRUE(has(for_v4(tanh(product_of(50000, 13), "y"), 2), "y.parallel(i0)\n"));
  EXPECT_FALSE(has(for_v4(tanh(product_of(60, 13), "y"), 2), "parallel"));
  const std::string batch = for_v4(tanh(product_of(960, 13, true, 64), "y"), 2);
  EXPECT_TRUE(has(batch, "y.parallel(i0)\n") && has(batch, "mm.compute_at(y, i1)\n")) << batch;
}

// Which has loops of its own, and no others besides, though it has no register tiles.
TEST(DeriveSeriesOfProduct, BehindOneColumnOfARunTimeNumberOfSteps) {
  const Axis i("i", 72), j("j", 5), n("n", 1), k("k", kSize);
  const Tensor x = input("x", f32, {72, 5, kSize}), z = input("z", f32, {72, 1, kSize});
  const Tensor f = compute("f", {i, j, n}, sum(k, x(i, j, k) * z(i, n, k)));
  const Graph graph(exp(exp(f * 0.125F), "y"));
  for (const char* level : kLevels) {
    for (const int cores : {1, 2}) {
      EXPECT_TRUE(derives(graph, target_of(level, cores), {0, 1, 14}, 1e-4)) << level << cores;
    }
  }
}

TEST(DeriveSeriesOfProduct, ComputesWhatTheGraphSays) {
  for (const char* level : kLevels) {
    for (const int cores : {1, 2}) {
      for (const int columns : {3, 13, 20}) {
        for (const Extent& rows : {Extent(1), Extent(4), Extent(131), kSize}) {
          for (const bool is_weight : {true, false}) {
            const Target target = target_of(level, cores);
            const Tensor mm = product_of(rows, columns, is_weight);
            EXPECT_TRUE(derives(Graph(tanh(mm, "y")), target, {0, 1, 14}, 1e-4))
                << level << rows.to_string() << " x " << columns;
            const Tensor gelus = gelu(mm + vector_of(columns, "b")) * vector_of(columns, "c");
            EXPECT_TRUE(derives(Graph(gelus), target, {0, 1, 14}, 1e-4))
                << level << rows.to_string() << " x " << columns;
          }
        }
      }
      const Tensor batch = product_of(30, 9, true, 3);
      EXPECT_TRUE(derives(Graph(mul(batch, sigmoid(batch))), target_of(level, cores), {0}, 1e-4));
    }
  }
}

}  // namespace
}  // namespace emulsion
