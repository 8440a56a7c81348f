// rfactor and atomic, and the tails of reductions.

#include <gtest/gtest.h>

#include "tests/illegal/illegal_case.h"

namespace emulsion {
namespace {

TEST_P(Illegal, IsRefusedForItsCause) { EXPECT_TRUE(refuses(GetParam())); }

// clang-format off
const IllegalCase kReductions[] = {
    {"RfactorOfAPureAxis", "linear", "! mm.rfactor(n, part)", "expected a reduction loop of mm (k), got n; nearest: k"},
    {"RfactorOfWhatHasNone", "linear", "! y.rfactor(n, part)", "expected a reduction loop of y (none), got n"},
    {"RfactorOfASplitAxis", "linear", "mm.split(k, ko, ki, 2)\n! mm.rfactor(k, part)", "expected a reduction loop of mm (ko or ki), got k; nearest: ko"},
    {"RfactorIntoAnOperation", "linear", "! mm.rfactor(k, biased)", "expected a name that no operation has, got biased"},
    {"RfactorIntoAnInput", "linear", "! mm.rfactor(k, x)", "expected a name that no operation has, got x"},
    {"RfactorAfterAPureSplit", "linear", "mm.split(n, no, ni, 5)\n! mm.rfactor(k, part)", "expected nothing before it but splits, with a tail of guard, fuses and reorders of reduction loops of mm, got split(n, no, ni, 5); legal: that one after it"},
    {"RfactorAfterAReorder", "linear", "mm.reorder(n, k)\n! mm.rfactor(k, part)", "got reorder(n, k); legal: that one after it"},
    {"RfactorAfterAKind", "linear", "mm.unroll(k)\n! mm.rfactor(k, part)", "got unroll(k); legal: that one after it"},
    {"RfactorAfterAPredicate", "linear", "mm.split(k, ko, ki, 4, predicate)\n! mm.rfactor(ki, part)", "got split(k, ko, ki, 4, predicate)"},
    {"CacheWriteBehindAnRfactor", "linear", "mm.split(k, ko, ki, 2)\nmm.rfactor(ki, part)\n! mm.cache_write(acc)", "expected one cache_write, or rfactors alone, for each operation, got cache_write behind rfactor"},
    {"RfactorOfALoopThatTheFirstTook", "linear", "mm.split(k, ko, ki, 2)\nmm.rfactor(ki, part)\n! mm.rfactor(ko, again)", "expected a reduction loop of mm (ki), got ko"},
    {"RfactorTwiceIntoOneStage", "linear", "mm.split(k, ko, ki, 4)\nmm.rfactor(ki, part)\n! mm.rfactor(ki, part)", "expected a name that no operation has, got part"},
    {"RfactorAfterACacheWrite", "linear", "mm.cache_write(acc)\n! mm.rfactor(k, part)", "expected a reduction loop of mm (none), got k"},
    {"RfactorOfTheOuterLoopOfARunTimeExtent", "batch_sum", "y.split(r, ro, ri, 4)\n! y.rfactor(ro, part)", "expected a loop whose extent is affine in the run-time sizes, got ro in (B + 3) / 4; legal: the inner loop of a split"},
    {"AtomicOfWhatHasNoReduction", "linear", "! y.atomic()", "expected a reduction, got y, which has none"},
    {"AtomicTwice", "linear", "mm.atomic()\n! mm.atomic()", "expected one atomic, got a second one"},
    {"AtomicSumOfFloats", "linear", "mm.atomic()\n! mm.parallel(k)", "got k, which carries the sum of mm, rounded in the order of the loop (atomic() is for integers); legal: rfactor(k, ...)"},
    {"AtomicSumOfDoubles", "linear_f64", "mm.atomic()\n! mm.parallel(k)", "rounded in the order of the loop (atomic() is for integers)"},
    {"AtomicVectorOfFloats", "linear", "mm.atomic()\n! mm.vectorize(k)", "rounded in the order of the loop (atomic() is for integers)"},
    {"ParallelIntegerSumWithoutAtomic", "integers", "! mm.parallel(k)", "got k, which carries the sum of mm; legal: atomic() on mm, or rfactor(k, ...)"},
    {"VectorizedIntegerSumWithoutAtomic", "integers", "! mm.vectorize(k)", "got k, which carries the sum of mm; legal: atomic() on mm"},
    {"SplitReductionOfOldFiles", "linear", "! mm.split_reduction(k, lane, part, 2)", "rfactor"},
    {"PredicateLoadsOfAReduction", "linear", "! mm.split(n, no, ni, 4, predicate_loads)", "a reduction loads what it stores, got predicate_loads"},
    {"PredicateStoresOfAReduction", "linear", "! mm.split(k, ko, ki, 4, predicate_stores)", "a reduction loads what it stores, got predicate_stores"},
    {"PredicateLoadsOfAnOutput", "linear", "! y.split(n, no, ni, 4, predicate_loads)", "nothing past the end of y may be written; legal: predicate"},
    {"PredicateLoadsOfAnOuterLoopNamedAsItsAxis", "linear", "biased.split(n, n, ni, 6)\n! biased.split(n, a, b, 4, predicate_loads)", "expected an axis of biased that is not split yet, got n"},
    {"PredicateLoadsOfAnInnerLoopNamedAsItsAxis", "linear", "biased.split(n, no, n, 6)\n! biased.split(n, a, b, 4, predicate_loads)", "expected an axis of biased that is not split yet, got n"},
    {"PredicateLoadsOfAFusedLoopNamedAsAnAxis", "linear", "biased.fuse(m, n, n)\n! biased.split(n, a, b, 4, predicate_loads)", "expected an axis of biased that is not split yet, got n"},
    {"PredicateLoadsInsideASplit", "linear", "biased.split(n, no, ni, 6)\n! biased.split(ni, a, b, 4, predicate_loads)", "expected an axis of biased that is not split yet, got ni"},
    {"PredicateStoresOfALoopThatASplitMade", "linear", "y.split(n, n, ni, 5)\n! y.split(n, no, a, 4, predicate_stores)", "expected an axis of y that is not split yet, got n; legal: guard or predicate"},
    {"PredicateStoresOfAFusedLoop", "linear", "y.fuse(m, n, t)\n! y.vectorize(t, 16, predicate_stores)", "expected an axis of y that is not split yet, got t"},
};
// clang-format on

INSTANTIATE_TEST_SUITE_P(Reductions, Illegal, testing::ValuesIn(kReductions), name_of_case);

}  // namespace
}  // namespace emulsion
