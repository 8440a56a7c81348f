#include "passes/rewrite/remove_dead_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "dsl/operators.h"
#include "tests/passes/op_of.h"
#include "tests/passes/rewrite/check_rewrite.h"

namespace emulsion {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The graph of these tensors, of which only the first stays an output.
Graph first_alone(const std::vector<Tensor>& tensors) {
  const Graph graph(tensors);
  return Graph(graph.ops(), {graph.outputs().front()});
}

TEST(RemoveDeadOps, WhatNoOutputNeeds) {
  Tensor x = input("x", f32, {4});
  Tensor used = exp(x, "used"), dead = tanh(used, "dead");
  const Graph after = remove_dead_ops(first_alone({relu(used, "y"), log(dead, "also")}));
  verify_graph(after);
  EXPECT_THAT(computed(after), ElementsAre("used", "y"));
  EXPECT_EQ(remove_dead_ops(after).ops(), after.ops());
}

TEST(RemoveDeadOps, ConstantsToo) {
  Tensor x = input("x", f32, {1});
  const Graph after = remove_dead_ops(first_alone({exp(x, "y"), x + scalar(2.0f)}));
  EXPECT_THAT(after.ops(), testing::SizeIs(2));
}

TEST(RemoveDeadOps, KeepsInputsAndWeights) {
  Tensor x = input("x", f32, {4}), z = input("z", f32, {4}), w = weight("w", f32, {4});
  const Graph after = remove_dead_ops(first_alone({exp(x, "y"), z + w}));
  EXPECT_THAT(computed(after), ElementsAre("y"));
  EXPECT_EQ(after.arguments().size(), 3u);
}

TEST(RemoveDeadOps, KeepsEveryOutput) {
  Tensor x = input("x", f32, {4});
  Tensor y = exp(x, "y");
  const Graph graph({y, relu(y, "z")});
  EXPECT_EQ(remove_dead_ops(graph).ops(), graph.ops());
}

}  // namespace
}  // namespace emulsion
