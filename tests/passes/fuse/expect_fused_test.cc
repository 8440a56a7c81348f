#include "passes/fuse/expect_fused.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "dsl/operators.h"
#include "passes/fuse/find_siblings.h"
#include "passes/fuse/fuse_epilogues.h"
#include "passes/fuse/fused_group.h"
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

// What another pattern is said of, and what is no pattern of operations that belong together.
TEST(ExpectFused, RefusalsListThePatternsOfWhatIsFused) {
  Linear l;
  for (const char* name :
       {"contraction epilogue", "elementwise chain", "sibling", "matmul+gelut"}) {
    EXPECT_ERROR(check(relu(l.mm), {name}),
                 "; or siblings, sibling products, recomputed values, shared rows, shared columns, "
                 "layer blocks, sliding windows, waiting sums, moves read through, borders read "
                 "through");
  }
}

FusionReport siblings_report(const Graph& graph, const SiblingPolicy& policy = share_always) {
  FusionReport report;
  find_siblings(graph, policy, &report);
  return report;
}

std::optional<FusionRefusal> keep_apart(const SiblingCandidate& /*candidate*/) {
  return FusionRefusal("expected another day");
}

TEST(ExpectFused, WhatNeedsTheOtherIsNoSibling) {
  const Tensor x = input("x", f32, {16, 64});
  const Tensor e = abs(x, "e");
  const Graph graph({e, mul(x, e, "w")});
  EXPECT_ERROR(expect_fused(graph, graph, siblings_report(graph), {kSiblings}),
               "fail_on_unfused: expected siblings in the graph, got none");
  const Graph with_sibling({e, tanh(x, "f"), mul(x, e, "w")});
  EXPECT_NO_THROW(
      expect_fused(with_sibling, with_sibling, siblings_report(with_sibling), {kSiblings}));
}

// Though one of the two that were not wanted needs another one.
TEST(ExpectFused, SiblingsThatAreKeptApart) {
  const Tensor x = input("x", f32, {16, 64});
  const Tensor e = abs(x, "e");
  const Graph graph({e, tanh(x, "f"), mul(x, e, "w")});
  const FusionReport report = siblings_report(graph, keep_apart);
  EXPECT_ERROR(expect_fused(graph, graph, report, {kSiblings}),
               "expected the siblings e and f to be computed together, got them apart: expected "
               "another day");
  EXPECT_EQ(report.decisions.back().producer, "f") << "w needs e, and that is no news";
  EXPECT_EQ(report.decisions.back().reason, "expected another day");
  const SiblingPolicy all_but_w = [](const SiblingCandidate& candidate) {
    return candidate.sibling->name == "w" ? keep_apart(candidate) : std::nullopt;
  };
  EXPECT_NO_THROW(expect_fused(graph, graph, siblings_report(graph, all_but_w), {kSiblings}));
}

TEST(ExpectFused, SiblingsThatAnotherPatternComputesTogether) {
  const Tensor x = input("x", f32, {16, 64});
  const Tensor e = abs(x, "e"), f = tanh(x, "f");
  const Graph graph({add(e, f, "y")});
  const FusionReport report = siblings_report(graph, keep_apart);
  EXPECT_ERROR(expect_fused(graph, graph, report, {kSiblings}), "got them apart");
  LoopGroup rows;
  rows.kind = LoopGroupKind::rows;
  rows.axes = {0};
  rows.members = {graph.ops()[1], graph.ops()[2], graph.ops()[3]};
  const Graph shared = with_loop_groups(graph, {rows});
  EXPECT_NO_THROW(expect_fused(graph, shared, report, {kSiblings}));
}

}  // namespace
}  // namespace emulsion
