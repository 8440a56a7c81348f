// Schedules that random ones have found: each was accepted once and then failed inside Halide, or
// computed something else. As few directives as still show it.

#include <gtest/gtest.h>

#include <string>

#include "tests/random/check_schedule.h"

namespace emulsion {
namespace {

struct FoundSchedule {
  const char* name;
  const char* program;
  ScheduleLines lines;
};

class FoundSchedules : public testing::TestWithParam<FoundSchedule> {};

TEST_P(FoundSchedules, ChangeNothing) {
  const FoundSchedule& found = GetParam();
  for (const ScheduleProgram& program : schedule_programs()) {
    if (program.name != found.program) continue;
    EXPECT_NO_THROW(check_both_codes(program, found.lines));
    return;
  }
  FAIL() << "no program " << found.program;
}

const FoundSchedule kFound[] = {
    // Halide asked for as much of an operand as the last step would read without its guard.
    {"GuardedReductionOfAStage", "two_layers", {"m2.split(k, ko, ki, 5)"}},
    {"GuardedReductionOfAnInput", "two_layers", {"m1.split(k, ko, ki, 4)"}},
    {"GuardedReductionOfAWindow", "pooled", {"p.split(ky, kyo, kyi, 3)"}},
    {"GuardedReductionLongerThanTheWindow", "pooled", {"q.split(ky, ky, kyi, 4, predicate)"}},
    // Halide counts what is stored past the end to the region.
    {"LoadsMaskedAtTheRoot",
     "two_outputs",
     {"a.cache_write(acc)", "acc.split(i1, o, i1, 4, predicate_loads)"}},
    {"LoadsMaskedOverABatch", "rows", {"d.unroll(i0, 4, predicate_loads)"}},
    // A name for the mask of three loads hid it from the partition of loops, which dropped it.
    {"LoadsThatShareAMask",
     "blur",
     {"bx.tile(i, j, mo0, no0, mi0, ni0, 5, 4, predicate_loads)", "bx.unroll(no0)"}},
    // Halide's vectorizer has no mask of many lanes for a load of one element.
    {"LoadOfOneElementInMaskedLanes", "rows", {"d.vectorize(i1, 4, predicate_loads)"}},
    // The same where it takes a simplification to see that it is one element.
    {"LoadOfWhatBecomesOneElement",
     "pyramid",
     {"up.compute_at(y, j)", "y.split(i, o5, i5, 2, predicate)", "down.compute_at(up, j)",
      "wide.compute_at(y, i5)", "y.unroll(o5, 8)", "down.vectorize(i, 3, predicate_loads)"}},
    {"LoadsMaskedAtALoop",
     "convolution",
     {"c_pad.split(i0, o, i, 3, predicate_loads)", "c_pad.compute_at(c, kx)"}},
    // A reduction axis is shorter than the only loop that is left of it.
    {"GuardedReductionOfAFusedLoop", "pooled", {"q.split(kx, o4, i4, 4)", "q.fuse(ky, o4, f20)"}},
    {"GuardedReductionOfTwoAxes",
     "convolution",
     {"c.split(kx, kx, kxi, 5)", "c.unroll(ky, 4, predicate)"}},
    // Halide made a kernel for at least one row, and B was 0.
    {"InteriorWithoutSteps",
     "stencil_chain",
     {"b.split(i, o0, i0, 4)", "b.partition(o0)", "b.specialize(B > 0)", "y.parallel(i)",
      "a.split(i, o5, i5, 5)", "b.unroll(i0)", "a.compute_at(b, i0)"}},
    {"ClampedReadOverABatch",
     "two_layers",
     {"b1.vectorize(i0, 2, predicate_stores)", "h.copy_in(b1, copy)", "b1.compute_at(copy, i0)"}},
    {"FusedInnerLoopOverABatch", "transposed", {"back.fuse(i0, i1, f)"}},
    {"FusedInnerLoopOfAReduction", "batched", {"mm.fuse(b0, m, f)"}},
    {"FusedLoopThatReadsABatch", "transposed", {"y.fuse(i0, i1, f)"}},
    {"FusedReductionOverABatch", "batched", {"y.fuse(i0, i1, f4)", "y.fuse(f4, i2, f10)"}},
    // Halide slides where the nest does not, or along a clamped index, and starts before 0.
    {"KeptOverAGuardedReduction",
     "transposed",
     {"mm.split(k, o1, i1, 4)", "t.compute_at(mm, i1)", "t.store_at(mm, n)"}},
    {"KeptOverGuardedTiles",
     "pooled",
     {"neg.compute_at(q, kx)", "neg.store_at(q, n)", "q.tile(y, x, yo, xo, yi, xi, 5, 3)"}},
    {"CopyKeptOverGuardedTiles",
     "two_layers",
     {"m2.rfactor(k, part)", "m2.copy_in(part, copy)", "copy.tile(n, k, no, ko, ni, ki, 8, 2)",
      "part.compute_at(copy, ki)", "part.store_root()"}},
    {"CopyInsideWhatIsKeptOverGuardedTiles",
     "two_layers",
     {"m2.copy_in(h, copy1)", "m2.rfactor(k, part)", "m2.copy_in(part, copy2)",
      "copy1.compute_at(part, n)", "copy2.tile(n, k, no, ko, ni, ki, 8, 2)",
      "part.compute_at(copy2, ki)", "part.store_root()"}},
    {"KeptOverATileShiftedInwards",
     "rows",
     {"d3.compute_at(y, i0)", "d3.store_root()", "y.unroll(i1, 2, shift_inwards)",
      "y.reorder(i0, i1, i1_u)"}},
    {"AccumulatorInsideWhatIsKept",
     "two_layers",
     {"h.cache_write(acc)", "acc.compute_at(h, i1)", "h.compute_at(m2, k)", "h.store_root()",
      "h.reorder(i0, i1)"}},
    {"KeptWhereItsReadersAre",
     "residual",
     {"mm.compute_at(y, i1)", "h.compute_at(y, i1)", "h.store_root()"}},
    {"KeptForAReaderWhoseRegionIsClamped",
     "pooled",
     {"q.compute_at(y, i3)", "neg.compute_at(y, i3)", "neg.store_root()",
      "y.reorder(i0, i1, i2, i3)"}},
    // Halide computes what no step of a loop moves in the first one only.
    {"KeptOverALoopThatMovesNothing",
     "convolution",
     {"c_pad.compute_at(c, o)", "c_pad.store_at(c, x)", "c_pad.split(i0, io, ii, 1)"}},
    // Halide slid where the nest does not: what is kept over such loops is memory alone.
    {"KeptOverLoopsOfStartAndSum",
     "pooled",
     {"neg.compute_at(q, y)", "neg.store_at(q, n)", "padded.compute_inline()"}},
    {"FoldedOverALoopOfOneStep",
     "stencil_chain",
     {"a.split(i, o0, i0, 8, predicate)", "a.compute_at(b, i)", "a.store_root()",
      "a.fold_storage(i, 9)", "b.compute_at(y, i)", "b.store_at(y, i)",
      "b.vectorize(i, 3, guard)"}},
    // Halide computes as much of it as is read.
    {"MaskedLoadsOfMoreThanIsRead",
     "diamond",
     {"right.copy_in(a, copy)", "copy.tile(i, j, mo, no, mi, ni, 4, 2, predicate_loads)"}},
    // Halide looked for memory where it had found that nothing is computed.
    {"HoistedWhereASpecializationIsEmpty",
     "blur",
     {"y.reorder(i, j)", "y.copy_in(bx, copy)", "copy.compute_at(y, i)", "copy.hoist_storage(y, j)",
      "y.specialize(B > 0)"}},
    // Halide took the remainder of one step for that of all.
    {"CopyInAFusedLoopOfAGuardedReduction",
     "dot",
     {"y.split(r, o, i, 2, guard)", "y.fuse(o, i, f)", "y.copy_in(z, copy)",
      "copy.compute_at(y, f)"}},
    // Halide aligns no single element on the stack, and a masked vector as if all of it were there.
    {"MaskedVectorsInStorageOfOneElement",
     "residual",
     {"mm.tile(n, k, no, ko, ni, ki, 8, 3, predicate)", "mm.vectorize(ni, 4)",
      "mm.compute_at(y, i1)"}},
    // What one case does not read is not there to be fetched ahead.
    {"PrefetchOfOneOfTwoAlternatives",
     "clamped_chain",
     {"b.prefetch(a, j, 2)", "a.alternative(B >= 4, other)", "b.specialize(B >= 4)"}},
    {"PrefetchOfOneOfTwoPartialSums",
     "two_layers",
     {"m1.split(k, o, i, 2)", "m1.rfactor(i, part)", "m1.rfactor(i, parts)",
      "m1.prefetch(parts, m, 3)", "parts.alternative(B == 5, other)", "m1.specialize(B == 5)"}},
    // What one alternative computes in its loops was kept outside of both.
    {"StoredOutsideOfOneOfTwoAlternatives",
     "convolution",
     {"c.alternative(B == 1, other)", "cb.specialize(B == 1)", "other.copy_in(w, copy)",
      "copy.compute_at(other, c)", "copy.store_root()"}},
};

INSTANTIATE_TEST_SUITE_P(All, FoundSchedules, testing::ValuesIn(kFound),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace emulsion
