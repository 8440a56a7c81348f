// specialize: its condition, and what may stand behind it.

#include <gtest/gtest.h>

#include "tests/illegal/illegal_case.h"

namespace emulsion {
namespace {

TEST_P(Illegal, IsRefusedForItsCause) { EXPECT_TRUE(refuses(GetParam())); }

// clang-format off
const IllegalCase kSpecializations[] = {
    {"ConditionOverAnAxis", "batch", "! y.specialize(m == 1)", "m"},
    {"ConditionWithoutASize", "batch", "! y.specialize(1 == 1)", "expected a condition over run-time sizes"},
    {"ConditionThatIsANumber", "batch", "! y.specialize(B)", "expected a condition over run-time sizes"},
    {"ConditionOfASizeThatIsNotThere", "linear", "! y.specialize(B == 1)", "B"},
    {"NoCondition", "batch", "! y.specialize()", "expected an expression, got ')'"},
    {"PlaceBehindIt", "batch", "mm.specialize(B == 1)\n! mm.compute_at(y, m)", "behind specialize, got compute_at; legal: in front of the first specialize"},
    {"MemoryBehindIt", "batch", "mm.specialize(B == 1)\n! mm.store_in(heap)", "behind specialize, got store_in; legal: in front"},
    {"PackBehindIt", "batch", "mm.specialize(B == 1)\n! mm.pack(w, n, 5)", "behind specialize, got pack; legal: in front"},
    {"RfactorBehindIt", "batch", "mm.specialize(B == 1)\n! mm.rfactor(k, part)", "behind specialize, got rfactor; legal: in front"},
    {"ReductionSplitBehindIt", "batch", "mm.specialize(B == 1)\n! mm.split(k, ko, ki, 2)", "expected a loop of no reduction axis behind specialize, got k"},
    {"ReductionLoopsReorderedBehindIt", "batch", "mm.split(k, ko, ki, 5)\nmm.specialize(B == 1)\n! mm.reorder(ko, n, ki)", "expected the reduction loops in their order behind specialize, ko, ki, got ki, ko; legal: in front of the first specialize"},
    {"ConditionTwice", "batch", "y.specialize(B == 1)\n! y.specialize(B == 1)", "expected a condition that y has no specialization for yet, got B == 1; legal: what stands behind it, behind the first"},
    {"ConditionTwiceWithAnotherBetween", "batch", "y.specialize(B == 1)\ny.specialize(B >= 8)\ny.unroll(n)\n! y.specialize(B == 1)", "expected a condition that y has no specialization for yet, got B == 1"},
    {"PrefetchAtALoopThatACaseVectorizes", "batch", "! mm.prefetch(x, m, 1)\nmm.specialize(B == 8)\nmm.vectorize(m)", "expected a serial or parallel loop outside vectorized ones, got m, which is vectorized where B == 8; legal: a serial or parallel loop around it"},
    {"PrefetchAtALoopThatACaseUnrolls", "batch", "! mm.prefetch(x, m, 1)\nmm.specialize(B == 4)\nmm.unroll(m)", "got m, which is unrolled where B == 4"},
    {"PrefetchInsideALoopThatACaseVectorizes", "batch", "! mm.prefetch(w, k, 1)\nmm.specialize(B == 4)\nmm.vectorize(m)", "got k inside m, which is vectorized where B == 4"},
    {"PrefetchAtALoopThatACaseSplits", "batch", "! mm.prefetch(x, m, 1)\nmm.specialize(B == 4)\nmm.split(m, mo, mi, 2)", "expected a loop that stays, got m, which another directive takes where B == 4; legal: mo, mi, n, k"},
    {"RoundUpBehindIt", "batch", "biased.specialize(B >= 4)\n! biased.split(n, no, ni, 4, round_up)", "expected a tail that stores nothing past the end behind specialize, got round_up"},
    {"PredicateLoadsBehindIt", "batch", "biased.specialize(B >= 4)\n! biased.split(n, no, ni, 4, predicate_loads)", "behind specialize, got predicate_loads"},
    {"UnrollOfAnExtentThatIsNotKnown", "batch", "y.specialize(B >= 4)\n! y.unroll(m)", "expected a loop whose extent is a number, got B"},
    {"VectorizeOfAnExtentThatIsNotKnown", "batch", "y.specialize(B % 4 == 0)\n! y.vectorize(m)", "expected a loop whose extent is a number, got B; legal: vectorize(m, 8)"},
    {"ShiftInwardsOfWhatMayBeShorter", "batch", "y.specialize(B >= 4)\n! y.split(m, mo, mi, 8, shift_inwards)", "expected an extent of at least 8, got B; legal: guard or predicate, or a factor of 4"},
    {"LoopThatTheCaseSplitAway", "batch", "y.specialize(B == 1)\ny.split(n, no, ni, 5)\n! y.vectorize(n)", "expected a loop of y (m, no or ni), got n"},
    {"LoopOfAnotherCase", "batch", "y.specialize(B == 1)\ny.split(n, no, ni, 5)\ny.specialize(B == 2)\n! y.vectorize(ni)", "got ni; nearest: n"},
    {"VectorizedInsideVectorizedInACase", "batch", "y.vectorize(n)\ny.specialize(B == 4)\n! y.vectorize(m)", "expected no vectorized loop inside a vectorized loop, got n inside m"},
    {"ParallelInsideVectorizedInTheGeneralCase", "batch", "y.split(m, mo, mi, 4)\ny.vectorize(mi)\n! y.parallel(n)\ny.specialize(B == 4)\ny.reorder(mi, n)", "expected no parallel loop inside a vectorized loop, got n inside mi; legal: reorder(mi, n)"},
    {"ParallelInsideVectorizedInACaseBeforeAnother", "batch", "y.split(m, mo, mi, 4)\ny.vectorize(mi)\ny.specialize(B >= 4)\n! y.parallel(n)\ny.specialize(B == 1)\ny.unroll(n)", "expected no parallel loop inside a vectorized loop, got n inside mi"},
    {"ComputeAtALoopThatACaseChanges", "batch", "y.specialize(B == 1)\ny.reorder(m, n)\n! biased.compute_at(y, m)", "expected a loop that y has in every case, inside the same loops, got m, which specialize(B == 1) changes"},
    {"ComputeAtALoopThatACaseVectorizes", "batch", "y.specialize(B == 4)\ny.vectorize(m)\n! biased.compute_at(y, m)", "expected a loop outside the vectorized loop m of y, got m; legal: compute_root()"},
};
// clang-format on

INSTANTIATE_TEST_SUITE_P(Specializations, Illegal, testing::ValuesIn(kSpecializations),
                         name_of_case);

}  // namespace
}  // namespace emulsion
