// cut: which axes may be cut, where, and what may be said of their loops. precompute: of which axes
// there are parts.

#include <gtest/gtest.h>

#include "tests/illegal/illegal_case.h"

namespace emulsion {
namespace {

TEST_P(Illegal, IsRefusedForItsCause) { EXPECT_TRUE(refuses(GetParam())); }

// clang-format off
const IllegalCase kCuts[] = {
    // the axis
    {"CutOfAnUnknownAxis", "linear", "! y.cut(q, 4)", "expected an axis of y as it was written (m or n), got q; nearest: "},
    {"CutOfALoopThatASplitMakes", "linear", "y.split(n, no, ni, 5)\n! y.cut(no, 1)", "expected an axis of y as it was written (m or n), got no"},
    {"CutOfASum", "linear", "! mm.cut(m, 2)", "expected an operation that is no reduction, got mm; legal: cache_write"},
    {"CutOfASummedAxis", "linear", "! mm.cut(k, 2)", "expected an axis of mm as it was written (m or n), got k"},
    {"CutOfAnAccumulator", "linear", "mm.cache_write(acc)\n! acc.cut(n, 4)", "expected an operation that is no reduction, got acc"},
    {"CutOfAPart", "stencil", "a.compute_at(y, i)\nb.compute_at(y, i)\n! b.cut(i, 3)", "expected all of i of b to be computed at a time, got a part"},
    // the index
    {"CutAtTheStart", "linear", "! y.cut(n, 0)", "expected an index inside n, which has 10 steps, for all sizes, got 0"},
    {"CutAtTheEnd", "linear", "! y.cut(n, 10)", "which has 10 steps, for all sizes, got 10"},
    {"CutBehindTheEnd", "linear", "! y.cut(n, 11)", "which has 10 steps, for all sizes, got 11"},
    {"CutInFrontOfTheStart", "linear", "! y.cut(n, -1)", "which has 10 steps, for all sizes, got -1"},
    {"CutOfANumberAtASize", "batch", "! y.cut(n, B)", "which has 10 steps, for all sizes, got B"},
    {"CutOfASizeAtANumber", "batch", "! y.cut(m, 1)", "expected an index inside m, which has B steps, for all sizes, got 1"},
    {"CutAtANumberOfACaseThatIsShorter", "batch", "y.specialize(B >= 3)\n! y.cut(m, 4)", "which has B steps, for all sizes, got 4"},
    {"CutAtTheEndOfASize", "joined", "! y.cut(j, B + C + 8)", "which has B + C + 8 steps, for all sizes, got B + C + 8"},
    {"CutBehindTheEndOfASize", "joined", "! y.cut(j, 2*B)", "for all sizes, got 2*B"},
    {"CutAtAnUnknownSize", "joined", "! y.cut(j, Q)", "expected a run-time size (B or C), got 'Q'"},
    {"CutTwiceAtOneIndex", "linear", "y.cut(n, 4)\n! y.cut(n, 4)", "expected one cut of n at 4, got a second one; legal: one"},
    {"CutAgainInACase", "batch", "y.cut(n, 4)\ny.specialize(B == 1)\n! y.cut(n, 4)", "expected one cut of n at 4, got a second one"},
    {"CutsInNoOrder", "joined", "y.cut(j, B)\n! y.cut(j, C)", "expected an index that is before or behind B, where j is cut, for all sizes, got C"},
    {"CutsInTooManyPieces", "large", "y.cut(i, 10)\ny.cut(i, 20)\ny.cut(i, 30)\ny.cut(i, 40)\ny.cut(i, 50)\ny.cut(i, 60)\ny.cut(i, 70)\ny.cut(i, 80)\ny.cut(j, 10)\ny.cut(j, 20)\ny.cut(j, 30)\ny.cut(j, 40)\ny.cut(j, 50)\ny.cut(j, 60)\n! y.cut(j, 70)", "expected at most 64 pieces of y, got 72; legal: fewer cuts"},
    // the loops of a piece
    {"RoundUpOfACut", "linear", "biased.cut(n, 4)\n! biased.split(n, no, ni, 4, round_up)", "expected a tail of guard, predicate or shift_inwards, for nothing past the end of a piece may be computed, got round_up; legal: predicate"},
    {"PredicateLoadsOfACut", "linear", "biased.cut(n, 4)\n! biased.split(n, no, ni, 4, predicate_loads)", "got predicate_loads; legal: predicate"},
    {"PredicateStoresOfACut", "linear", "y.cut(n, 4)\n! y.split(n, no, ni, 4, predicate_stores)", "got predicate_stores; legal: predicate"},
    {"RoundUpOfAFusedCut", "diamond", "a.cut(j, 2)\na.fuse(i, j, t)\n! a.split(t, to, ti, 4, round_up)", "got round_up"},
    {"ShiftInAShortPiece", "linear", "y.cut(n, 4)\n! y.split(n, no, ni, 5, shift_inwards)", "expected an extent of at least 5, got 4; legal: guard or predicate"},
    {"ShiftInAPieceOfASize", "joined", "y.cut(j, B)\n! y.split(j, jo, ji, 4, shift_inwards)", "expected an extent of at least 4, got B"},
    {"TileOfACut", "linear", "y.cut(n, 4)\n! y.tensorize(n)", "expected no tile of y, whose n is cut; legal: one of them"},
    // other stages
    {"ComputeAtACutLoop", "linear", "y.cut(n, 4)\n! biased.compute_at(y, n)", "expected a loop of y around those of an axis that is cut, got n; legal: compute_at(y, m)"},
    {"ComputeAtAPartOfACutLoop", "linear", "y.cut(m, 2)\ny.split(m, mo, mi, 2)\n! biased.compute_at(y, mi)", "got mi; legal: compute_root()"},
    {"ComputeInsideACutLoop", "linear", "y.cut(m, 2)\n! biased.compute_at(y, n)", "expected a loop of y around those of an axis that is cut, got n; legal: compute_root()"},
    {"ComputeAtALoopThatACaseCuts", "batch", "y.specialize(B >= 4)\ny.cut(m, 4)\n! biased.compute_at(y, m)", "got m; legal: compute_root()"},
    {"ComputeWithACutLoop", "diamond", "p.cut(i, 2)\n! q.compute_with(p, i)", "expected a loop of p around those of an axis that is cut, got i; legal: loops of its own"},
    {"CutOfWhatSharesLoops", "diamond", "q.cut(j, 2)\n! q.compute_with(p, i)", "expected an operation of which no axis is cut, got q; legal: one of both"},
    {"JoinACutLoop", "diamond", "a.cut(i, 2)\n! p.compute_with(a, i)", "expected a loop of a around those of an axis that is cut, got i"},
};

const IllegalCase kParts[] = {
    {"PrecomputeOfAnUnknownAxis", "linear", "! y.precompute(q, s)", "expected an axis of y as it was written (m or n), got q; nearest: "},
    {"PrecomputeOfALoopThatASplitMakes", "linear", "y.split(n, no, ni, 5)\n! y.precompute(no, s)", "expected an axis of y as it was written (m or n), got no"},
    {"PrecomputeOfASummedAxis", "linear", "! mm.precompute(k, s)", "expected an axis of mm as it was written (m or n), got k"},
    {"PrecomputeOfWhatTakesNoTime", "linear", "! y.precompute(n, s)", "expected a part of y that takes long and depends on n alone, got none; legal: no precompute of it"},
    {"PrecomputeIntoAnOperation", "linear", "! y.precompute(n, mm)", "expected a name that no operation has, got mm; legal: mm_1"},
    {"PrecomputeBehindSpecialize", "batch", "y.specialize(B == 1)\n! y.precompute(n, s)", "expected a directive on loops"},
};
// clang-format on

INSTANTIATE_TEST_SUITE_P(Parts, Illegal, testing::ValuesIn(kParts), name_of_case);
INSTANTIATE_TEST_SUITE_P(Cuts, Illegal, testing::ValuesIn(kCuts), name_of_case);

}  // namespace
}  // namespace emulsion
