// Nests whose kept storage is broken on purpose: each is refused for its own cause.

#include "passes/nest/verify_nest_storage.h"

#include <gtest/gtest.h>

#include "dsl/error.h"
#include "dsl/schedule.h"
#include "dsl/tensor.h"
#include "passes/lower/lower.h"
#include "passes/nest/verify_nest.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/nest/test_nests.h"

namespace emulsion {
namespace {

// z[i] = a[i] + a[i + 2], a slides along i: three kept, one new in each iteration.
LoopNest sliding_nest(const Extent& extent = 6) {
  const Axis i("i", extent), j("j", extent + 2);
  Tensor a = compute("a", {j}, input("in", f32, {extent + 2})(j) * 2.0f);
  Tensor z = compute("z", {i}, a(i) + a(i + 2));
  Schedule schedule(z);
  schedule[a].store_root().compute_at(z, i);
  return lower(z, schedule);
}

template <typename Kind>
LoopNest edited(const std::function<void(Kind*)>& change, const Extent& extent = 6) {
  LoopNest nest = sliding_nest(extent);
  nest.root = edit<Kind>(nest.root, change);
  return nest;
}

void refused(const LoopNest& nest, const std::string& cause) {
  EXPECT_TRUE(throws_with<InternalError>([&] { verify_nest_storage(nest); }, cause));
}

TEST(VerifyNestStorage, AcceptsAWindow) {
  EXPECT_NO_THROW(verify_nest_storage(sliding_nest()));
  EXPECT_NO_THROW(verify_nest_storage(sliding_nest(Extent::size("B"))));
}

TEST(VerifyNestStorage, AcceptsStorageOfEverything) {
  EXPECT_NO_THROW(verify_nest_storage(edited<Alloc>([](Alloc* node) {
    node->layout.folds = {0};
    node->extents = {int_constant(8)};
  })));
}

void fold_to(Alloc* node, int64_t size) {
  node->layout.folds = {size};
  node->extents = {int_constant(size)};
}

TEST(VerifyNestStorage, AcceptsTheSmallestFold) {
  EXPECT_NO_THROW(verify_nest_storage(edited<Alloc>([](Alloc* node) { fold_to(node, 3); })));
}

TEST(VerifyNestStorage, FindsAFoldTooSmallForOneComputation) {
  refused(edited<Alloc>([](Alloc* node) { fold_to(node, 2); }),
          "3 indices of a at once in storage folded to 2");
}

TEST(VerifyNestStorage, FindsAnElementWhosePlaceWasTaken) {
  // One new index an iteration, also in the first: two places, three are needed.
  LoopNest nest = edited<Alloc>([](Alloc* node) { fold_to(node, 2); });
  nest.root =
      edit<WindowNode>(nest.root, [](WindowNode* node) { node->extents = {int_constant(2)}; });
  refused(nest, "whose place was taken by another element");
}

TEST(VerifyNestStorage, FindsWhatTheFirstIterationLeavesOut) {
  refused(edited<WindowNode>([](WindowNode* node) { node->extents = {int_constant(1)}; }),
          "z reads a[2] before it is computed");
}

TEST(VerifyNestStorage, FindsWhatALaterIterationLeavesOut) {
  refused(edited<WindowNode>([](WindowNode* node) {
            const Expr first = axis_value("z.i") == int_constant(0);
            node->extents = {select(first, int_constant(3), int_constant(0))};
          }),
          "z reads a[3]");
}

// What verify_nest asks of layouts and hoisted allocs.
void misfits(const std::function<void(Alloc*)>& change, const std::string& cause) {
  EXPECT_TRUE(throws_with<InternalError>([&] { verify_nest(edited<Alloc>(change)); }, cause));
}

TEST(VerifyNestStorage, FindsAFoldThatIsNotItsExtent) {
  misfits([](Alloc* node) { node->layout.folds = {8}; },
          "storage of a folded to 8, the extent is 4");
}

TEST(VerifyNestStorage, FindsALayoutOfOtherAxes) {
  misfits(
      [](Alloc* node) {
        node->layout.alignments = {1, 16};
      },
      "with a layout that is not one of 1 axes");
}

TEST(VerifyNestStorage, FindsAnOrderWithoutAnAxis) {
  misfits([](Alloc* node) { node->layout.order = {1}; }, "in an order without axis 0");
}

TEST(VerifyNestStorage, FindsAnAllocThatItsHoistedAllocDoesNotFit) {
  LoopNest nest = sliding_nest();
  HoistedAlloc hoisted;
  hoisted.stage = "a";
  hoisted.extents = {int_constant(2)};
  hoisted.body = nest.root;
  nest.root = make_node(hoisted);
  EXPECT_TRUE(
      throws_with<InternalError>([&] { verify_nest(nest); }, "its hoisted alloc does not fit"));
}

TEST(VerifyNestStorage, LooksAtRunTimeSizes) {
  refused(edited<Alloc>([](Alloc* node) { fold_to(node, 2); }, Extent::size("B")), "folded to 2");
}

}  // namespace
}  // namespace emulsion
