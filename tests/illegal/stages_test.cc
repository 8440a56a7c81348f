// Directives that change what the stages are.

#include <gtest/gtest.h>

#include "tests/illegal/illegal_case.h"

namespace emulsion {
namespace {

TEST_P(Illegal, IsRefusedForItsCause) { EXPECT_TRUE(refuses(GetParam())); }

// clang-format off
const IllegalCase kStages[] = {
    // pack
    {"PackOfAnInput", "linear", "! mm.pack(x, m, 2)", "expected a weight or a constant (w), got x, which is an input; legal: to declare x with weight() in place of input()"},
    {"PackOfAnInputWhereNothingIsAWeight", "diamond", "! a.pack(x, i, 2)", "expected a weight or a constant (none), got x, which is an input; legal: to declare x with weight() in place of input()"},
    {"PackOfAStage", "linear", "! y.pack(biased, n, 2)", "expected a weight or a constant (w, b or v), got biased"},
    {"PackOfNobody", "linear", "! mm.pack(ww, n, 2)", "expected a weight or a constant (w, b or v), got ww"},
    {"PackAlongAnAxisOfAnother", "linear", "! mm.pack(w, m, 2)", "expected an axis that indexes w alone (k or n), got m"},
    {"PackAlongAnUnknownAxis", "linear", "! mm.pack(w, q, 2)", "expected an axis of mm as it was written (m, n or k), got q"},
    {"PackAlongASplitLoop", "linear", "mm.split(n, no, ni, 5)\n! mm.pack(w, ni, 5)", "expected an axis of mm as it was written (m, n or k), got ni"},
    {"PackAlongAnIndexThatIsNotAlone", "leaves", "! y.pack(s, j, 2)", "expected an axis that indexes s alone (none), got j"},
    {"PackTwice", "linear", "mm.pack(w, n, 5)\n! mm.pack(w, n, 2)", "expected a weight or a constant, not packed yet, got w"},
    {"PackOfAWeightThatItDoesNotRead", "linear", "! mm.pack(b, n, 5)", "expected a weight that mm reads (w), got b; legal: pack of b by biased"},
    {"PackByAnotherThanItsReader", "linear", "! y.pack(w, n, 5)", "expected a weight that y reads (v), got w; legal: pack of w by mm"},
    {"PackOfARunTimeExtent", "batch_vector", "! a.pack(table, i, 2)", "expected an extent that is a number, got B"},
    {"PackWhoseNameIsTaken", "leaves", "! y.pack(b, j, 3)", "expected that no buffer is called b_packed, got one; legal: another name for b_packed"},
    // cache_write
    {"CacheWriteIntoAnOperation", "linear", "! mm.cache_write(y)", "expected a name that no operation has, got y"},
    {"CacheWriteIntoAnInput", "linear", "! mm.cache_write(x)", "expected a name that no operation has, got x"},
    {"CacheWriteIntoItself", "linear", "! mm.cache_write(mm)", "expected a name that no operation has, got mm"},
    {"CacheWriteIntoASize", "batch", "! mm.cache_write(B)", "expected a new name, got B, which is taken"},
    {"CacheWriteAfterALoop", "linear", "mm.unroll(m)\n! mm.cache_write(acc)", "expected before the directives on this operation's loops"},
    {"CacheWriteTwice", "linear", "mm.cache_write(a1)\n! mm.cache_write(a2)", "got cache_write behind cache_write"},
    {"CacheWriteIntoAStageThatWasMade", "linear", "biased.cache_write(acc)\n! mm.cache_write(acc)", "expected a name that no operation has, got acc"},
    // alternative
    {"AlternativeOfAnOutputThatReduces", "batch_sum", "! y.alternative(B == 1, few)", "expected an operation that others read, or an output without a reduction, got y, an output that is a sum; legal: cache_write of y, and alternative of what that makes"},
    {"AlternativeIntoAnOperation", "batch", "! mm.alternative(B == 1, y)", "expected a name that no operation has, got y"},
    {"AlternativeIntoASize", "batch", "! mm.alternative(B == 1, B)", "expected a new name, got B, which is taken"},
    {"AlternativeAfterALoop", "batch", "mm.unroll(n)\n! mm.alternative(B == 1, few)", "expected before the directives on this operation's loops"},
    {"AlternativeBehindIt", "batch", "mm.specialize(B == 1)\n! mm.alternative(B == 1, few)", "behind specialize, got alternative; legal: in front"},
    {"AlternativeOfACopy", "batch", "mm.cache_write(acc)\n! mm.alternative(B == 1, few)", "expected alternative in front of cache_write, got it behind; legal: alternative first, and cache_write of either"},
    {"AlternativeOfASizeThatIsNotThere", "linear", "! mm.alternative(B == 1, few)", "B"},
    {"LoopOfTheAlternative", "batch", "mm.alternative(B == 1, few)\nfew.split(n, no, ni, 5)\n! mm.vectorize(ni)", "expected a loop of mm (m, n or k), got ni"},
    // compute_inline
    {"InlineOfAnOutput", "linear", "! y.compute_inline()", "expected an operation that is not an output"},
    {"InlineOfAReduction", "linear", "! mm.compute_inline()", "expected an operation without a reduction, got a sum"},
    {"InlineOfAMax", "rows", "! s.compute_inline()", "expected an operation without a reduction, got a sum"},
    {"InlineTwice", "linear", "biased.compute_inline()\n! biased.compute_inline()", "expected one compute_inline, got a second one"},
    {"LoopsOfAnInlinedOperation", "linear", "biased.compute_inline()\n! biased.vectorize(n)", "expected no other directive on an operation that is computed inline"},
    {"PlaceOfAnInlinedOperation", "linear", "biased.compute_inline()\n! biased.compute_at(y, m)", "expected no other directive on an operation that is computed inline"},
    {"MemoryOfAnInlinedOperation", "linear", "biased.compute_inline()\n! biased.store_in(heap)", "expected no other directive on an operation that is computed inline"},
    {"InlineOfWhatHasLoops", "linear", "biased.unroll(m)\n! biased.compute_inline()", "expected no other directive on an operation that is computed inline"},
};
// clang-format on

INSTANTIATE_TEST_SUITE_P(Stages, Illegal, testing::ValuesIn(kStages), name_of_case);

}  // namespace
}  // namespace emulsion
