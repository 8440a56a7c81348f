#include "passes/rewrite/clean_up.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dsl/operators.h"
#include "passes/fuse/fuse_epilogues.h"
#include "tests/passes/op_of.h"
#include "tests/passes/rewrite/check_rewrite.h"

namespace emulsion {
namespace {

using ::testing::ElementsAre;

Graph cleaned(const Graph& graph) {
  const Graph after = clean_up(graph);
  verify_graph(after);
  expect_same_values(graph, after);
  EXPECT_EQ(clean_up(after).ops(), after.ops());
  return after;
}

TEST(CleanUp, OnePassMakesWorkForAnother) {
  // (c / c) is 1, x * 1 is x, both exp(x) are one, and max(e, e) is e.
  Tensor x = input("x", f32, {4});
  Tensor c = scalar(3.0f);
  Tensor y = max(relu(x * (c / c)), relu(x), "m");
  const Graph after = cleaned(add(y, 1, "y"));
  EXPECT_THAT(computed(after), ElementsAre("relu", "y"));
  EXPECT_THAT(after.ops(), testing::SizeIs(3));
}

// Of a generator of random numbers, as noise has it, whose factors no 64 bits hold.
TEST(CleanUp, TakesValuesOfAxesBeyond64Bits) {
  const Axis i("i", 9);
  Expr state = i;
  for (int round = 0; round < 4; ++round) state = state * 1103515245 + 12345;
  const Graph after = clean_up(Graph(compute("y", {i}, max(state, state + 0) % 7)));
  verify_graph(after);
  EXPECT_THAT(computed(after), ElementsAre("y"));
}

TEST(CleanUp, OutputsKeepTheirNames) {
  Tensor x = input("x", f32, {4});
  const Graph after = cleaned(Graph({mul(x, 1, "a"), neg(-x, "b"), sub(x, 0, "c")}));
  ASSERT_EQ(after.outputs().size(), 3u);
  EXPECT_EQ(after.outputs()[2]->name, "c");
}

TEST(CleanUp, NothingToDoIsTheSameGraph) {
  Tensor x = input("x", f32, {4, 5}), w = weight("w", f32, {5, 6});
  const Graph graph(softmax(matmul(x, w)));
  EXPECT_EQ(clean_up(graph).ops(), graph.ops());
}

TEST(CleanUp, LeavesGroupsAlone) {
  Tensor x = input("x", f32, {4});
  const Graph graph = fuse_epilogues(Graph(exp(x * 1, "y")));
  EXPECT_EQ(clean_up(graph).ops(), graph.ops());
}

TEST(CleanUp, ChainsOfThousandsTakeOneRound) {
  Tensor t = input("x", f32, {4});
  for (int i = 0; i < 3000; ++i) t = -(-t) * 1;
  const Graph after = clean_up(Graph(exp(t, "y")));
  EXPECT_THAT(computed(after), ElementsAre("y"));
}

}  // namespace
}  // namespace emulsion
