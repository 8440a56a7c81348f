#include "dsl/group_kind.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "dsl/graph.h"
#include "dsl/operators.h"
#include "dsl/tensor.h"

namespace emulsion {
namespace {

Extent B() { return Extent::size("B"); }

// All operations of a graph as one group.
std::string kind_of(const Tensor& y) {
  Op group;
  group.kind = OpKind::fused;
  const Graph graph(y);
  for (const OpPtr& op : graph.ops()) {
    if (op->kind == OpKind::compute) group.members.push_back(op);
  }
  return group_kind(group);
}

Tensor x() { return input("x", f32, {B(), 16}); }
Tensor w() { return weight("w", f32, {16, 8}); }
Tensor b() { return weight("b", f32, {8}); }

TEST(GroupKind, ALayer) {
  EXPECT_EQ(kind_of(relu(matmul(x(), w()) + b())), "fused_matmul_bias_relu");
}

TEST(GroupKind, TheSameWrittenOtherwise) {
  EXPECT_EQ(kind_of(max(0, b() + matmul(x(), w()))), "fused_matmul_bias_relu");
  Axis m("m", B()), n("n", 8), k("k", 16);
  Func product("relu"), y("conv");  // names tell nothing
  product(m, n) = sum(k, w()(k, n) * x()(m, k));
  y(m, n) = max(0.0f, b()(n) + product(m, n));
  EXPECT_EQ(kind_of(y), "fused_matmul_bias_relu");
}

TEST(GroupKind, EveryActivation) {
  const Tensor t = matmul(x(), w());
  EXPECT_EQ(kind_of(gelu(t)), "fused_matmul_gelu");
  EXPECT_EQ(kind_of(gelu(t, Gelu::erf)), "fused_matmul_gelu");
  EXPECT_EQ(kind_of(sigmoid(t)), "fused_matmul_sigmoid");
  EXPECT_EQ(kind_of(1 / (1 + exp(-t))), "fused_matmul_neg_exp_add_div");
  EXPECT_EQ(kind_of(tanh(t)), "fused_matmul_tanh");
  EXPECT_EQ(kind_of(clamp(t, 0, 6)), "fused_matmul_clamp");
  Axis m("m", B()), n("n", 8);
  EXPECT_EQ(kind_of(compute("y", {m, n}, 1.0f / (exp(-t(m, n)) + 1.0f))), "fused_matmul_sigmoid");
}

TEST(GroupKind, Convolutions) {
  const Tensor image = input("image", f32, {B(), 8, 8, 4});
  const Tensor t = conv2d(image, weight("f", f32, {3, 3, 4, 8}));
  EXPECT_EQ(kind_of(relu(t + b())), "fused_conv_bias_relu");
  Conv2dOptions grouped;
  grouped.groups = 2;
  EXPECT_EQ(kind_of(neg(conv2d(image, weight("f", f32, {1, 1, 2, 8}), grouped))), "fused_conv_neg");
}

TEST(GroupKind, AResidualIsNoBias) {
  EXPECT_EQ(kind_of(relu(matmul(x(), w()) + input("z", f32, {B(), 8}))), "fused_matmul_add_relu");
}

TEST(GroupKind, NorIsANumber) {
  EXPECT_EQ(kind_of(relu(matmul(x(), w()) + 2.0f)), "fused_matmul_add_relu");
  EXPECT_EQ(kind_of(relu(input("p", f32, {}) + input("q", f32, {}))), "fused_add_relu");
}

TEST(GroupKind, AMaximumOfTwoIsNoRelu) {
  const Tensor t = x();
  EXPECT_EQ(kind_of(max(neg(t), t)), "fused_neg_max");
  EXPECT_EQ(kind_of(max(neg(t), 1)), "fused_neg_max");
}

TEST(GroupKind, AnAffineAndItsActivation) {
  const Tensor t = input("t", f32, {3, 8});
  EXPECT_EQ(kind_of(relu(t * b() + weight("shift", f32, {8}))), "fused_mul_bias_relu");
}

TEST(GroupKind, OtherSums) {
  EXPECT_EQ(kind_of(neg(sum(x(), {1}))), "fused_sum_neg");
  Axis m("m", B()), n("n", 8), k("k", 16);
  const Expr apart = x()(m, k) - w()(k, n);
  EXPECT_EQ(kind_of(sqrt(compute("", {m, n}, sum(k, apart * apart)))),
            "fused_sub_sub_mul_sum_sqrt");
}

TEST(GroupKind, WhatHasOperatorsButNoName) {
  const Axis m("m", B()), n("n", 8);
  const Tensor t = matmul(x(), w());
  const Expr at = t(m, n);
  EXPECT_EQ(kind_of(compute("y", {m, n}, select(at < 0.0f || at > 1.0f, sqrt(at), pow(at, at)))),
            "fused_matmul_compare_compare_logic_sqrt_pow_where");
}

TEST(GroupKind, ALongChainIsCut) {
  Tensor t = x();
  for (int i = 0; i < 5; ++i) t = neg(abs(t));
  EXPECT_EQ(kind_of(t), "fused_abs_neg_abs_neg_abs_neg_abs_neg_and_more");
}

TEST(GroupKind, ADeepExpressionIsCut) {
  Axis i("i", 4);
  Expr e = input("v", f32, {4})(i);
  for (int step = 0; step < 900; ++step) e = -e;
  EXPECT_EQ(kind_of(compute("y", {i}, e)), "fused_neg_neg_neg_neg_neg_neg_neg_neg_and_more");
}

TEST(GroupKind, WhatSharesLoopsSaysWhichFirst) {
  const Axis i("i", B()), k("k", 16);
  const Tensor rows = x();
  const Tensor highest = compute("highest", {i}, reduce_max(k, rows(i, k)));
  const Graph graph(compute("y", {i, k}, exp(rows(i, k) - highest(i))));
  LoopGroup group{LoopGroupKind::rows, {*graph.find("highest"), *graph.find("y")}, {0}};
  EXPECT_EQ(group_kind(group), "fused_rows_max_sub_exp");
  group.kind = LoopGroupKind::columns;
  EXPECT_EQ(group_kind(group), "fused_columns_max_sub_exp");
  group.kind = LoopGroupKind::row_blocks;
  EXPECT_EQ(group_kind(group), "fused_row_blocks_max_sub_exp");
  group.kind = LoopGroupKind::windows;
  EXPECT_EQ(group_kind(group), "fused_windows_max_sub_exp");
  group.kind = LoopGroupKind::waiting_sums;
  EXPECT_EQ(group_kind(group), "fused_waiting_sums_max_sub_exp");
}

TEST(GroupKind, TheKindIsInTheWord) {
  EXPECT_EQ(loop_kind_in("fused_rows"), LoopGroupKind::rows);
  EXPECT_EQ(loop_kind_in("fused_rows_max_sub_exp"), LoopGroupKind::rows);
  EXPECT_EQ(loop_kind_in("fused_columns_max"), LoopGroupKind::columns);
  EXPECT_EQ(loop_kind_in("fused_row_blocks_matmul"), LoopGroupKind::row_blocks);
  EXPECT_EQ(loop_kind_in("fused_windows_add"), LoopGroupKind::windows);
  EXPECT_EQ(loop_kind_in("fused_waiting_sums"), LoopGroupKind::waiting_sums);
}

TEST(GroupKind, AndInNoOther) {
  for (const char* word : {"", "fused", "fused_", "fused_row", "fused_rowss", "fused_matmul_rows",
                           "rows", "rows_fused", "fused_waiting", "fused_blocks"}) {
    EXPECT_EQ(loop_kind_in(word), std::nullopt) << word;
  }
}

}  // namespace
}  // namespace emulsion
