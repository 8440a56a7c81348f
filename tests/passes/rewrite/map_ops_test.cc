#include "passes/rewrite/map_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dsl/operators.h"
#include "passes/fuse/fuse_epilogues.h"
#include "tests/passes/op_of.h"
#include "tests/passes/rewrite/check_rewrite.h"

namespace emulsion {
namespace {

using ::testing::ElementsAre;

OpPtr negated(const OpPtr& op) {
  return op->kind == OpKind::compute && op->name == "a" ? with_body(op, -op->body) : op;
}

TEST(MapOps, TheSameGraphWhenNothingChanges) {
  const Graph graph(exp(input("x", f32, {4})));
  EXPECT_EQ(map_ops(graph, [](const OpPtr& op) { return op; }).ops(), graph.ops());
  EXPECT_EQ(map_ops(graph, negated).ops(), graph.ops());
}

TEST(MapOps, ReadersReadWhatIsNewAndOthersStay) {
  Tensor x = input("x", f32, {4});
  const Graph graph({exp(tanh(x, "a"), "b"), log(x, "c")});
  const Graph after = map_ops(graph, negated);
  verify_graph(after);
  EXPECT_NE(op_of(after, "b"), op_of(graph, "b"));
  EXPECT_EQ(op_of(after, "b")->body->args[0]->tensor, op_of(after, "a"));
  EXPECT_EQ(op_of(after, "c"), op_of(graph, "c"));
}

TEST(MapOps, AnOutputThatChangesIsAnOutput) {
  const Graph after = map_ops(Graph(tanh(input("x", f32, {4}), "a")), negated);
  verify_graph(after);
  EXPECT_EQ(after.outputs().front(), op_of(after, "a"));
}

TEST(MapOps, AnOpInThePlaceOfAnother) {
  Tensor x = input("x", f32, {4});
  const Graph graph(add(exp(x, "a"), exp(x, "b"), "y"));
  const OpPtr a = op_of(graph, "a");
  const Graph after = map_ops(graph, [&](const OpPtr& op) { return op->name == "b" ? a : op; });
  verify_graph(after);
  EXPECT_THAT(computed(after), ElementsAre("a", "y"));
}

TEST(MapOps, GroupsReadWhatIsNew) {
  Tensor x = input("x", f32, {4});
  Tensor a = tanh(x, "a");
  const Graph graph = fuse_epilogues(Graph({exp(relu(a, "r"), "y"), a}));
  const Graph after = map_ops(graph, negated);
  verify_graph(after);
  EXPECT_EQ(operands(*op_of(after, "y")).front(), op_of(after, "a"));
}

}  // namespace
}  // namespace emulsion
