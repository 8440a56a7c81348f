#include "passes/fuse/fused_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dsl/operators.h"
#include "passes/fuse/fuse_epilogues.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/rewrite/check_rewrite.h"

namespace emulsion {
namespace {

using ::testing::ElementsAre;

// A layer, whose result two read.
Graph two_layers() {
  const Tensor x = input("x", f32, {4, 6}), w = weight("w", f32, {6, 6});
  const Tensor y = relu(add(matmul(x, w, "mm"), weight("b", f32, {6}), "t"), "y");
  return Graph({relu(neg(matmul(y, w, "next"), "n"), "z"), y});
}

TEST(Unfuse, GivesTheOperationsBack) {
  const Graph graph = two_layers(), grouped = fuse_epilogues(graph);
  EXPECT_THAT(computed(grouped), ElementsAre("y", "z"));
  const Graph apart = unfuse(grouped);
  verify_graph(apart);
  EXPECT_EQ(computed(apart), computed(graph));
  EXPECT_EQ(apart.arguments(), graph.arguments());
  expect_same_values(graph, apart);
}

TEST(Unfuse, OutputsStayOutputsInTheirOrder) {
  const Graph apart = unfuse(fuse_epilogues(two_layers()));
  ASSERT_EQ(apart.outputs().size(), 2u);
  EXPECT_EQ(apart.outputs()[0]->name, "z");
  EXPECT_EQ(apart.outputs()[1], *apart.find("y"));
  EXPECT_EQ(apart.outputs()[1]->kind, OpKind::compute);
}

TEST(Unfuse, LeavesWhatHasNoGroups) { EXPECT_EQ(unfuse(two_layers()).ops().size(), 9u); }

Graph sum_and_quotient() {
  const Axis i("i", 64), k("k", 96), r("r", 96);
  const Tensor p = exp(input("x", f32, {64, 96}), "p");
  const Tensor total = compute("total", {i}, sum(r, p(i, r)));
  return Graph(compute("y", {i, k}, p(i, k) / total(i)));
}
LoopGroup whole(const Graph& graph) {
  return {LoopGroupKind::rows, {*graph.find("p"), *graph.find("total"), *graph.find("y")}, {0}};
}

TEST(WithLoopGroups, IsCheckedAsAGraphIs) {
  const Graph graph = sum_and_quotient();
  const OpPtr p = *graph.find("p"), total = *graph.find("total"), y = *graph.find("y");
  EXPECT_EQ(with_loop_groups(graph, {{LoopGroupKind::rows, {total, y}, {0}}}).loop_groups().size(),
            1U);
  EXPECT_INTERNAL_ERROR(with_loop_groups(graph, {{LoopGroupKind::row_blocks, {p, total}, {0}}}),
                        "p is in the loops of total, and read by y");
  EXPECT_INTERNAL_ERROR(with_loop_groups(graph, {{LoopGroupKind::rows, {y}, {0}}}),
                        "a loop group of 1 members");
}

// total is kept for z, which stood in front of y.
TEST(WithLoopGroups, WhoReadsWhatIsKeptStandsBehindTheGroup) {
  const Axis i("i", 64), k("k", 96), r("r", 96);
  const Tensor p = exp(input("x", f32, {64, 96}), "p");
  const Tensor total = compute("total", {i}, sum(r, p(i, r)));
  const Tensor z = compute("z", {i}, total.at({Expr(63) - i}));
  const Graph graph({z, compute("y", {i, k}, p(i, k) / total(i))});
  ASSERT_EQ(graph.ops().back()->name, "y");
  const Graph made = with_loop_groups(graph, {whole(graph)});
  EXPECT_EQ(made.ops().back()->name, "z");
  EXPECT_EQ(made.loop_groups()[0].members.back()->name, "y");
}

TEST(WithLoopGroups, OfNoneIsTheSameGraph) {
  const Graph graph = sum_and_quotient();
  EXPECT_EQ(with_loop_groups(graph, {}).ops(), graph.ops());
  EXPECT_TRUE(with_loop_groups(with_loop_groups(graph, {whole(graph)}), {}).loop_groups().empty());
}

}  // namespace
}  // namespace emulsion
