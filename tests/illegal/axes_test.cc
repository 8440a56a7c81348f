// Loops and operations that are not there (any more), and names that are taken.

#include <gtest/gtest.h>

#include "tests/illegal/illegal_case.h"

namespace emulsion {
namespace {

TEST_P(Illegal, IsRefusedForItsCause) { EXPECT_TRUE(refuses(GetParam())); }

// clang-format off
const IllegalCase kAxes[] = {
    // a loop that the operation does not have
    {"VectorizeUnknown", "linear", "! y.vectorize(q)", "expected a loop of y (m or n), got q; nearest: m"},
    {"UnrollUnknown", "linear", "! y.unroll(no)", "expected a loop of y (m or n), got no; nearest: n"},
    {"ParallelUnknown", "linear", "! y.parallel(mo)", "expected a loop of y (m or n), got mo; nearest: m"},
    {"SplitUnknown", "linear", "! y.split(mm, mo, mi, 2)", "expected a loop of y (m or n), got mm; nearest: m"},
    {"TileUnknownSecond", "linear", "! y.tile(m, nn, mo, no, mi, ni, 2, 5)", "expected a loop of y (mo, mi or n), got nn; nearest: n"},
    {"FuseUnknownOuter", "linear", "! y.fuse(r, n, t)", "expected a loop of y (m or n), got r"},
    {"FuseUnknownInner", "linear", "! y.fuse(m, n0, t)", "expected a loop of y (m or n), got n0; nearest: n"},
    {"ReorderUnknown", "linear", "! y.reorder(n, mi)", "expected a loop of y (m or n), got mi; nearest: m"},
    {"LoopOfAnotherOperation", "linear", "! y.unroll(k)", "expected a loop of y (m or n), got k"},
    {"LoopOfItsReader", "rows", "! s.vectorize(m2)", "expected a loop of s (m or j), got m2; nearest: m"},
    {"NameInTheWrongCase", "linear", "! mm.unroll(K)", "expected a loop of mm (m, n or k), got K"},
    // a loop that an earlier directive consumed
    {"SplitAway", "linear", "y.split(n, no, ni, 5)\n! y.vectorize(n)", "expected a loop of y (m, no or ni), got n; nearest: m"},
    {"TiledAway", "linear", "y.tile(m, n, mo, no, mi, ni, 2, 5)\n! y.parallel(m)", "expected a loop of y (mo, no, mi or ni), got m; nearest: mo"},
    {"FusedAwayOuter", "linear", "y.fuse(m, n, t)\n! y.parallel(m)", "expected a loop of y (t), got m; nearest: t"},
    {"FusedAwayInner", "linear", "y.fuse(m, n, t)\n! y.vectorize(n)", "expected a loop of y (t), got n; nearest: t"},
    {"SplitAwayTwice", "linear", "y.split(n, no, ni, 5)\ny.split(ni, nio, nii, 2)\n! y.unroll(ni)", "expected a loop of y (m, no, nio or nii), got ni"},
    {"SplitByVectorize", "linear", "y.vectorize(n, 5)\n! y.unroll(ni)", "expected a loop of y (m, n or n_v), got ni; nearest: n"},
    {"SplitByUnroll", "linear", "y.unroll(m, 2)\n! y.parallel(mi)", "expected a loop of y (m, m_u or n), got mi; nearest: m"},
    {"ReductionSplitAway", "linear", "mm.split(k, ko, ki, 2)\n! mm.unroll(k)", "expected a loop of mm (m, n, ko or ki), got k; nearest: m"},
    {"ReductionThatMovedAway", "linear", "mm.cache_write(acc)\n! mm.unroll(k)", "expected a loop of mm (m or n), got k"},
    {"ReorderOfASplitLoop", "linear", "y.split(n, no, ni, 5)\n! y.reorder(m, n)", "got n; nearest: m"},
    {"SplitTheSameAgain", "linear", "y.split(m, mo, mi, 2)\n! y.split(m, a, b, 2)", "expected a loop of y (mo, mi or n), got m; nearest: mo"},
    // names of new loops
    {"SplitIntoAnotherLoop", "linear", "! y.split(n, m, ni, 5)", "expected a name that no other loop of y has (m), got m"},
    {"SplitInnerIntoAnotherLoop", "linear", "! mm.split(n, no, k, 5)", "expected a name that no other loop of mm has (m or k), got k"},
    {"SplitIntoOneNameTwice", "linear", "! y.split(n, no, no, 5)", "expected distinct loops, got no twice"},
    {"SplitIntoAConsumedName", "linear", "y.split(n, no, ni, 5)\n! y.split(m, n, mi, 2)", "expected a new name, got n, which y has or had"},
    {"FuseIntoAnotherLoop", "linear", "! mm.fuse(m, n, k)", "expected a name that no other loop of mm has (k), got k"},
    {"FuseIntoAConsumedName", "linear", "y.split(n, no, ni, 5)\n! y.fuse(m, no, n)", "expected a new name, got n, which y has or had"},
    {"TileIntoOneNameTwice", "linear", "! y.tile(m, n, o, o, mi, ni, 2, 5)", "expected a name that no other loop of y has (o or mi), got o"},
    // loops named twice, or not next to each other
    {"FuseWithItself", "linear", "! y.fuse(m, m, t)", "expected distinct loops, got m twice"},
    {"ReorderTwiceTheSame", "linear", "! y.reorder(n, m, n)", "expected distinct loops, got n twice"},
    {"FuseInsideOut", "linear", "! y.fuse(n, m, t)", "expected m directly inside n"},
    {"FuseNotAdjacent", "linear", "mm.reorder(n, k, m)\n! mm.fuse(m, n, t)", "expected n directly inside m"},
    {"FuseAcrossATile", "linear", "y.tile(m, n, mo, no, mi, ni, 2, 5)\n! y.fuse(mo, mi, t)", "expected mi directly inside mo"},
    {"FusePureWithReduction", "linear", "! mm.fuse(n, k, t)", "expected two pure loops or two reduction loops, got one of each"},
    {"FuseReductionWithPure", "linear", "mm.reorder(n, k, m)\n! mm.fuse(k, n, t)", "got one of each; legal: two of k"},
    // operations
    {"UnknownOperation", "linear", "! nobody.vectorize(n)", "expected an operation that has loops"},
    {"Input", "linear", "! x.vectorize(n)", "got x, which is given and not computed"},
    {"Weight", "linear", "! w.unroll(n)", "got w, which is given and not computed"},
    {"Constant", "leaves", "! c.parallel(i)", "got c, which is given and not computed"},
    {"StageThatNothingMakes", "linear", "! acc.unroll(m)", "got acc"},
};
// clang-format on

INSTANTIATE_TEST_SUITE_P(Axes, Illegal, testing::ValuesIn(kAxes), name_of_case);

}  // namespace
}  // namespace emulsion
