#include "passes/fuse/expect_fused.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/operators.h"
#include "passes/fuse/fuse_epilogues.h"
#include "passes/fuse/fusion_config.h"
#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

struct Linear {
  Tensor x = input("x", f32, {4, 6});
  Tensor w = weight("w", f32, {6, 8});
  Tensor b = weight("b", f32, {8});
  Tensor mm = matmul(x, w, "mm");
};

void check(const Graph& graph, const std::vector<std::string>& names,
           const FusionPolicy& policy = always_fuse) {
  FusionReport report;
  const Graph grouped = fuse_epilogues(graph, policy, &report);
  expect_fused(graph, grouped, report, names);
}

TEST(ExpectFused, WhatIsOneGroup) {
  Linear l;
  EXPECT_NO_THROW(check(relu(l.mm + l.b), {"matmul+bias+relu"}));
  EXPECT_NO_THROW(check(max(0.0f, l.b + l.mm), {"matmul+bias+relu"}));
  EXPECT_NO_THROW(check(gelu(l.mm), {"matmul+gelu"}));
  EXPECT_NO_THROW(check(tanh(sigmoid(l.mm + l.b)), {"matmul+bias+sigmoid+tanh", "matmul+bias"}));
  EXPECT_NO_THROW(check(exp(l.mm), {}));
}

TEST(ExpectFused, Convolutions) {
  Tensor x = input("x", f32, {1, 6, 6, 4}), w = weight("w", f32, {3, 3, 4, 4});
  Tensor of_groups = weight("of_groups", f32, {3, 3, 2, 4}), b = weight("b", f32, {4});
  Conv2dOptions strided, groups;
  strided.stride_h = 2;
  strided.dilation_w = 2;
  groups.groups = 2;
  EXPECT_NO_THROW(check(relu(conv2d(x, w, strided) + b), {"conv+bias+relu"}));
  EXPECT_NO_THROW(check(relu(conv2d(x, of_groups, groups) + b), {"conv+bias+relu"}));
  Tensor c = conv2d(x, of_groups, groups, "c");
  EXPECT_ERROR(check(Graph({relu(c + b, "y"), neg(c)}), {"conv+bias+relu"}),
               "got c apart from it: expected c to have one user, got 2");
}

TEST(ExpectFused, RefusesWhatHasAnotherUser) {
  Linear l;
  EXPECT_ERROR(check(Graph({relu(add(l.mm, l.b, "t"), "y"), exp(l.mm, "e")}), {"matmul+bias+relu"}),
               "expected matmul+bias+relu at y to be one group, got mm apart from it: expected mm "
               "to have one user, got 2 (t, e)");
}

TEST(ExpectFused, RefusesWhatIsAnOutput) {
  Linear l;
  EXPECT_ERROR(check(Graph({relu(l.mm, "y"), l.mm}), {"matmul+relu"}),
               "got mm apart from it: expected mm to be no output of the graph");
}

TEST(ExpectFused, RefusesWhatAPolicyKeepsApart) {
  Linear l;
  FusionConfig config;
  config.least_elements = 1000;
  EXPECT_ERROR(check(relu(l.mm, "y"), {"matmul+relu"}, policy_of(config)),
               "got mm apart from it: expected mm of at least 1000 elements, got 32");
}

TEST(ExpectFused, RefusesWhatIsNotThere) {
  Linear l;
  EXPECT_ERROR(check(relu(l.mm), {"matmul+bias+relu"}),
               "expected matmul+bias+relu in the graph, got none");
  EXPECT_ERROR(check(relu(l.mm), {"conv+relu"}), "expected conv+relu in the graph, got none");
}

TEST(ExpectFused, NamesWhatIsThere) {
  Linear l;
  EXPECT_ERROR(check(relu(add(l.mm, l.b)), {"matmul+relu"}),
               "expected matmul+relu in the graph, got none; legal: add+relu or matmul+bias+relu");
  EXPECT_ERROR(check(Graph({tanh(l.mm), softmax(l.mm)}), {"conv+relu"}),
               "got none; legal: softmax or matmul+tanh");
  EXPECT_ERROR(check(exp(l.mm), {"matmul+relu"}), "legal: nothing, since nothing there has");
}

TEST(ExpectFused, RefusesNamesThatAreNone) {
  Linear l;
  EXPECT_ERROR(check(relu(l.mm), {"gemm+relu"}),
               "or softmax, layer_norm or rms_norm, got gemm+relu");
  EXPECT_ERROR(check(relu(l.mm), {"matmul"}), "or softmax, layer_norm or rms_norm, got matmul");
  EXPECT_ERROR(check(relu(l.mm), {""}), "layer_norm or rms_norm, got nothing");
  EXPECT_ERROR(check(relu(l.mm), {"matmul+softplus"}),
               "expected bias, relu, gelu, sigmoid, tanh, clamp or residual, got softplus");
}

}  // namespace
}  // namespace emulsion
