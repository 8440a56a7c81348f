// A directive that cannot be honoured is a ScheduleError that starts with the directive and names
// the cause; nothing is silently replaced, and no mistake of a user shows as an InternalError.
// Here: names, factors, kinds of loops and tails.

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "dsl/error.h"
#include "dsl/operators.h"
#include "passes/lower/lower.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/lower/lower_refuses.h"

namespace emulsion {
namespace {

// --- names of axes ------------------------------------------------------------------------------

TEST_F(LowerRefuses, UnknownAxis) {
  y().vectorize(q);
  refused("y.vectorize(q)", "expected a loop of y (m");
}

TEST_F(LowerRefuses, SplitOfAnUnknownAxis) {
  y().split(q, mo, mi, 2);
  refused("y.split(q, mo, mi, 2)", "got q");
}

TEST_F(LowerRefuses, AxisOfAnotherOperation) {
  y().unroll(k);
  refused("y.unroll(k)", "got k");
}

TEST_F(LowerRefuses, AxisThatASplitConsumed) {
  y().split(n, no, ni, 5).vectorize(n);
  refused("y.vectorize(n)", "got n");
}

TEST_F(LowerRefuses, AxisThatAFuseConsumed) {
  y().fuse(m, n, t).parallel(m);
  refused("y.parallel(m)", "got m");
}

TEST_F(LowerRefuses, SplitIntoANameThatIsTaken) {
  y().split(n, m, ni, 5);
  refused("y.split(n, m, ni, 5)", "got m");
}

TEST_F(LowerRefuses, SplitIntoOneNameTwice) {
  y().split(n, no, no, 5);
  refused("y.split(n, no, no, 5)", "got no twice");
}

TEST_F(LowerRefuses, SplitIntoANameThatWasConsumed) {
  y().split(n, no, ni, 5).split(m, n, mi, 2);
  refused("y.split(m, n, mi, 2)", "got n");
}

TEST_F(LowerRefuses, FuseIntoANameThatIsTaken) {
  Tensor z = compute("z", {m, n, k}, x_(m, k) + b_(n));
  Schedule schedule(z);
  schedule[z].fuse(m, n, k);
  refused(schedule, "z.fuse(m, n, k)", "got k");
}

TEST_F(LowerRefuses, ReorderThatNamesALoopTwice) {
  y().reorder({m, n, m});
  refused("y.reorder(m, n, m)", "got m twice");
}

TEST_F(LowerRefuses, ReorderOfAnUnknownLoop) {
  y().reorder({n, q});
  refused("y.reorder(n, q)", "got q");
}

TEST_F(LowerRefuses, FuseOfLoopsThatAreNotAdjacent) {
  mm().reorder({n, k, m}).fuse(m, n, t);
  refused("mm.fuse(m, n, t)", "expected n directly inside m");
}

TEST_F(LowerRefuses, FuseInsideOut) {
  y().fuse(n, m, t);
  refused("y.fuse(n, m, t)", "expected m directly inside n");
}

TEST_F(LowerRefuses, FuseOfAPureAndAReductionLoop) {
  mm().fuse(n, k, t);
  refused("mm.fuse(n, k, t)", "got one of each");
}

TEST_F(LowerRefuses, FuseOfALoopWithItself) {
  y().fuse(m, m, t);
  refused("y.fuse(m, m, t)", "m");
}

TEST_F(LowerRefuses, DirectiveWithTooFewAxes) {
  y().add(directive(DirectiveKind::split, {"n"}, 4));
  refused("y.split(n, 4)", "expected 3 axes, got 1");
}

TEST_F(LowerRefuses, ReorderOfNothing) {
  y().reorder({});
  refused("y.reorder()", "got 0");
}

// --- factors ------------------------------------------------------------------------------------

TEST_F(LowerRefuses, FactorOfZeroWhereItIsWritten) {
  EXPECT_TRUE(throws_with<ScheduleError>([&] { y().split(n, no, ni, 0); },
                                         "(factor) of split: expected a positive integer, got 0"));
  EXPECT_TRUE(throws_with<ScheduleError>([&] { y().vectorize(n, -4); }, "got -4"));
  EXPECT_TRUE(throws_with<ScheduleError>([&] { mm().pack(w_, n, 0); }, "pack"));
  EXPECT_TRUE(y().directives().empty());
}

TEST_F(LowerRefuses, FactorOfZeroInADirective) {
  y().add(directive(DirectiveKind::split, {"n", "no", "ni"}, 0));
  refused("y.split(n, no, ni)", "expected a positive integer, got 0");
}

TEST_F(LowerRefuses, NegativeFactorInADirective) {
  y().add(directive(DirectiveKind::split, {"n", "no", "ni"}, -3));
  refused("y.split(n, no, ni, -3)", "expected a positive integer, got -3");
}

TEST_F(LowerRefuses, FactorOfZeroInPack) {
  Schedule pack(y_);
  pack[mm_].add(directive(DirectiveKind::pack, {"n"}, 0, "w"));
  refused(pack, "mm.pack(w, n)", "expected a positive integer, got 0");
}

TEST_F(LowerRefuses, FactorsThatNoIndexHolds) {
  const int64_t huge = std::numeric_limits<int64_t>::max();
  for (int64_t factor : {int64_t{1} << 31, int64_t{1} << 40, huge}) {
    Schedule split(y_), pack(y_);
    split[y_].split(n, no, ni, factor);
    refused(split, "y.split(", "got " + std::to_string(factor));
    pack[mm_].pack(w_, n, factor);
    refused(pack, "mm.pack(", "got " + std::to_string(factor));
  }
}

TEST_F(LowerRefuses, PackThatIsTooLarge) {
  mm().pack(w_, n, 1 << 30);
  refused("mm.pack(w, n, 1073741824)", "bytes");
}

TEST_F(LowerRefuses, PackOfAConstantThatIsTooLarge) {
  Tensor c = constant("c", {2, 3}, std::vector<float>(6, 1));
  const Axis i("i", 2), j("j", 3);
  Tensor z = compute("z", {i, j}, c(i, j) * 2.0f);
  Schedule schedule(z);
  schedule[z].pack(c, j, 1 << 30);
  refused(schedule, "z.pack(c, j, 1073741824)", "bytes");
}

// --- kinds of loops -----------------------------------------------------------------------------

TEST_F(LowerRefuses, VectorizedLoopThatIsSplitLater) {
  y().vectorize(n).split(n, no, ni, 5);
  refused("y.split(n, no, ni, 5)", "vectorized already");
}

TEST_F(LowerRefuses, VectorizedLoopThatIsFusedLater) {
  y().vectorize(n).fuse(m, n, t);
  refused("y.fuse(m, n, t)", "vectorized already");
}

TEST_F(LowerRefuses, LoopOfTwoKinds) {
  y().parallel(m).unroll(m);
  refused("y.unroll(m)", "parallel already");
}

TEST_F(LowerRefuses, ParallelReduction) {
  mm().parallel(k);
  refused("mm.parallel(k)", "carries the sum of mm");
}

TEST_F(LowerRefuses, VectorizedReduction) {
  mm().vectorize(k);
  refused("mm.vectorize(k)", "rounded in the order of the loop; legal: rfactor(k, ...)");
}

TEST_F(LowerRefuses, VectorizedPartOfAReduction) {
  mm().split(k, Axis("ko"), Axis("ki"), 3).vectorize(Axis("ki"));
  refused("mm.vectorize(ki)", "carries the sum of mm");
}

TEST_F(LowerRefuses, TwoVectorizedLoops) {
  y().vectorize(m).vectorize(n);
  refused("y.vectorize(n)", "no vectorized loop inside a vectorized loop");
}

TEST_F(LowerRefuses, ParallelLoopInsideAVectorizedOne) {
  y().vectorize(m).parallel(n);
  refused("y.parallel(n)", "no parallel loop inside a vectorized loop");
}

TEST_F(LowerRefuses, VectorizeOfARunTimeExtent) {
  const Axis i("i", Extent::size("B"));
  Tensor z = compute("z", {i}, input("x", f32, {Extent::size("B")})(i) * 2.0f);
  Schedule schedule(z);
  schedule[z].vectorize(i);
  refused(schedule, "z.vectorize(i)", "expected a loop whose extent is a number, got B");
}

TEST_F(LowerRefuses, UnrollOfARunTimeExtent) {
  const Axis i("i", Extent::size("B"));
  Tensor z = compute("z", {i}, input("x", f32, {Extent::size("B")})(i) * 2.0f);
  Schedule schedule(z);
  schedule[z].split(i, no, ni, 4).unroll(no);
  refused(schedule, "z.unroll(no)", "expected a loop whose extent is a number");
}

// --- tails --------------------------------------------------------------------------------------

TEST_F(LowerRefuses, ShiftInwardsOfAReductionAxis) {
  mm().split(k, Axis("ko"), Axis("ki"), 4, Tail::shift_inwards);
  refused("mm.split(k, ko, ki, 4, shift_inwards)", "cannot compute a point twice");
}

TEST_F(LowerRefuses, ShiftInwardsOfAPureAxisOfAReduction) {
  mm().split(n, no, ni, 4, Tail::shift_inwards);
  refused("mm.split(n, no, ni, 4, shift_inwards)", "cannot compute a point twice");
}

TEST_F(LowerRefuses, ShiftInwardsOfATooShortAxis) {
  y().split(n, no, ni, 16, Tail::shift_inwards);
  refused("y.split(n, no, ni, 16, shift_inwards)", "expected an extent of at least 16, got 10");
}

TEST_F(LowerRefuses, ShiftInwardsOfARunTimeAxis) {
  const Axis i("i", Extent::size("B"));
  Tensor z = compute("z", {i}, input("x", f32, {Extent::size("B")})(i) * 2.0f);
  Schedule schedule(z);
  schedule[z].split(i, no, ni, 4, Tail::shift_inwards);
  refused(schedule, "z.split(i, no, ni, 4, shift_inwards)", "expected an extent of at least 4");
}

TEST_F(LowerRefuses, RoundUpOfAnOutput) {
  y().split(n, no, ni, 4, Tail::round_up);
  refused("y.split(n, no, ni, 4, round_up)", "nothing past the end of y may be written");
}

TEST_F(LowerRefuses, RoundUpOfAReductionAxis) {
  mm().split(k, Axis("ko"), Axis("ki"), 4, Tail::round_up);
  refused("mm.split(k, ko, ki, 4, round_up)", "nothing past the end of k may be added");
}

TEST_F(LowerRefuses, RoundUpOfALoopThatIsNoAxis) {
  biased().split(n, no, ni, 5).split(ni, Axis("nio"), Axis("nii"), 2, Tail::round_up);
  refused("biased.split(ni, nio, nii, 2, round_up)", "expected an axis of biased");
}

// --- graphs -------------------------------------------------------------------------------------

TEST(LowerRefusesGraphs, WhoseOutputIsAnArgumentOrAConstant) {
  const auto lowered = [](const Tensor& output) { lower(Graph(output), Schedule(output)); };
  EXPECT_TRUE(throws_with<Error>([&] { lowered(input("x", f32, {4})); },
                                 "output x: expected an operation that computes, got an input; "
                                 "legal: a copy, y(i) = x(i)"));
  EXPECT_TRUE(throws_with<Error>([&] { lowered(weight("w", f32, {4})); }, "got a weight"));
  EXPECT_TRUE(throws_with<Error>(
      [&] {
        lowered(constant("c", {2}, std::vector<float>{1, 2}));
      },
      "got a constant"));
}

}  // namespace
}  // namespace emulsion
