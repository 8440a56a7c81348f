#include "passes/rewrite/merge_common_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "dsl/operators.h"
#include "passes/fuse/fuse_epilogues.h"
#include "tests/passes/rewrite/check_rewrite.h"

namespace emulsion {
namespace {

using ::testing::ElementsAre;

Graph merged(const Graph& graph) {
  const Graph after = merge_common_ops(graph);
  verify_graph(after);
  expect_same_values(graph, after, 1e-6);
  EXPECT_EQ(merge_common_ops(after).ops(), after.ops());
  return after;
}

TEST(MergeCommonOps, TheSameOperator) {
  Tensor x = input("x", f32, {4});
  EXPECT_THAT(computed(merged(add(exp(x, "a"), exp(x, "b"), "y"))), ElementsAre("a", "y"));
}

TEST(MergeCommonOps, AxesOfOtherNames) {
  Tensor x = input("x", f32, {4, 3});
  const Axis i("i", 4), j("j", 3), k("k", 3), p("p", 4), q("q", 3);
  Tensor a = compute("a", {i}, sum(j, x(i, j))), b = compute("b", {p}, sum({k}, x(p, k)));
  EXPECT_THAT(computed(merged(add(a, b, "y"))), ElementsAre("a", "y"));
}

TEST(MergeCommonOps, WhatBecomesTheSame) {
  Tensor x = input("x", f32, {4});
  Tensor left = tanh(exp(x, "a"), "b"), right = tanh(exp(x, "c"), "d");
  EXPECT_THAT(computed(merged(sub(left, right, "y"))), ElementsAre("a", "b", "y"));
}

TEST(MergeCommonOps, Constants) {
  Tensor x = input("x", f32, {2});
  Tensor a = constant("a", {2}, std::vector<float>{1, 2});
  Tensor b = constant("b", {2}, std::vector<float>{1, 2});
  const Graph after = merged(x * a + b);
  EXPECT_TRUE(after.find("a"));
  EXPECT_FALSE(after.find("b"));
}

// Those that differ in it alone have one hash.
TEST(MergeCommonOps, SumsOfEachOfTwoLengths) {
  const Tensor x = input("x", f32, {4, 4});
  const Axis i("i", 4), four("four", 4), three("three", 3), j("j", 3);
  const Tensor a = compute("a", {i}, sum(four, x(i, i)));
  const Tensor b = compute("b", {i}, sum(three, x(i, i))), c = compute("c", {i}, sum(j, x(i, i)));
  EXPECT_THAT(computed(merged(Graph({exp(a, "of_a"), exp(b, "of_b"), tanh(c, "of_c")}))),
              ElementsAre("a", "of_a", "b", "of_b", "of_c"));
}

TEST(MergeCommonOps, OutputsStayAndKeepTheirNames) {
  Tensor x = input("x", f32, {4});
  Tensor a = exp(x, "a"), b = exp(x, "b"), c = exp(x, "c");
  const Graph after = merged(Graph({a, b, add(b, c, "y")}));
  EXPECT_THAT(computed(after), ElementsAre("a", "b", "y"));
  ASSERT_EQ(after.outputs().size(), 3u);
  EXPECT_EQ(after.outputs()[1]->name, "b");
}

TEST(MergeCommonOps, SixtyFourStackedDiamonds) {
  Tensor left = input("x", f32, {4}), right = left;
  for (int i = 0; i < 64; ++i) {
    Tensor a = left + right, b = left + right;
    left = a;
    right = b;
  }
  EXPECT_EQ(computed(merge_common_ops(Graph(sub(left, right, "y")))).size(), 65u);
}

TEST(MergeCommonOps, DoesNotMergeWhatDiffers) {
  Tensor x = input("x", f32, {4, 4}), z = input("z", f32, {4, 4});
  const Axis i("i", 4), j("j", 4), k("k", 4), three("three", 3);
  const std::vector<Tensor> all = {
      compute("a", {i, j}, x(i, j) * 2),
      compute("b", {i, j}, x(j, i) * 2),
      compute("c", {i, j}, z(i, j) * 2),
      compute("d", {i, j}, x(i, j) * 3),
      compute("e", {i, j}, x(i, j) + 2),
      compute("f", {i}, sum(j, x(i, j))),
      compute("g", {i}, sum(j, x(j, i))),
      compute("h", {i}, reduce_max(j, x(i, j))),
      compute("l", {i}, sum(three, x(i, three))),
      compute("m", {i, three}, x(i, three) * 2),
      compute("n", {i, j}, x(i, j) * -0.0f),
      compute("o", {i, j}, x(i, j) * 0.0f),
      compute("p", {i}, sum({j, k}, x(i, j) * z(i, k))),
      compute("q", {i}, sum({j, k}, x(i, k) * z(j, i))),
  };
  std::vector<Tensor> outputs;
  for (const Tensor& tensor : all) outputs.push_back(tanh(tensor));
  EXPECT_EQ(computed(merged(Graph(outputs))).size(), 2 * all.size());
}

TEST(MergeCommonOps, DoesNotMergeConstantsOfOtherBitsTypesOrShapes) {
  Tensor x = input("x", f32, {2});
  Tensor a = constant("a", {2}, std::vector<float>{0.0f, 2});
  Tensor b = constant("b", {2}, std::vector<float>{-0.0f, 2});
  Tensor c = constant("c", {1, 2}, std::vector<float>{0.0f, 2});
  const Graph graph(x * a + b + reshape(c, {2}));
  EXPECT_EQ(merged(graph).ops(), graph.ops());
}

TEST(MergeCommonOps, DoesNotMergeConstantsOfTheSameBitsInOtherTypes) {
  const Tensor x = input("x", f32, {2});
  const Tensor a = constant("a", {2}, std::vector<float>{0, 0});
  const Tensor b = constant("b", {2}, std::vector<int32_t>{0, 0});
  const Graph graph(x * a + cast(b, f32));
  EXPECT_EQ(merged(graph).ops(), graph.ops());
}

TEST(MergeCommonOps, DoesNotMergeResultsOfOtherTypes) {
  const Tensor x = input("x", i32, {4});
  const Graph graph({exp(cast(cast(x, i8, "a"), f32)), exp(cast(cast(x, i16, "b"), f32))});
  EXPECT_EQ(merged(graph).ops(), graph.ops());
}

// Floats are added in the order of the axes.
TEST(MergeCommonOps, DoesNotMergeSumsInAnotherOrder) {
  const Tensor x = input("x", f32, {4, 3, 3});
  const Axis i("i", 4), j("j", 3), k("k", 3);
  const Graph graph({exp(compute("a", {i}, sum({j, k}, x(i, j, k)))),
                     exp(compute("b", {i}, sum({k, j}, x(i, j, k))))});
  EXPECT_EQ(merged(graph).ops(), graph.ops());
}

TEST(MergeCommonOps, DoesNotMergeSumsOfOtherLengths) {
  const Tensor x = input("x", f32, {4, 4});
  const Axis i("i", 4), j("j", 4), three("three", 3);
  const Graph graph(
      {exp(compute("a", {i}, sum(j, x(i, i)))), exp(compute("b", {i}, sum(three, x(i, i))))});
  EXPECT_EQ(merged(graph).ops(), graph.ops()) << "neither reads its reduction axis";
}

TEST(MergeCommonOps, DoesNotMergeWhatIsReadAtAnotherPlace) {
  const Tensor x = input("x", f32, {5});
  const Axis i("i", 4);
  const Graph graph({exp(compute("a", {i}, x(i) * 2)), exp(compute("b", {i}, x(i + 1) * 2))});
  EXPECT_EQ(merged(graph).ops(), graph.ops());
}

TEST(MergeCommonOps, DoesNotMergeOtherRunTimeSizes) {
  const Tensor s = input("s", f32, {});
  const Axis a("a", Extent::size("A")), b("b", Extent::size("B"));
  const Graph graph({exp(compute("of_a", {a}, s() * 2)), exp(compute("of_b", {b}, s() * 2))});
  EXPECT_EQ(merged(graph).ops(), graph.ops());
}

TEST(MergeCommonOps, DoesNotMergeTwoOutputs) {
  const Tensor x = input("x", f32, {4});
  const Graph graph({exp(x, "a"), exp(x, "b")});
  EXPECT_EQ(merged(graph).ops(), graph.ops());
}

TEST(MergeCommonOps, DoesNotMergeArguments) {
  Tensor x = input("x", f32, {2}), z = input("z", f32, {2});
  const Graph graph(exp(x) + exp(z));
  EXPECT_EQ(merged(graph).ops(), graph.ops());
}

TEST(MergeCommonOps, LeavesGroupsAlone) {
  Tensor x = input("x", f32, {4});
  const Graph graph = fuse_epilogues(Graph({exp(tanh(x), "a"), exp(tanh(x), "b")}));
  EXPECT_EQ(merged(graph).ops(), graph.ops());
}

}  // namespace
}  // namespace emulsion
