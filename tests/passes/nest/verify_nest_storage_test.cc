// Nests whose kept storage is broken on purpose: each is refused for its own cause.

#include "passes/nest/verify_nest_storage.h"

#include <gtest/gtest.h>

#include "dsl/error.h"
#include "dsl/operators.h"
#include "dsl/schedule.h"
#include "dsl/tensor.h"
#include "passes/lower/lower.h"
#include "passes/nest/verify_nest.h"
#include "passes/nest/visit_nest.h"
#include "tests/passes/check_nest.h"
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

// Each iteration computes `length` indices, from where the loop is.
void make_still(WindowNode* node, int64_t length) {
  node->slides.clear();
  node->extents = {int_constant(length)};
}

TEST(VerifyNestStorage, FindsAnElementWhosePlaceWasTaken) {
  // One new index an iteration, also in the first: two places, three are needed.
  LoopNest nest = edited<Alloc>([](Alloc* node) { fold_to(node, 2); });
  nest.root = edit<WindowNode>(nest.root, [](WindowNode* node) { make_still(node, 2); });
  refused(nest, "whose place was taken by another element");
}

TEST(VerifyNestStorage, FindsWhatTheFirstIterationLeavesOut) {
  refused(edited<WindowNode>([](WindowNode* node) { make_still(node, 1); }),
          "z reads a[2] before it is computed");
}

TEST(VerifyNestStorage, FindsWhatALaterIterationLeavesOut) {
  refused(edited<WindowNode>([](WindowNode* node) { node->slides[0].step = 0; }), "z reads a[3]");
}

// What verify_nest asks of a window that slides.
void no_window(const std::function<void(WindowNode*)>& change, const std::string& cause) {
  EXPECT_TRUE(throws_with<InternalError>([&] { verify_nest(edited<WindowNode>(change)); }, cause));
}

TEST(VerifyNestWindow, TellsWhatIsThereFromWhatIsComputed) {
  const LoopNest nest = sliding_nest();
  const WindowNode* window = nullptr;
  for_each_node(*nest.root, [&](const Node& node) {
    if (node.as<WindowNode>()) window = node.as<WindowNode>();
  });
  ASSERT_NE(window, nullptr);
  EXPECT_EQ(to_string(window->mins[0]), "z.i");
  EXPECT_EQ(to_string(window->extents[0]), "3");
  ASSERT_EQ(window->slides.size(), 1U);
  EXPECT_EQ(to_string(window->slides[0].loop), "z.i");
  EXPECT_EQ(window->slides[0].kept(), 2);
  for (int64_t step : {0, 4}) {
    const std::map<std::string, int64_t> at = {{"z.i", step}};
    EXPECT_EQ(evaluate_index(window->computed_mins()[0], at), step == 0 ? 0 : step + 2);
    EXPECT_EQ(evaluate_index(window->computed_extents()[0], at), step == 0 ? 3 : 1);
  }
}

TEST(VerifyNestWindow, OneThatSlidesDownComputesItsStart) {
  const Window window{0, axis_value("z.i"), 3, -1};
  EXPECT_EQ(window.fresh(), 1);
  EXPECT_EQ(to_string(computed_min(window, int_constant(5))), "5");
  EXPECT_EQ(to_string(computed_extent(window)), "select(z.i == 0, 3, 1)");
}

TEST(VerifyNestWindow, RefusesOneAlongALoopThatIsNotAroundIt) {
  no_window([](WindowNode* node) { node->slides[0].loop = axis_value("z.j"); },
            "window of a that slides along z.j, which is not around it");
  no_window([](WindowNode* node) { node->slides[0].loop = int_constant(0); },
            "window of a that slides along no loop");
  no_window([](WindowNode* node) { node->slides[0].loop = Expr(); },
            "window of a that slides along no loop");
}

TEST(VerifyNestWindow, RefusesOneOfAnotherRank) {
  no_window([](WindowNode* node) { node->mins.pop_back(); },
            "window of a with 0 mins and 1 extents for 1 axes");
}

TEST(VerifyNestWindow, RefusesOneOutsideItsAlloc) {
  LoopNest nest = sliding_nest();
  nest.root = nest.root->as<Alloc>()->body;
  EXPECT_TRUE(
      throws_with<InternalError>([&] { verify_nest(nest); }, "window of a outside its alloc"));
}

TEST(VerifyNestWindow, RefusesAnAxisTwiceAndOneThatIsNotThere) {
  no_window([](WindowNode* node) { node->slides.push_back(node->slides[0]); },
            "window of a that slides twice along axis 0");
  no_window([](WindowNode* node) { node->slides[0].axis = 1; }, "or has no such axis");
}

TEST(VerifyNestWindow, RefusesAnotherLengthThanThatOfTheRegion) {
  no_window([](WindowNode* node) { node->slides[0].length = 4; },
            "window of a of 3 that slides by 1 of 4");
}

TEST(VerifyNestWindow, RefusesAStepThatKeepsAllOrNothing) {
  for (int64_t step : {0, 3, -3, 5}) {
    no_window([&](WindowNode* node) { node->slides[0].step = step; },
              "that slides by " + std::to_string(step) + " of 3");
  }
}

TEST(VerifyNestWindow, RefusesALoopWhoseExtentSelectsWhereNoWindowSlides) {
  LoopNest nest = sliding_nest();
  nest.root = edit<WindowNode>(nest.root, [](WindowNode* node) { node->slides.clear(); });
  EXPECT_TRUE(throws_with<InternalError>(
      [&] { verify_nest(nest); }, "the extent of loop a.j depends on the loop variable z.i"));
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

TEST(VerifyNestStorage, FindsRoomForLessThanThereIs) {
  misfits([](Alloc* node) { node->layout.rooms = {3}; },
          "storage of a with room for 3 along axis 0, got 4");
  misfits(
      [](Alloc* node) {
        node->layout.rooms = {8, 8};
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

// c, kept over the rows of y, is computed at y.j, which is in parts in the interior of y.i alone:
// in its edges y.j takes all its steps, too, or the interior would read what is not there.
TEST(VerifyNestStorage, TakesAllStepsOfALoopThatIsInPartsSomewhere) {
  const Extent rows = Extent::size("B");
  const Axis i("i", rows), j("j", 9);
  const auto before = [](const Axis& axis) { return max(Expr(axis) - 1, 0); };
  const auto behind = [](const Axis& axis) {
    return min(Expr(axis) + 1, extent_value(axis.extent() - Extent(1)));
  };
  Tensor x = input("x", f32, {rows, 9});
  Tensor b = compute("b", {i, j}, x(i, before(j)) + x(i, behind(j)));
  Tensor c = compute("c", {i, j}, b(before(i), j) + b(behind(i), j));
  Schedule schedule(compute("y", {i, j}, c(before(i), j) + c(behind(i), j)));
  schedule["b"].compute_at("c", j);
  schedule["c"].compute_at("y", j).store_root().fold_storage(i, 5);
  schedule["y"].partition(i).partition(j);
  for (int64_t size : {0, 1, 2, 7, 12}) {
    EXPECT_TRUE(lowers(schedule.graph(), schedule, {{"B", size}})) << size;
  }
}

}  // namespace
}  // namespace emulsion
