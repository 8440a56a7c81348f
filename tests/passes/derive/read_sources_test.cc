#include "passes/derive/read_sources.h"

#include <gtest/gtest.h>

#include "dsl/operators.h"
#include "passes/fuse/fuse_epilogues.h"
#include "tests/passes/op_of.h"

namespace emulsion {
namespace {

const Axis i("i", 24), j("j", 64);

Tensor x() { return input("x", f32, {24, 64}); }

TEST(ReadSources, Moves) {
  EXPECT_TRUE(is_move(*transpose(x(), {1, 0}).op()));
  EXPECT_TRUE(is_move(*reshape(x(), {96, 16}).op()));
  EXPECT_FALSE(is_move(*relu(x()).op())) << "it computes";
  EXPECT_FALSE(is_move(*sum(x(), {1}).op())) << "it combines";
  EXPECT_FALSE(is_move(*x().op())) << "an argument";
  EXPECT_FALSE(is_move(*transpose(input("e", f32, {0, 4}), {1, 0}).op())) << "nothing to move";
  const Tensor rows = input("rows", u8, {24});
  EXPECT_FALSE(is_move(*compute("g", {i, j}, x()(min(cast(i32, rows(i)), 23), j)).op()))
      << "data choose";
}

TEST(ReadSources, ElementwiseOperationsAndGroups) {
  EXPECT_TRUE(is_elementwise(relu(x()).op()));
  const Graph chain = fuse_epilogues(Graph(tanh(relu(x()), "y")));
  EXPECT_TRUE(is_elementwise(op_of(chain, "y")));
  const Tensor product = matmul(x(), weight("w", f32, {64, 8}));
  const Graph epilogue = fuse_epilogues(Graph(relu(product, "y")));
  EXPECT_FALSE(is_elementwise(op_of(epilogue, "y"))) << "it has sums";
  EXPECT_FALSE(is_elementwise(transpose(x(), {1, 0}).op()));
  EXPECT_FALSE(is_elementwise(x().op()));
  EXPECT_FALSE(is_elementwise(relu(input("e", f32, {0, 4})).op()));
}

TEST(ReadSources, NoMoreStepsThanElements) {
  const Extent size = Extent::size("B"), other = Extent::size("C");
  const auto has = [](const Shape& loops, const Shape& shape) {
    AxisExtents extents;
    for (size_t k = 0; k < loops.size(); ++k) extents.emplace("a" + std::to_string(k), loops[k]);
    return has_no_more_steps(extents, shape);
  };
  EXPECT_TRUE(has({96, 16}, {24, 64}));
  EXPECT_TRUE(has({20, 64}, {24, 64}));
  EXPECT_FALSE(has({25, 64}, {24, 64}));
  EXPECT_TRUE(has({size, 4, 16}, {size, 64}));
  EXPECT_FALSE(has({size, 5, 16}, {size, 64}));
  EXPECT_FALSE(has({other, 64}, {size, 64})) << "nobody knows";
  EXPECT_FALSE(has({size, size}, {size, 1000}));
}

TEST(ReadSources, WhatAReadIsMadeOf) {
  const Tensor a = x();
  const Tensor t = compute("t", {j, i}, exp(a(i, j)) * 2.0F);
  const Axis m("m", 64), n("n", 24);
  const Tensor y = compute("y", {m, n}, t(m, Expr(23) - n));
  const Source source{t.op().get(), t.op()};
  const AxisExtents extents = extents_of(*y.op());
  EXPECT_EQ(to_string(composed(y.op()->body, source, extents)),
            to_string(exp(a(Expr(23) - n, m)) * 2.0F));
  EXPECT_EQ(to_string(with_composed_reads(y.op()->body + 1.0F, source, extents)),
            to_string(exp(a(Expr(23) - n, m)) * 2.0F + 1.0F));
}

TEST(ReadSources, StepsOfReads) {
  const Tensor a = x();
  EXPECT_EQ(step_of(a(i, Expr(j) + 2), "j"), Step::neighbour);
  EXPECT_EQ(step_of(a(i, Expr(j) * 2), "j"), Step::elsewhere);
  EXPECT_EQ(step_of(a(i, j), "i"), Step::elsewhere);
  EXPECT_EQ(step_of(a(i, Expr(3)), "j"), Step::none);
  EXPECT_TRUE(is_affine(a(i, Expr(j) + 2)));
  EXPECT_FALSE(is_affine(a(i, min(Expr(j), 7))));
  // j in blocks of 8 of rows of 16: neighbours there, though not from one row to the next.
  const Tensor flat = input("f", f32, {32, 16});
  const Expr read = flat(Expr(j) / 16, Expr(j) % 16);
  const AxisExtents extents = {{"j", Extent(64)}};
  EXPECT_EQ(step_in_blocks(read, "j", 8, extents), Step::neighbour);
  EXPECT_EQ(step_in_blocks(read, "j", 32, extents), Step::elsewhere);
}

TEST(ReadSources, MovesThatKeepRows) {
  EXPECT_TRUE(keeps_rows(*slice(x(), {2, 8}, {20, 48}).op()));
  EXPECT_FALSE(keeps_rows(*transpose(x(), {1, 0}).op()));
}

}  // namespace
}  // namespace emulsion
