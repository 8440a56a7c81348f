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
  // j in blocks of 8 of rows of 16.
  const Tensor flat = input("f", f32, {32, 16});
  const Expr read = flat(Expr(j) / 16, Expr(j) % 16);
  const AxisExtents extents = {{"j", Extent(64)}};
  EXPECT_EQ(step_in_blocks(read, "j", 8, extents), Step::neighbour);
  EXPECT_EQ(step_in_blocks(read, "j", 32, extents), Step::neighbour);  // rows lie side by side
  const Tensor apart = input("a", f32, {32, 17});
  EXPECT_EQ(step_in_blocks(apart(Expr(j) / 16, Expr(j) % 16), "j", 32, extents), Step::elsewhere);
}

TEST(ReadSources, StepsThroughSeveralIndices) {
  const Tensor deep = input("f", f32, {32, 8, 4}), gap = input("g", f32, {32, 8, 5});
  const AxisExtents extents = {{"i", Extent(32)}, {"j", Extent(32)}};
  const Expr four = Expr(j) / 4, rest = Expr(j) % 4;
  EXPECT_EQ(step_in_blocks(deep(i, four, rest), "j", 8, extents), Step::neighbour);
  EXPECT_EQ(step_in_blocks(gap(i, four, rest), "j", 8, extents), Step::elsewhere);
  EXPECT_EQ(step_in_blocks(deep(i, rest, four), "j", 8, extents), Step::elsewhere);
  EXPECT_EQ(step_in_blocks(deep(i, four, Expr(0)), "j", 8, extents), Step::elsewhere);
  const Tensor sized = input("s", f32, {32, 8, Extent::size("N") + 4});
  EXPECT_EQ(step_in_blocks(sized(i, four, rest), "j", 8, extents), Step::elsewhere);
}

TEST(ReadSources, ElementsThatAVectorRepeats) {
  const Tensor m = input("m", f32, {32, 64}), unit = input("u", f32, {32, 1, 64, 1});
  const AxisExtents extents = {{"i", Extent(32)}, {"j", Extent(64)}};
  EXPECT_TRUE(repeats_in_blocks(m(i, Expr(j) / 4), "j", 8, extents));
  EXPECT_TRUE(repeats_in_blocks(m(i, Expr(j) / 4 + 3), "j", 8, extents));
  EXPECT_TRUE(repeats_in_blocks(unit(i, 0, Expr(j) / 4, 0), "j", 8, extents));
  EXPECT_FALSE(repeats_in_blocks(m(i, Expr(j) / 3), "j", 8, extents));
  EXPECT_FALSE(repeats_in_blocks(m(Expr(j) / 4, i), "j", 8, extents));
  EXPECT_FALSE(repeats_in_blocks(m(i, Expr(j) / 4 * 2), "j", 8, extents));
  EXPECT_FALSE(repeats_in_blocks(m(i, Expr(j) / 4 + j), "j", 8, extents));
}

TEST(ReadSources, MovesThatKeepTheOrderOfMemory) {
  const Extent size = Extent::size("N");
  EXPECT_TRUE(is_view(*reshape(input("x", f32, {24, 48}), {36, 32}).op()));
  EXPECT_TRUE(is_view(*reshape(input("x", f32, {size, 40, 44, 32}), {size, 1760, 8, 4}).op()));
  EXPECT_FALSE(is_view(*transpose(input("x", f32, {24, 48}), {1, 0}).op()));
  EXPECT_FALSE(is_view(*slice(input("x", f32, {24, 48}), {0, 8}, {24, 48}).op()));
  EXPECT_FALSE(is_view(*slice(input("x", f32, {24, 48}), {1, 0}, {24, 48}).op()));
  const Axis a("a", 24), b("b", 48);
  EXPECT_FALSE(is_view(*compute("r", {a, b}, input("x", f32, {48})(b)).op()));
  const Extent inner = size + 1;
  EXPECT_FALSE(is_view(*compute("s", {a, b}, input("x", f32, {24, inner})(a, min(b, 0))).op()));
}

TEST(ReadSources, MovesThatKeepRows) {
  EXPECT_TRUE(keeps_rows(*slice(x(), {2, 8}, {20, 48}).op()));
  EXPECT_FALSE(keeps_rows(*transpose(x(), {1, 0}).op()));
}

}  // namespace
}  // namespace emulsion
