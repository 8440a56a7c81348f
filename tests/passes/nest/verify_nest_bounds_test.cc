#include "passes/nest/verify_nest_bounds.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/passes/expect_error.h"
#include "tests/passes/nest/test_nests.h"

namespace emulsion {
namespace {

const Extent B = Extent::size("B");
const Expr kI = axis_value("i");

Expr read_x(const Expr& index) { return read_buffer("x", DType::f32, {index}); }

#define EXPECT_OUTSIDE(nest, cause) EXPECT_INTERNAL_ERROR(verify_nest_bounds(nest), cause)

TEST(VerifyNestBounds, AcceptsHandWrittenNests) {
  EXPECT_NO_THROW(verify_nest_bounds(linear_nest()));
  EXPECT_NO_THROW(verify_nest_bounds(linear_nest(B)));
  EXPECT_NO_THROW(verify_nest_bounds(packed_nest()));
}

TEST(VerifyNestBounds, AcceptsAReadUnderACondition) {
  Expr shifted = select(kI < 7, read_x(kI + 1), 0.0f);
  EXPECT_NO_THROW(verify_nest_bounds(pointwise_nest(8, shifted)));
}

TEST(VerifyNestBounds, LeavesOutWhatOnlyDataDecide) {
  Expr index = cast(i32, read_x(kI));
  EXPECT_NO_THROW(verify_nest_bounds(pointwise_nest(8, read_x(index))));
  EXPECT_NO_THROW(
      verify_nest_bounds(pointwise_nest(8, select(read_x(kI) < 0.0f, read_x(kI + 1), 0.0f))));
}

TEST(VerifyNestBounds, AcceptsALoopThatNeverRuns) {
  EXPECT_NO_THROW(verify_nest_bounds(pointwise_nest(0, read_x(kI + 100))));
}

TEST(VerifyNestBounds, RefusesAReadPastTheEnd) {
  EXPECT_OUTSIDE(pointwise_nest(8, read_x(kI + 1)),
                 "y reads x[8], outside what is stored: from [0], [8] on each axis");
}

TEST(VerifyNestBounds, RefusesAReadBeforeTheStart) {
  EXPECT_OUTSIDE(pointwise_nest(8, read_x(kI - 1)), "y reads x[-1]");
}

TEST(VerifyNestBounds, RefusesAReadPastTheEndForSomeSize) {
  EXPECT_OUTSIDE(pointwise_nest(B, read_x(kI * 2)), "y reads x[");
}

TEST(VerifyNestBounds, RefusesAReadOfATensorThatIsEmptyForSomeSize) {
  // As many iterations whatever B is, the index clamped into x: wrong for B = 0 alone.
  Expr clamped = max(min(kI, size_value("B") - 1), 0);
  LoopNest nest = pointwise_nest(4, read_x(clamped));
  nest.sizes = {"B"};
  nest.buffers[0].shape = {B};
  EXPECT_OUTSIDE(nest,
                 "y reads x[0], outside what is stored: from [0], [0] on each axis, at B = 0");
}

TEST(VerifyNestBounds, RefusesAReadInTheBranchThatIsTaken) {
  EXPECT_OUTSIDE(pointwise_nest(8, select(kI <= 7, read_x(kI + 1), 0.0f)), "y reads x[8]");
}

TEST(VerifyNestBounds, RefusesAReadInTheBranchForTheRest) {
  EXPECT_OUTSIDE(pointwise_nest(8, select(kI < 7, 0.0f, read_x(kI + 1))), "y reads x[8]");
}

// copy_nest(B) with a specialization for B >= 1000, each side shifted by so much.
LoopNest branched_nest(int shifted_there, int shifted_else) {
  LoopNest nest = copy_nest(B);
  const Expr condition = size_value("B") >= 1000;
  nest.stages[0].specializations = {{condition, {}}};
  const auto side = [&](int shift) {
    return loop_node("y", "i", size_value("B"),
                     uop_node(UopKind::store, "y", Part::pure, {v("y", "i") + shift}));
  };
  nest.root =
      make_node(Branch{"y", Part::pure, condition, side(shifted_there), side(shifted_else)});
  return nest;
}

TEST(VerifyNestBounds, AcceptsBothSidesOfABranch) {
  EXPECT_NO_THROW(verify_nest_bounds(branched_nest(0, 0)));
}

TEST(VerifyNestBounds, RefusesInTheSpecialization) {
  EXPECT_OUTSIDE(branched_nest(1, 0), "y writes y[1000]");
}

TEST(VerifyNestBounds, RefusesInTheGeneralCase) {
  EXPECT_OUTSIDE(branched_nest(0, 1), "y writes y[1]");
}

TEST(VerifyNestBounds, RefusesAReadInACondition) {
  EXPECT_OUTSIDE(pointwise_nest(8, select(read_x(kI + 1) < 0.0f, read_x(kI), 0.0f)),
                 "y reads x[8]");
}

TEST(VerifyNestBounds, RefusesAWritePastTheEndOfTheOutput) {
  LoopNest nest = linear_nest();
  nest.root = edit<UopNode>(nest.root, [](UopNode* node) { node->guards.clear(); });
  EXPECT_OUTSIDE(nest, "y writes y[5, 0]");
}

TEST(VerifyNestBounds, RefusesAWriteOutsideItsStorage) {
  LoopNest nest = linear_nest();
  nest.root = edit<Alloc>(nest.root, [](Alloc* node) { node->extents[1] = int_constant(7); });
  EXPECT_OUTSIDE(nest, "mm writes mm[0, 7], outside what is stored: from [0, 0], [2, 7]");
}

// masked_loads_nest() with another mask.
LoopNest masked_nest(GuardMask mask) {
  LoopNest nest = masked_loads_nest();
  nest.root = edit<UopNode>(nest.root, [=](UopNode* uop) {
    for (Guard& guard : uop->guards) guard.mask = mask;
  });
  return nest;
}

TEST(VerifyNestBounds, AcceptsStoresPastTheEndThatStorageHas) {
  EXPECT_NO_THROW(verify_nest_bounds(masked_loads_nest()));
  EXPECT_NO_THROW(verify_nest_bounds(masked_nest(GuardMask::instance)));
  EXPECT_NO_THROW(verify_nest_bounds(masked_nest(GuardMask::loads_and_stores)));
}

TEST(VerifyNestBounds, RefusesAStorePastTheAllocWhereOnlyLoadsAreMasked) {
  LoopNest nest = masked_loads_nest();
  nest.root = edit<Alloc>(nest.root, [](Alloc* node) { node->extents[0] = int_constant(10); });
  EXPECT_OUTSIDE(nest, "a writes a[11], outside what is stored: from [0], [10] on each axis");
}

TEST(VerifyNestBounds, RefusesAStorePastTheOutputWhereOnlyLoadsAreMasked) {
  LoopNest nest = linear_nest();
  nest.root = edit<UopNode>(nest.root, [](UopNode* uop) {
    for (Guard& guard : uop->guards) guard.mask = GuardMask::loads;
  });
  EXPECT_OUTSIDE(nest, "y writes y[5, 0]");
}

TEST(VerifyNestBounds, RefusesALoadPastTheEndWhereOnlyStoresAreMasked) {
  EXPECT_OUTSIDE(masked_nest(GuardMask::stores),
                 "a reads x[11], outside what is stored: from [0], [10] on each axis");
}

TEST(VerifyNestBounds, RefusesAReadOutsideTheStorage) {
  LoopNest nest = linear_nest();
  nest.stages[1].body = read_buffer("mm", DType::f32, {axis_value("m") + 1, axis_value("n")});
  EXPECT_OUTSIDE(nest, "y reads mm[2, 0]");
}

TEST(VerifyNestBounds, RefusesStorageThatStartsElsewhere) {
  LoopNest nest = linear_nest();
  nest.root = edit<Alloc>(nest.root, [](Alloc* node) { node->mins[0] = v("y", "mo"); });
  EXPECT_OUTSIDE(nest, "mm writes mm[");
}

TEST(VerifyNestBounds, SamplesNestsThatAreTooDeepToEnumerate) {
  // Six loops: more combinations than are tried. The last iteration of all of them still is.
  LoopNest nest = copy_nest(64);
  std::vector<LoopTransform> transforms;
  Expr index = int_constant(0);
  NodePtr node = uop_node(UopKind::store, "y", Part::pure, {index});
  for (int bit = 0; bit < 6; ++bit) index = index * 2 + v("y", "b" + std::to_string(bit));
  node = uop_node(UopKind::store, "y", Part::pure, {index + 1});
  for (int bit = 5; bit >= 0; --bit) {
    node = loop_node("y", "b" + std::to_string(bit), int_constant(2), node);
  }
  nest.root = node;
  EXPECT_OUTSIDE(nest, "y writes y[64]");
}

}  // namespace
}  // namespace emulsion
