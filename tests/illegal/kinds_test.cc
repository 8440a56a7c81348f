// Kinds of loops: what a vectorized, parallel or unrolled loop may be, and may not become.

#include <gtest/gtest.h>

#include "tests/illegal/illegal_case.h"

namespace emulsion {
namespace {

TEST_P(Illegal, IsRefusedForItsCause) { EXPECT_TRUE(refuses(GetParam())); }

// clang-format off
const IllegalCase kKinds[] = {
    // a loop that a later directive breaks
    {"SplitOfAVectorized", "linear", "y.vectorize(n)\n! y.split(n, no, ni, 5)", "expected a serial loop, got n, which is vectorized already; legal: split first"},
    {"SplitOfAVectorizedInner", "linear", "y.split(n, no, ni, 5)\ny.vectorize(ni)\n! y.split(ni, a, b, 2)", "expected a serial loop, got ni, which is vectorized already; legal: split first"},
    {"SplitOfLanes", "linear", "y.vectorize(n, 5)\n! y.split(n_v, a, b, 2)", "expected a serial loop, got n_v, which is vectorized already"},
    {"SplitOfAnUnrolled", "linear", "mm.unroll(k)\n! mm.split(k, ko, ki, 2)", "expected a serial loop, got k, which is unrolled already; legal: split first"},
    {"SplitOfAParallel", "linear", "y.parallel(m)\n! y.split(m, mo, mi, 2)", "expected a serial loop, got m, which is parallel already; legal: split first"},
    {"TileOfAParallel", "linear", "y.parallel(m)\n! y.tile(m, n, mo, no, mi, ni, 2, 5)", "expected a serial loop, got m, which is parallel already"},
    {"VectorizeWithLanesOfAnUnrolled", "linear", "y.unroll(n)\n! y.vectorize(n, 5)", "expected a serial loop, got n, which is unrolled already; legal: split first"},
    {"FuseOfAVectorizedInner", "linear", "y.vectorize(n)\n! y.fuse(m, n, t)", "expected a serial loop, got n, which is vectorized already; legal: fuse first"},
    {"FuseOfAParallelOuter", "linear", "y.parallel(m)\n! y.fuse(m, n, t)", "expected a serial loop, got m, which is parallel already; legal: fuse first"},
    {"FuseOfUnrolled", "linear", "y.unroll(m)\ny.unroll(n)\n! y.fuse(m, n, t)", "expected a serial loop, got m, which is unrolled already; legal: fuse first"},
    // two kinds
    {"UnrollOfAParallel", "linear", "y.parallel(m)\n! y.unroll(m)", "got m, which is parallel already; legal: one kind for a loop"},
    {"VectorizeOfAParallel", "linear", "y.parallel(n)\n! y.vectorize(n)", "got n, which is parallel already; legal: one kind for a loop"},
    {"ParallelOfAnUnrolled", "linear", "y.unroll(m)\n! y.parallel(m)", "got m, which is unrolled already; legal: one kind for a loop"},
    {"VectorizeOfAnUnrolled", "linear", "y.unroll(n)\n! y.vectorize(n)", "got n, which is unrolled already; legal: one kind for a loop"},
    {"ParallelOfAVectorized", "linear", "y.vectorize(n)\n! y.parallel(n)", "got n, which is vectorized already; legal: one kind for a loop"},
    {"UnrollOfAVectorized", "linear", "mm.vectorize(n)\n! mm.unroll(n)", "got n, which is vectorized already; legal: one kind for a loop"},
    // what may be inside a vectorized loop
    {"VectorizedInsideVectorized", "linear", "y.vectorize(m)\n! y.vectorize(n)", "expected no vectorized loop inside a vectorized loop, got n inside m"},
    {"VectorizedAroundVectorized", "linear", "y.vectorize(n)\n! y.vectorize(m)", "expected no vectorized loop inside a vectorized loop, got n inside m"},
    {"ParallelInsideVectorized", "linear", "y.vectorize(m)\n! y.parallel(n)", "expected no parallel loop inside a vectorized loop, got n inside m; legal: reorder(m, n)"},
    {"ReorderedIntoAVectorized", "linear", "y.parallel(m)\ny.vectorize(n)\n! y.reorder(m, n)", "expected no parallel loop inside a vectorized loop, got m inside n; legal: reorder(n, m)"},
    {"TileIntoAVectorized", "linear", "mm.vectorize(m)\n! mm.parallel(n)", "expected no parallel loop inside a vectorized loop, got n inside m"},
    {"TwoVectorizedInnerLoops", "linear", "y.tile(m, n, mo, no, mi, ni, 2, 5)\ny.vectorize(ni)\n! y.vectorize(mi)", "got ni inside mi"},
    // a loop that is partitioned
    {"PartitionOfAnUnknownLoop", "linear", "! y.partition(q)", "expected a loop of y (m or n), got q"},
    {"PartitionTwice", "linear", "y.partition(m)\n! y.partition(m)", "expected one partition of m, got a second one; legal: one"},
    {"PartitionOfAVectorized", "linear", "y.vectorize(n)\n! y.partition(n)", "expected a serial or parallel loop, got n, which is vectorized; legal: a loop around it"},
    {"PartitionOfLanes", "linear", "y.vectorize(n, 5)\n! y.partition(n_v)", "got n_v, which is vectorized"},
    {"PartitionOfAnUnrolled", "linear", "y.unroll(n)\n! y.partition(n)", "expected a serial or parallel loop, got n, which is unrolled"},
    {"PartitionOfALoopThatWasSplit", "linear", "y.split(n, no, ni, 5)\n! y.partition(n)", "expected a loop of y (m, no or ni), got n"},
    {"PartitionInACaseAgain", "batch", "y.partition(m)\ny.specialize(B == 1)\n! y.partition(m)", "expected one partition of m, got a second one"},
    {"VectorizeOfAPartitioned", "linear", "y.partition(n)\n! y.vectorize(n)", "expected a loop that is not partitioned, got n; legal: either"},
    {"UnrollOfAPartitioned", "linear", "y.partition(n)\n! y.unroll(n)", "expected a loop that is not partitioned, got n; legal: either"},
    {"SplitOfAPartitioned", "linear", "y.partition(n)\n! y.split(n, no, ni, 5)", "expected a loop that is not partitioned, got n; legal: split first"},
    {"FuseOfAPartitioned", "linear", "y.partition(m)\n! y.fuse(m, n, t)", "expected a loop that is not partitioned, got m; legal: fuse first"},
    {"TensorizeOfAPartitioned", "linear", "y.partition(n)\n! y.tensorize(m)", "expected a loop that is not partitioned, got n; legal: either"},
    {"PartitionOfATile", "linear", "y.tensorize(n)\n! y.partition(n)", "got n, which is a tile's"},
    // dependences
    {"ParallelSum", "linear", "! mm.parallel(k)", "expected a loop without a dependence, got k, which carries the sum of mm"},
    {"VectorizedSum", "linear", "! mm.vectorize(k)", "got k, which carries the sum of mm"},
    {"VectorizedPartOfASum", "linear", "mm.split(k, ko, ki, 3)\n! mm.vectorize(ki)", "got ki, which carries the sum of mm"},
    {"ParallelPartOfASum", "linear", "mm.split(k, ko, ki, 3)\n! mm.parallel(ko)", "got ko, which carries the sum of mm"},
    {"VectorizedSumByLanes", "linear", "! mm.vectorize(k, 2)", "which carries the sum of mm"},
    {"ParallelMax", "rows", "! y.parallel(j)", "got j, which carries the max of y"},
    {"VectorizedFusedSum", "pairs", "y.split(r, ro, ri, 100)\ny.split(s, so, si, 100)\ny.reorder(si, ri, so, ro)\ny.fuse(ri, si, t)\n! y.vectorize(t)", "got t, which carries the sum of y"},
    {"ParallelSumOverARunTimeSize", "batch_sum", "! y.parallel(r)", "got r, which carries the sum of y"},
    {"VectorizedSumInAnAccumulator", "linear", "mm.cache_write(acc)\n! acc.vectorize(k)", "got k, which carries the sum of acc"},
};
// clang-format on

INSTANTIATE_TEST_SUITE_P(Kinds, Illegal, testing::ValuesIn(kKinds), name_of_case);

}  // namespace
}  // namespace emulsion
