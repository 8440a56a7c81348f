// What verify_nest says of branches: each broken nest is refused by the rule that it breaks.

#include <gtest/gtest.h>

#include <functional>

#include "dsl/operators.h"
#include "passes/lower/lower.h"
#include "passes/nest/verify_nest.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/nest/test_nests.h"

namespace emulsion {
namespace {

const Expr kBatch = size_value("B");

// y = 2 x, with two specializations.
LoopNest branched() {
  const Axis m("m", Extent::size("B"));
  Tensor y = compute("y", {m}, input("x", f32, {Extent::size("B")})(m) * 2.0f);
  Schedule schedule(y);
  schedule[y].specialize(kBatch == 4).unroll(m).specialize(kBatch >= 8).parallel(m);
  return lower(y, schedule);
}

// The nest with its outermost branch changed.
LoopNest changed(const std::function<void(Branch*)>& change) {
  LoopNest nest = branched();
  Branch branch = *nest.root->as<Branch>();
  change(&branch);
  nest.root = make_node(branch);
  return nest;
}

TEST(VerifyBranches, AcceptsWhatLowerMakes) { EXPECT_NO_THROW(verify_nest(branched())); }

TEST(VerifyBranches, AcceptsLoopsThatOneCaseHasAlone) {
  const Axis m("m", Extent::size("B")), mo("mo"), mi("mi");
  const Tensor y = compute("y", {m}, input("x", f32, {Extent::size("B")})(m) * 2.0f);
  Schedule schedule(y);
  schedule[y].specialize(kBatch == 4).split(m, mo, mi, 2);
  schedule[y].specialize(kBatch >= 8).split(m, mo, mi, 8);
  EXPECT_NO_THROW(verify_nest(lower(y, schedule)));
}

TEST(VerifyBranches, RefusesOneSide) {
  EXPECT_INTERNAL_ERROR(verify_nest(changed([](Branch* n) { n->otherwise = nullptr; })),
                        "a child that is null");
}

TEST(VerifyBranches, RefusesAConditionThatIsNotTheStages) {
  EXPECT_INTERNAL_ERROR(verify_nest(changed([](Branch* n) { n->condition = kBatch == 5; })),
                        "branch of y where its specialization 0 is not");
}

TEST(VerifyBranches, RefusesSidesInAnotherOrder) {
  EXPECT_INTERNAL_ERROR(
      verify_nest(changed([](Branch* n) { *n = Branch(*n->otherwise->as<Branch>()); })),
      "where its specialization 0 is not");
}

TEST(VerifyBranches, RefusesACaseThatNoBranchHas) {
  EXPECT_INTERNAL_ERROR(
      verify_nest(changed([](Branch* n) { n->otherwise = n->otherwise->as<Branch>()->otherwise; })),
      "behind 1 of its 2 specializations");
}

TEST(VerifyBranches, RefusesACaseThatTheStageHasNot) {
  LoopNest nest = branched();
  nest.stages[0].specializations.clear();
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "where its specialization 0 is not");
}

TEST(VerifyBranches, RefusesASideThatComputesNothing) {
  EXPECT_INTERNAL_ERROR(verify_nest(changed([](Branch* n) { n->holds = make_node(Block()); })),
                        "whose sides do not compute the same stages");
}

// y = few or many, which are each on one side: the one in storage of its own, the other in y.
LoopNest with_alternatives() {
  const Axis m("m", 10), k("k", Extent::size("B"));
  const Tensor y = compute("y", {m}, sum(k, input("x", f32, {10, k.extent()})(m, k)));
  Schedule schedule(y);
  schedule[y].cache_write("many").specialize(kBatch <= 4);
  schedule["many"].alternative(kBatch <= 4, "few").store_in_output("y");
  return lower(y, schedule);
}

TEST(VerifyBranches, AcceptsWhatOneSideAloneStores) {
  EXPECT_NO_THROW(verify_nest(with_alternatives()));
}

// Its storage is there, and what is read of it is not.
TEST(VerifyBranches, RefusesASideThatStoresAndComputesNothing) {
  LoopNest nest = with_alternatives();
  Branch branch = *nest.root->as<Branch>();
  Alloc alloc = *branch.holds->as<Alloc>();
  ASSERT_EQ(alloc.stage, "few");
  alloc.body = alloc.body->as<Block>()->children.back();
  branch.holds = make_node(alloc);
  nest.root = make_node(branch);
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "y reads few before its init");
}

TEST(VerifyBranches, RefusesAnUnknownSize) {
  LoopNest nest = branched();
  nest.stages[0].specializations[0].condition = size_value("C") == 4;
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "uses the unknown size C");
}

TEST(VerifyBranches, RefusesANumberForACondition) {
  LoopNest nest = branched();
  nest.stages[0].specializations[0].condition = kBatch;
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "a specialization that is no condition");
}

TEST(VerifyBranches, RefusesAConditionOverAnAxis) {
  LoopNest nest = branched();
  nest.stages[0].specializations[0].condition = axis_value("m") == 4;
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "a specialization that depends on m");
}

TEST(VerifyBranches, RefusesATransformOfALoopThatTheCaseHasNot) {
  LoopNest nest = branched();
  nest.stages[0].specializations[1].transforms.push_back(
      {LoopTransform::Kind::split, "q", "qo", "qi", 4, Tail::guard});
  EXPECT_INTERNAL_ERROR(verify_nest(nest), "a transform of q, which is no loop");
}

// Only B = 7 and 8 show it: between the sizes that are always tried.
TEST(VerifyBranches, TriesTheSizesThatConditionsName) {
  EXPECT_INTERNAL_ERROR(verify_nest(changed([](Branch* n) {
                          n->holds = edit<UopNode>(
                              n->holds, [](UopNode* uop) { uop->point[0] = uop->point[0] + 1; });
                        })),
                        "outside what is stored");
}

}  // namespace
}  // namespace emulsion
