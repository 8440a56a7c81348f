#include "passes/nest/simplify_nest.h"

#include <gtest/gtest.h>

#include "dsl/schedule.h"
#include "dsl/tensor.h"
#include "passes/lower/make_nest.h"
#include "tests/passes/nest/test_nests.h"

namespace emulsion {
namespace {

// A stage computed inside a split one: what lowering writes has terms that cancel.
LoopNest tiled() {
  const Axis i("i", 10), j("j", 12), io("io"), ii("ii");
  Tensor a = compute("a", {j}, input("in", f32, {12})(j) * 2.0f);
  Tensor z = compute("z", {i}, a(i) + a(i + 2));
  Schedule schedule(z);
  schedule[z].split(i, io, ii, 4);
  schedule[a].compute_at(z, io);
  return make_nest(schedule.graph(), schedule);
}

TEST(SimplifyNest, CollectsTheTermsOfTheTree) {
  LoopNest nest = copy_nest(4);
  const Expr i = v("y", "i"), zero = int_constant(0);
  nest.root = edit<UopNode>(nest.root, [&](UopNode* uop) { uop->point = {i + i - i + zero}; });
  const LoopNest simple = simplify_nest(nest);
  const UopNode* uop = nullptr;
  for_each_node(*simple.root, [&](const Node& node) {
    if (node.as<UopNode>()) uop = node.as<UopNode>();
  });
  EXPECT_EQ(to_string(uop->point[0]), "y.i");
}

TEST(SimplifyNest, PrintsWhatIsInTheTree) {
  LoopNest nest = copy_nest(4);
  const Expr i = v("y", "i");
  nest.root = edit<UopNode>(nest.root, [&](UopNode* uop) { uop->point = {i + i - i}; });
  EXPECT_NE(to_string(nest).find("i = y.i + y.i - y.i"), std::string::npos) << to_string(nest);
  EXPECT_EQ(to_string(simplify_nest(nest)).find("y.i + y.i"), std::string::npos);
}

TEST(SimplifyNest, GivesTheSameTreeTheSecondTime) {
  const LoopNest once = simplify_nest(tiled());
  EXPECT_EQ(simplify_nest(once).root, once.root);
}

TEST(SimplifyNest, SimplifiesTheReadsOfBodies) {
  LoopNest nest = copy_nest(4);
  const Expr i = axis_value("i");
  nest.stages.front().body = read_buffer("x", DType::f32, {i + int_constant(1) - int_constant(1)});
  EXPECT_EQ(to_string(simplify_nest(nest).stages.front().body), "x[i]");
}

// Whoever runs it clamps it, before as after.
TEST(SimplifyNest, SimplifiesAReadThatNothingProvesToBeInside) {
  LoopNest nest = copy_nest(4);
  const Expr i = axis_value("i");
  nest.stages.front().body = read_buffer("x", DType::f32, {i + i - i + int_constant(2)});
  EXPECT_EQ(to_string(simplify_nest(nest).stages.front().body), "x[i + 2]");
}

TEST(SimplifyNest, LeavesTheConditionOfABranch) {
  LoopNest nest = copy_nest(4);
  const Expr condition = size_value("B") + size_value("B") == 4;
  nest.root = make_node(Branch{"y", Part::pure, condition, nest.root, nest.root});
  EXPECT_TRUE(simplify_nest(nest).root->as<Branch>()->condition.same_as(condition));
}

TEST(SimplifyNest, ANestWithoutATreeStaysSo) {
  LoopNest nest = copy_nest(4);
  nest.root = nullptr;
  EXPECT_EQ(simplify_nest(nest).root, nullptr);
}

}  // namespace
}  // namespace emulsion
