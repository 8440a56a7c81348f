// Storage that is kept over loops, hoisted, folded or laid out.

#include <gtest/gtest.h>

#include "tests/illegal/illegal_case.h"

namespace emulsion {
namespace {

TEST_P(Illegal, IsRefusedForItsCause) { EXPECT_TRUE(refuses(GetParam())); }

// clang-format off
const IllegalCase kStorage[] = {
    // store_at, store_root
    {"StoreRootWithoutComputeAt", "linear", "! mm.store_root()", "expected together with compute_at"},
    {"StoreRootOfAnOutput", "linear", "! y.store_root()", "expected an operation that is not an output: the caller stores it"},
    {"StoreAtOfAnOutput", "diamond", "! p.store_at(q, i)", "expected an operation that is not an output: the caller stores it"},
    {"StoreAtTwice", "linear", "biased.compute_at(y, n)\nbiased.store_at(y, m)\n! biased.store_at(y, n)", "expected one store_at or store_root, got a second one"},
    {"StoreRootAfterStoreAt", "linear", "biased.compute_at(y, n)\nbiased.store_at(y, m)\n! biased.store_root()", "expected one store_at or store_root, got a second one"},
    {"StoreAtInsideThePlace", "linear", "biased.compute_at(y, m)\n! biased.store_at(y, n)", "expected a loop around y.m, where it is computed (y.m), got y.n; legal: store_at(y, m)"},
    {"StoreAtALoopOfAnother", "linear", "biased.compute_at(y, m)\nmm.compute_at(y, m)\n! mm.store_at(biased, m)", "expected a loop around y.m, where it is computed (y.m), got biased.m"},
    {"StoreAtAcrossAParallelLoop", "stencil", "y.parallel(i)\nb.compute_at(y, i)\na.compute_at(y, i)\n! a.store_root()", "expected no parallel loop between the storage and y.i, where it is computed, got y.i"},
    {"StoreAtAcrossAParallelTile", "stencil", "y.split(i, io, ii, 2)\ny.parallel(ii)\nb.compute_at(y, ii)\na.compute_at(y, ii)\n! a.store_at(y, io)", "got y.ii: its iterations would share what they write; legal: store_at(y, ii)"},
    {"StoreAtInsideAVectorized", "linear", "y.split(n, no, ni, 5)\ny.vectorize(ni)\nbiased.compute_at(y, no)\n! biased.store_at(y, ni)", "expected a loop outside the vectorized loop ni of y, got ni; legal: store_at(y, no)"},
    // hoist_storage
    {"HoistWithoutComputeAt", "linear", "! mm.hoist_storage(y, m)", "expected together with compute_at"},
    {"HoistOfAnOutput", "linear", "! y.hoist_storage(mm, m)", "expected an operation that is not an output"},
    {"HoistToAnUnknownLoop", "linear", "biased.compute_at(y, m)\n! biased.hoist_storage(y, q)", "expected a loop of y (m or n), got q; nearest: m"},
    {"HoistToAnUnknownOperation", "linear", "biased.compute_at(y, m)\n! biased.hoist_storage(nobody, m)", "got nobody"},
    {"HoistInside", "linear", "biased.compute_at(y, m)\n! biased.hoist_storage(y, n)", "expected a loop around its storage (y.m), got y.n; legal: hoist_storage(y, m)"},
    {"HoistOfTheRoot", "linear", "biased.compute_at(y, n)\nbiased.store_root()\n! biased.hoist_storage(y, m)", "expected a loop around its storage (none: it is at the root), got y.m"},
    {"HoistToALoopOfTwoNests", "linear", "mm.copy_in(x, xs)\nxs.compute_at(mm, n)\n! xs.hoist_storage(mm, m)", "expected a loop of one nest, got mm.m, a loop of the start value and of the update; legal: a loop of a reduction axis, or one around mm"},
    {"RoundUpOfAWindow", "stencil", "b.compute_at(y, i)\na.compute_at(y, i)\na.store_root()\n! a.split(i, o, p, 2, round_up)", "expected an axis of a of constant extent, got i of extent "},
    {"HoistTwice", "linear", "biased.compute_at(y, n)\nbiased.hoist_storage(y, m)\n! biased.hoist_storage(y, n)", "expected one hoist_storage, got a second one"},
    {"HoistAcrossAParallelLoop", "linear", "y.parallel(n)\nbiased.compute_at(y, n)\n! biased.hoist_storage(y, m)", "expected no parallel loop between the allocation and the storage, got y.n"},
    // fold_storage
    {"FoldOfAnOutput", "stencil", "! y.fold_storage(i, 4)", "expected an operation that is not an output"},
    {"FoldOfAnUnknownAxis", "stencil", "! a.fold_storage(q, 4)", "got q; nearest: "},
    {"FoldBelowTheWindow", "stencil", "b.compute_at(y, i)\na.compute_at(y, i)\na.store_root()\n! a.fold_storage(i, 2)", "expected at least 3, the indices of i that are kept at once, got 2; legal: 3"},
    {"FoldAlongWhatAFusedLoopStartsAgain", "linear", "biased.fuse(m, n, f)\nmm.compute_at(biased, f)\nmm.store_root()\n! mm.fold_storage(n, 3)", "expected an axis along which the loops between only go forward, got one that starts again in a fused loop"},
    {"FoldOfWhatIsNotKept", "stencil", "b.compute_at(y, i)\na.compute_at(y, i)\n! a.fold_storage(i, 4)", "expected storage that is kept over a loop, got storage for one computation"},
    {"FoldOfTheRoot", "stencil", "! a.fold_storage(i, 16)", "expected storage that is kept over a loop"},
    {"FoldTwice", "stencil", "b.compute_at(y, i)\na.compute_at(y, i)\na.store_root()\na.fold_storage(i, 4)\n! a.fold_storage(i, 8)", "expected one fold_storage of i, got a second one"},
    {"FoldByZero", "stencil", "! a.fold_storage(i, 0)", "argument 2 (factor) of fold_storage: expected a positive integer, got 0"},
    // reorder_storage, align_storage
    {"ReorderStorageOfAnOutput", "linear", "! y.reorder_storage(m, n)", "expected an operation that is not an output"},
    {"ReorderStorageOfOneAxis", "linear", "! mm.reorder_storage(m)", "expected all 2 axes of mm, got 1; legal: those of m, n"},
    {"ReorderStorageOfAReduction", "linear", "! mm.reorder_storage(m, k)", "got k"},
    {"ReorderStorageTwiceTheSame", "linear", "! mm.reorder_storage(m, m)", "got m twice"},
    {"ReorderStorageAgain", "linear", "mm.reorder_storage(m, n)\n! mm.reorder_storage(n, m)", "expected one reorder_storage, got a second one"},
    {"AlignStorageOfAnOutput", "linear", "! y.align_storage(n, 8)", "expected an operation that is not an output"},
    {"AlignStorageOfALoop", "linear", "mm.split(n, no, ni, 5)\n! mm.align_storage(ni, 8)", "got ni; nearest: n"},
    {"AlignStorageByZero", "linear", "! mm.align_storage(n, 0)", "argument 2 (factor) of align_storage: expected a positive integer, got 0"},
    {"AlignStorageAgain", "linear", "mm.align_storage(n, 8)\n! mm.align_storage(n, 16)", "expected one align_storage of n, got a second one"},
    {"FoldOfAnAxisThatIsAllThere", "batch", "y.reorder(m, n)\nbiased.compute_at(y, n)\nbiased.store_root()\n! biased.fold_storage(m, 4)", "expected an axis of which one iteration keeps a constant number of indices, got B; legal: no fold_storage"},
    {"KeptInVectorsOverTilesOfABatch", "repeated_batch", "y.split(i, io, ii, 4)\na.compute_at(y, io)\na.vectorize(i)\n! a.store_root()", "expected a loop inside which the part of i that is kept is bounded by the run-time sizes, got one whose bounds are not affine; legal: an inner loop, or a factor that divides the extent"},
    // store_in_output
    {"InOutputOfAnOutput", "diamond", "! p.store_in_output(q)", "expected an operation that is not an output: the caller stores it"},
    {"InWhatIsNoOutput", "linear", "! mm.store_in_output(biased)", "expected an output (y), got biased; nearest: y"},
    {"InWhatIsStoredInALoop", "linear", "biased.compute_at(y, n)\nbiased.store_in_output(y)\n! mm.store_in_output(biased)", "expected mm to be computed where biased is stored, inside y.n, got the root; legal: compute_at a loop of biased"},
    {"InAnInput", "linear", "! mm.store_in_output(x)", "got x"},
    {"InAnOutputOfAnotherShape", "rows", "! d.store_in_output(y)", "expected an output of the type and the shape of d, i32[5, 6], got y, i32[5]; legal: storage of its own"},
    {"InAnOutputThatReadsElsewhere", "repeated", "! a.store_in_output(y)", "of the type and the shape of a, f32[6], got y, f32[12]"},
    {"InAnOutputTwice", "linear", "biased.store_in_output(y)\n! biased.store_in_output(y)", "expected one store_in_output, got a second one"},
    {"InAnOutputThatIsFull", "linear", "mm.store_in_output(y)\n! biased.store_in_output(y)", "expected an output that holds nothing else, got y, where mm is stored"},
    {"InAnOutputWithItsAlternative", "batch", "y.alternative(B == 1, few)\nbiased.store_in_output(y)\n! few.store_in_output(y)", "expected an output that holds nothing else, got y, where biased is stored"},
    {"InAnOutputWithWhatItNeedsInBothCases", "batch", "y.alternative(B == 1, few)\ny.specialize(B == 1)\nbiased.store_in_output(y)\n! few.store_in_output(y)", "expected an output that holds nothing else, got y, where biased is stored"},
    {"InAnOutputWithWhatThatCaseReads", "batch", "biased.alternative(B == 1, other)\ny.alternative(B == 1, few)\ny.specialize(B == 1)\nother.store_in_output(y)\n! few.store_in_output(y)", "expected an output that holds nothing else, got y, where other is stored"},
    {"InAnOutputAndAStack", "large", "a.store_in(heap)\n! a.store_in_output(y)", "expected an operation without store_in, got both; legal: either"},
    {"InAnOutputAndFolded", "linear", "biased.compute_at(y, n)\nbiased.store_root()\nbiased.fold_storage(m, 4)\n! biased.store_in_output(y)", "expected an operation without "},
    {"InAnOutputThatIsReadFirst", "diamond", "! a.store_in_output(p)", "expected a to be read before p is computed, got q, which reads it later"},
    {"InAnOutputByShiftedTiles", "linear", "y.vectorize(n, 8, shift_inwards)\n! biased.store_in_output(y)", "expected an output that reads each element of biased once, got y.split"},
    {"InAnOutputByTilesOfAPartPastItsEnd", "linear", "y.split(m, block, within, 5)\ny.split(within, mo, mi, 3)\nbiased.compute_at(y, mo)\n! biased.store_in_output(y)", "expected tiles of y inside y.mo that end where a step around them does"},
};
// clang-format on

INSTANTIATE_TEST_SUITE_P(Storage, Illegal, testing::ValuesIn(kStorage), name_of_case);

}  // namespace
}  // namespace emulsion
