// Where an operation is computed and stored.

#include <gtest/gtest.h>

#include "tests/illegal/illegal_case.h"

namespace emulsion {
namespace {

TEST_P(Illegal, IsRefusedForItsCause) { EXPECT_TRUE(refuses(GetParam())); }

// clang-format off
const IllegalCase kPlaces[] = {
    {"ComputeAtOfAnOutputAtWhatItReads", "linear", "! y.compute_at(mm, m)", "expected an operation that needs y, got mm, which comes before it; legal: compute_root()"},
    {"ComputeAtOfAnOutputAtALoopThatItHasNoAxisFor", "linear", "y.compute_root()\n! biased.compute_at(y, q)", "expected a loop of y (m or n), got q"},
    {"ComputeAtAnUnknownOperation", "linear", "! mm.compute_at(nobody, m)", "expected another operation that has loops (biased or y), got nobody"},
    {"ComputeAtAnInput", "linear", "! mm.compute_at(x, m)", "expected another operation that has loops (biased or y), got x"},
    {"ComputeAtItself", "linear", "! mm.compute_at(mm, m)", "expected another operation that has loops (biased or y), got mm"},
    {"ComputeAtAnUnknownLoop", "linear", "! mm.compute_at(y, q)", "expected a loop of y (m or n), got q; nearest: m"},
    {"ComputeAtALoopThatWasSplit", "linear", "y.split(n, no, ni, 5)\n! mm.compute_at(y, n)", "expected a loop of y (m, no or ni), got n"},
    {"ComputeAtALoopThatWasFused", "linear", "y.fuse(m, n, t)\n! biased.compute_at(y, m)", "expected a loop of y (t), got m"},
    {"ComputeAtAProducer", "linear", "! biased.compute_at(mm, m)", "expected an operation that needs biased, got mm, which comes before it; legal: compute_root()"},
    {"ComputeAtSomethingUnrelated", "diamond", "! a.compute_at(p, i)", "expected a loop around everything that reads a, got p.i, which is not around q; legal: compute_root()"},
    {"ComputeAtAReaderOfSeveral", "stencil", "! a.compute_at(b, i)", "expected a loop around everything that reads a, got b.i, which is not around y"},
    {"ComputeAtAnEnclosingLoopOneOfTwoReaders", "stencil", "b.compute_at(y, i)\n! a.compute_at(y, j)", "got y.j, which is not around b; legal: compute_at(y, i)"},
    {"ComputeAtInsideTheReadersPlace", "linear", "biased.compute_at(y, m)\n! mm.compute_at(y, n)", "got y.n, which is not around biased; legal: compute_at(y, m)"},
    {"ComputeAtATileInsideTheReadersPlace", "linear", "y.tile(m, n, mo, no, mi, ni, 2, 5)\nbiased.compute_at(y, no)\n! mm.compute_at(y, mi)", "got y.mi, which is not around biased; legal: compute_at(y, no)"},
    {"ComputeAtInsideAVectorized", "linear", "y.vectorize(n)\n! biased.compute_at(y, n)", "expected a loop outside the vectorized loop n of y, got n; legal: compute_at(y, m)"},
    {"ComputeAtInsideAnOuterVectorized", "linear", "y.vectorize(m)\n! biased.compute_at(y, n)", "expected a loop outside the vectorized loop m of y, got n; legal: compute_root()"},
    {"ComputeAtTheLanes", "linear", "y.vectorize(n, 5)\n! biased.compute_at(y, n_v)", "expected a loop outside the vectorized loop n_v of y, got n_v; legal: compute_at(y, n)"},
    {"ComputeAtAnInlinedOperation", "linear", "biased.compute_inline()\n! mm.compute_at(biased, m)", "got biased"},
    {"ComputeAtOutsideTheLoopThatMayBeEmpty", "first_in_rows", "! p.compute_at(y, m)", "expected a loop that runs 0 times whenever p is empty, or one inside such a loop, got y.m while axis i has the run-time extent B; legal: compute_root()"},
    {"ComputeAtAPartOfTheLoopThatMayBeEmpty", "first_in_rows", "y.split(n, no, ni, 4)\ny.reorder(m, no, ni)\n! p.compute_at(y, ni)", "expected a loop that runs 0 times whenever p is empty, or one inside such a loop, got y.ni while axis i has the run-time extent B; legal: compute_root()"},
    {"ComputeAtOutsideTheReductionThatMayBeEmpty", "first_in_sums", "! p.compute_at(y, m)", "expected a loop that runs 0 times whenever p is empty, or one inside such a loop, got y.m while axis i has the run-time extent B; legal: compute_root()"},
    {"ComputeAtUnderAConditionOnTheSize", "first_if_there", "! p.compute_at(y, m)", "expected a loop that runs 0 times whenever p is empty, or one inside such a loop, got y.m while axis i has the run-time extent B; legal: compute_root()"},
    {"ComputeAtALoopOfOneStepMore", "one_more", "! p.compute_at(y, n)", "expected a loop that runs 0 times whenever p is empty, or one inside such a loop, got y.n while axis i has the run-time extent B; legal: compute_root()"},
    {"ComputeAtAfterComputeRoot", "linear", "mm.compute_root()\n! mm.compute_at(y, m)", "expected one compute_at or compute_root, got a second one"},
    {"ComputeRootAfterComputeAt", "linear", "biased.compute_at(y, m)\n! biased.compute_root()", "expected one compute_at or compute_root, got a second one"},
    {"ComputeAtTwice", "linear", "biased.compute_at(y, m)\n! biased.compute_at(y, m)", "got a second one; legal: either"},
    {"ComputeAtWhereTheReaderIsNotEmptyWithIt", "rows", "! s.compute_at(y, m)", "expected a loop around everything that reads s, got y.m, which is not around d; legal: compute_root(), or d.compute_inline()"},
    // storage
    {"StoreAtWithoutComputeAt", "linear", "! mm.store_at(y, m)", "expected together with compute_at"},
    {"StoreAtAnUnknownOperation", "linear", "biased.compute_at(y, m)\n! biased.store_at(nobody, m)", "expected another operation that has loops (mm or y), got nobody"},
    {"StoreAtAnUnknownLoop", "linear", "biased.compute_at(y, m)\n! biased.store_at(y, q)", "expected a loop of y (m or n), got q"},
    {"StoreAtInsideComputeAt", "linear", "biased.compute_at(y, m)\n! biased.store_at(y, n)", "store_at"},
    {"StoreInTwice", "linear", "mm.store_in(heap)\n! mm.store_in(stack)", "expected one store_in, got a second one; legal: either"},
    {"StoreInOfAnOutput", "linear", "! y.store_in(stack)", "expected an operation that is not an output"},
    {"RegistersForSomethingLarge", "large", "! a.store_in(registers)", "expected a region of a constant size of at most 32768 bytes, got 40000 bytes; legal: heap"},
    {"StackForSomethingLarge", "large", "! a.store_in(stack)", "at most 32768 bytes, got 40000 bytes"},
    {"StackForARunTimeSize", "batch_vector", "! a.store_in(stack)", "expected a region of a constant size of at most 32768 bytes, got one that depends on a run-time size; legal: heap"},
    {"RegistersForARunTimeSize", "batch", "! mm.store_in(registers)", "got one that depends on a run-time size"},
};
// clang-format on

INSTANTIATE_TEST_SUITE_P(Places, Illegal, testing::ValuesIn(kPlaces), name_of_case);

}  // namespace
}  // namespace emulsion
