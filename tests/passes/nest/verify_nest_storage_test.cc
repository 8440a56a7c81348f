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

LoopNest edited(const std::function<void(Node*)>& change, const Extent& extent = 6) {
  LoopNest nest = sliding_nest(extent);
  nest.root = edit(nest.root, change);
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
  EXPECT_NO_THROW(verify_nest_storage(edited([](Node* node) {
    if (node->kind != NodeKind::alloc) return;
    node->layout.folds = {0};
    node->extents = {int_constant(8)};
  })));
}

void fold_to(Node* node, int64_t size) {
  if (node->kind != NodeKind::alloc) return;
  node->layout.folds = {size};
  node->extents = {int_constant(size)};
}

TEST(VerifyNestStorage, AcceptsTheSmallestFold) {
  EXPECT_NO_THROW(verify_nest_storage(edited([](Node* node) { fold_to(node, 3); })));
}

TEST(VerifyNestStorage, FindsAFoldTooSmallForOneComputation) {
  refused(edited([](Node* node) { fold_to(node, 2); }),
          "3 indices of a at once in storage folded to 2");
}

TEST(VerifyNestStorage, FindsAnElementWhosePlaceWasTaken) {
  // One new index an iteration, also in the first: two places, three are needed.
  refused(edited([](Node* node) {
            fold_to(node, 2);
            if (node->kind == NodeKind::produce) node->extents = {int_constant(2)};
          }),
          "whose place was taken by another element");
}

TEST(VerifyNestStorage, FindsWhatTheFirstIterationLeavesOut) {
  refused(edited([](Node* node) {
            if (node->kind == NodeKind::produce) node->extents = {int_constant(1)};
          }),
          "z reads a[2] before it is computed");
}

TEST(VerifyNestStorage, FindsWhatALaterIterationLeavesOut) {
  refused(edited([](Node* node) {
            if (node->kind == NodeKind::produce) {
              const Expr first = axis_value("z.i") == int_constant(0);
              node->extents = {select(first, int_constant(3), int_constant(0))};
            }
          }),
          "z reads a[3]");
}

// What verify_nest asks of layouts and reserved memory.
void misfits(const std::function<void(Node*)>& change, const std::string& cause) {
  EXPECT_TRUE(throws_with<InternalError>([&] { verify_nest(edited(change)); }, cause));
}

TEST(VerifyNestStorage, FindsAFoldThatIsNotItsExtent) {
  misfits(
      [](Node* node) {
        if (node->kind == NodeKind::alloc) node->layout.folds = {8};
      },
      "storage of a folded to 8, the extent is 4");
}

TEST(VerifyNestStorage, FindsALayoutOfOtherAxes) {
  misfits(
      [](Node* node) {
        if (node->kind == NodeKind::alloc) node->layout.alignments = {1, 16};
      },
      "with a layout that is not one of 1 axes");
}

TEST(VerifyNestStorage, FindsAnOrderWithoutAnAxis) {
  misfits(
      [](Node* node) {
        if (node->kind == NodeKind::alloc) node->layout.order = {1};
      },
      "in an order without axis 0");
}

TEST(VerifyNestStorage, FindsAnAllocThatItsReserveDoesNotFit) {
  LoopNest nest = sliding_nest();
  auto reserve = std::make_shared<Node>();
  reserve->kind = NodeKind::reserve;
  reserve->stage = "a";
  reserve->extents = {int_constant(2)};
  reserve->children = {nest.root};
  nest.root = reserve;
  EXPECT_TRUE(throws_with<InternalError>([&] { verify_nest(nest); }, "its reserve does not fit"));
}

TEST(VerifyNestStorage, LooksAtRunTimeSizes) {
  refused(edited([](Node* node) { fold_to(node, 2); }, Extent::size("B")), "folded to 2");
}

}  // namespace
}  // namespace emulsion
