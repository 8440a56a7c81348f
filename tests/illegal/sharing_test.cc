// Loops that stages share, what is fetched ahead, copies of operands, tiles of a tile machine.

#include <gtest/gtest.h>

#include "tests/illegal/illegal_case.h"

namespace emulsion {
namespace {

TEST_P(Illegal, IsRefusedForItsCause) { EXPECT_TRUE(refuses(GetParam())); }

// clang-format off
const IllegalCase kSharing[] = {
    // compute_with
    {"ComputeWithNobody", "diamond", "! p.compute_with(nobody, i)", "got nobody"},
    {"ComputeWithItself", "diamond", "! p.compute_with(p, i)", "got p"},
    {"ComputeWithAnUnknownLoop", "diamond", "! p.compute_with(q, k)", "got k"},
    {"ComputeWithAProducerThatReduces", "linear", "! biased.compute_with(mm, m)", "expected what it reads to be no reduction, got mm; legal: mm.compute_at"},
    {"ComputeWithAProducerThatAnotherReadsFirst", "stencil", "! y.compute_with(a, j)", "expected y to be the first that reads a, and alone in its loops, got b there"},
    {"ComputeWithAcrossEachOther", "two_chains", "v.compute_with(p, i)\n! u.compute_with(q, i)", "expected operations that can be computed together, got u and q, between which comes v, which needs q; legal: loops of its own"},
    {"ComputeWithItsReader", "linear", "! biased.compute_with(y, m)", "expected operations of which neither needs the other, got biased and y"},
    {"ComputeWithAReduction", "rows", "! d.compute_with(s, m)", "expected what it reads to be no reduction, got s"},
    {"ComputeWithOtherLoops", "diamond", "p.split(i, io, ii, 2)\n! p.compute_with(q, j)", "expected the same loops from the outermost to j, got io, ii, j of p and i, j of q"},
    {"ComputeWithAnotherOrder", "diamond", "p.reorder(i, j)\n! p.compute_with(q, j)", "expected the same loops from the outermost to j, got j of p and i, j of q"},
    {"ComputeWithAnotherKind", "diamond", "p.parallel(i)\n! p.compute_with(q, i)", "expected loops that are serial for both or parallel for both, got i; legal: loops of its own, or the same kind for both"},
    {"ComputeWithLoopsMadeOtherwise", "diamond", "p.split(i, o, r, 2)\nq.split(i, o, r, 2)\nq.split(o, o, n, 2)\n! p.compute_with(q, o)", "expected loops made of the same axes by the same splits, got o of i and o of o of i of q; legal: loops of its own, or the same splits by the same names"},
    {"ComputeWithLoopsFusedOtherwise", "diamond", "p.fuse(i, j, t)\nq.reorder(i, j)\nq.fuse(j, i, t)\n! p.compute_with(q, t)", "expected loops made of the same axes by the same splits, got t of i and j and t of j and i of q; legal: loops of its own"},
    {"ComputeWithAnUnrolledLoop", "diamond", "p.unroll(j)\nq.unroll(j)\n! p.compute_with(q, j)", "expected loops that are serial for both or parallel for both, got j; legal: compute_with(q, i), or the same kind for both"},
    {"ComputeWithTwice", "diamond", "p.compute_with(q, i)\n! p.compute_with(q, j)", "expected one compute_with, got a second one"},
    {"ComputeWithAtAnotherPlace", "stencil", "b.compute_at(y, i)\n! b.compute_with(a, i)", "expected b to be computed once behind a, got the loop y.i around it"},
    {"ComputedAtASharedLoop", "diamond", "p.copy_in(a, c)\np.compute_with(q, i)\n! c.compute_at(p, i)", "expected a loop that is not shared, got p.i, which is a loop of q and of p; legal: a loop inside i, or compute_root()"},
    {"StoredAtASharedLoop", "diamond", "p.copy_in(a, c)\nc.compute_at(p, j)\np.compute_with(q, i)\n! c.store_at(p, i)", "expected a loop that is not shared, got p.i, which is a loop of q and of p; legal: a loop inside i, or store_root()"},
    {"HoistedToASharedLoop", "diamond", "p.copy_in(a, c)\nc.compute_at(p, j)\np.compute_with(q, i)\n! c.hoist_storage(p, i)", "expected a loop that is not shared, got p.i, which is a loop of q and of p; legal: a loop inside i"},
    {"PartitionOfASharedLoop", "diamond", "p.compute_with(q, i)\n! p.partition(i)", "expected a loop of its own, got i, which p shares with q; legal: q.partition(i)"},
    // prefetch
    {"PrefetchOfNobody", "linear", "! mm.prefetch(nobody, m, 1)", "got nobody"},
    {"PrefetchOfWhatItDoesNotRead", "linear", "! mm.prefetch(b, m, 1)", "expected an input, a weight or an inner operation that is read inside m, got b; legal: w, x"},
    {"PrefetchOfWhatIsReadOutsideTheLoop", "linear", "biased.compute_at(y, m)\n! y.prefetch(b, n, 1)", "that is read inside n, got b; legal: biased, v"},
    {"PrefetchAtAnUnknownLoop", "linear", "! mm.prefetch(w, q, 1)", "got q"},
    {"PrefetchAtAVectorizedLoop", "linear", "mm.vectorize(n)\n! mm.prefetch(w, n, 1)", "expected a serial or parallel loop outside vectorized ones, got n, which is vectorized"},
    {"PrefetchAtAnUnrolledLoop", "linear", "mm.unroll(m)\n! mm.prefetch(x, m, 1)", "got m, which is unrolled"},
    {"PrefetchAtATilesLoop", "linear", "y.tensorize(n)\n! y.prefetch(v, n, 1)", "got n, which is a tile's; legal: a serial or parallel loop around it"},
    {"PrefetchInsideAVectorizedLoop", "linear", "mm.vectorize(m)\n! mm.prefetch(w, n, 1)", "got n inside m, which is vectorized"},
    {"PrefetchTwice", "linear", "mm.prefetch(w, k, 1)\n! mm.prefetch(w, k, 2)", "expected one prefetch of w at k, got a second one"},
    {"PrefetchByZero", "linear", "! mm.prefetch(w, k, 0)", "expected a positive integer, got 0"},
    {"PrefetchOfWhatEachStepMakes", "linear", "biased.compute_at(y, n)\n! y.prefetch(biased, m, 1)", "expected a buffer that is complete before loop m, got biased"},
    {"PrefetchAtASharedLoop", "diamond", "p.compute_with(q, j)\n! p.prefetch(a, i, 1)", "expected a loop of its own, got i, which p shares with q; legal: q.prefetch(a, i, 1), or a loop inside j"},
    {"PrefetchAtASharedLoopOfWhatItsLeaderDoesNotRead", "diamond", "p.copy_in(a, c)\np.compute_with(q, i)\n! p.prefetch(c, i, 1)", "expected a loop of its own, got i, which p shares with q; legal: a loop inside i"},
    {"PrefetchInTheLoopThatMakesIt", "linear", "biased.compute_at(y, m)\n! y.prefetch(biased, m, 1)", "expected a buffer that is complete before loop m, got biased"},
    // copy_in
    {"CopyInOfNobody", "linear", "! mm.copy_in(nobody, c)", "got nobody"},
    {"CopyInOfItself", "linear", "! mm.copy_in(mm, c)", "got mm"},
    {"CopyInOfWhatItDoesNotRead", "linear", "! mm.copy_in(b, c)", "expected an operand that mm reads (w or x), got b"},
    {"CopyInIntoAnOperation", "linear", "! mm.copy_in(x, y)", "expected a name that no operation has, got y"},
    {"CopyInIntoAnInput", "linear", "! mm.copy_in(x, w)", "expected a name that no operation has, got w"},
    {"CopyInTwiceIntoOneName", "linear", "mm.copy_in(x, c)\n! mm.copy_in(w, c)", "expected a name that no operation has, got c"},
    {"CopyInAgain", "linear", "mm.copy_in(x, c)\n! mm.copy_in(x, d)", "expected an operand that mm reads"},
    {"CopyInOfAPackedWeight", "linear", "mm.pack(w, n, 5)\n! mm.copy_in(w, c)", "which is packed; legal: copy_in before it, and pack of w by c"},
    {"CopyAtALoopThatIsNotThere", "linear", "mm.copy_in(x, c)\n! c.compute_at(mm, i0)", "expected a loop of mm (m, n or k), got i0"},
    // tensorize
    {"TensorizeUnknown", "linear", "! y.tensorize(q)", "expected a loop of y (m or n), got q"},
    {"TensorizeARunTimeExtent", "batch", "! y.tensorize(m)", "expected a loop whose extent is a number, got B; legal: split it first"},
    {"TensorizeAVectorized", "linear", "y.vectorize(n)\n! y.tensorize(m)", "expected a serial loop, got n, which is vectorized already"},
    {"SplitOfATile", "linear", "y.tensorize(m)\n! y.split(n, no, ni, 5)", "expected a serial loop, got n, which is a tile's already; legal: split first"},
    {"ReorderOutOfATile", "linear", "y.tensorize(n)\n! y.reorder(m, n)", "expected n, a tile's loop, innermost and in no vectorized loop"},
    {"TensorizeInsideAVectorized", "linear", "y.vectorize(m)\n! y.tensorize(n)", "expected n, a tile's loop, innermost and in no vectorized loop"},
    {"ComputeAtInsideATile", "linear", "y.tensorize(n)\n! biased.compute_at(y, n)", "expected a loop outside the tile of y, which is one uOp from n on, got n; legal: compute_at(y, m)"},
};
// clang-format on

INSTANTIATE_TEST_SUITE_P(Sharing, Illegal, testing::ValuesIn(kSharing), name_of_case);

}  // namespace
}  // namespace emulsion
