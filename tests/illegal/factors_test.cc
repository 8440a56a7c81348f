// Factors, tails and extents.

#include <gtest/gtest.h>

#include <string>

#include "tests/illegal/illegal_case.h"

namespace emulsion {
namespace {

TEST_P(Illegal, IsRefusedForItsCause) { EXPECT_TRUE(refuses(GetParam())); }

// m, which is 4 long, split by two again and again: the last one is refused.
std::string splits_by_two(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += (i + 1 == count ? "! " : "") + ("y.split(m, m, m" + std::to_string(i)) + ", 2)\n";
  }
  return text;
}
const std::string kSplitsByTwo = splits_by_two(31);

// clang-format off
const IllegalCase kFactors[] = {
    // factors
    {"SplitByZero", "linear", "! y.split(n, no, ni, 0)", "argument 4 (factor) of split: expected a positive integer, got 0"},
    {"SplitByANegative", "linear", "! y.split(n, no, ni, -3)", "argument 4 (factor) of split: expected a positive integer, got -3"},
    {"TileByZero", "linear", "! y.tile(m, n, mo, no, mi, ni, 0, 5)", "argument 7 (factor) of tile: expected a positive integer, got 0"},
    {"TileByZeroInside", "linear", "! y.tile(m, n, mo, no, mi, ni, 2, 0)", "argument 8 (factor) of tile: expected a positive integer, got 0"},
    {"VectorizeByZero", "linear", "! y.vectorize(n, 0)", "argument 2 (factor) of vectorize: expected a positive integer, got 0"},
    {"UnrollByANegative", "linear", "! y.unroll(n, -1)", "argument 2 (factor) of unroll: expected a positive integer, got -1"},
    {"PackByZero", "linear", "! mm.pack(w, n, 0)", "argument 3 (factor) of pack: expected a positive integer, got 0"},
    {"SplitBeyond32Bits", "linear", "! y.split(n, no, ni, 2147483648)", "argument 4 (factor): expected at most 1073741824, got 2147483648; legal: a factor of 1073741824"},
    {"SplitBeyond40Bits", "linear", "! y.split(m, mo, mi, 1099511627776)", "argument 4 (factor): expected at most 1073741824, got 1099511627776"},
    {"SplitBeyond64Bits", "linear", "! y.split(m, mo, mi, 99999999999999999999)", "99999999999999999999"},
    {"PackBeyond32Bits", "linear", "! mm.pack(w, n, 2147483648)", "argument 3 (factor): expected at most 1073741824, got 2147483648"},
    {"PackBeyondABuffer", "linear", "! mm.pack(w, n, 1073741824)", "expected at most 2147483647 bytes, got shape [1, 6, 1073741824] of f32"},
    {"PackOfAConstantBeyondABuffer", "leaves", "! y.pack(c, j, 1073741824)", "expected at most 2147483647 bytes, got shape [1, 2, 1073741824] of f32"},
    {"SplitThatRoundsBeyond32Bits", "huge", "! y.split(i, io, ii, 1073741824)", "expected a factor that takes i, 1500000000 long, to at most 2147483647, got 2147483648; legal: a factor of 1500000000"},
    {"SplitsThatTogetherLeave32Bits", "linear", "y.split(m, a, b, 1073741824)\n! y.split(a, c, d, 1073741824)", "expected loops that take m to at most 2147483647, got 1152921503533105153; legal: smaller factors, or fewer splits"},
    {"SplitsOfARunTimeAxisThatLeave32Bits", "batch", "y.split(m, a, b, 1073741824)\n! y.split(a, c, d, 1073741824)", "expected loops that take m to at most 2147483647, got 1152921503533105153"},
    {"ManySplitsThatTogetherLeave32Bits", "linear", kSplitsByTwo.c_str(), "expected loops that take m to at most 2147483647, got 2147483648"},
    {"SplitOfALoopBesideAFusedOneThatLeaves32Bits", "huge", "y.split(i, a, b, 500000000)\ny.split(a, c, d, 2)\ny.fuse(c, d, f)\n! y.split(b, g, h, 333333333)", "expected loops that take i to at most 2147483647, got 2166666666"},
    {"FuseBeyond32Bits", "pairs", "! y.fuse(r, s, t)", "expected an extent of at most 2147483647, got 2500000000"},
    // tails
    {"ShiftInwardsOfAReductionAxis", "linear", "! mm.split(k, ko, ki, 4, shift_inwards)", "a reduction cannot compute a point twice; legal: guard"},
    {"ShiftInwardsOfAPureAxisOfAReduction", "linear", "! mm.split(n, no, ni, 4, shift_inwards)", "expected a tail of guard or predicate: a reduction cannot compute a point twice"},
    {"ShiftInwardsOfATooShortAxis", "linear", "! y.split(n, no, ni, 16, shift_inwards)", "expected an extent of at least 16, got 10; legal: guard or predicate, or a factor of 10"},
    {"ShiftInwardsOfATooShortInnerLoop", "linear", "y.split(n, no, ni, 5)\n! y.split(ni, a, b, 8, shift_inwards)", "expected an extent of at least 8, got 5"},
    {"ShiftInwardsOfARunTimeAxis", "batch", "! y.split(m, mo, mi, 4, shift_inwards)", "expected an extent of at least 4, got B; legal: guard or predicate"},
    {"VectorizeShiftInwardsTooShort", "linear", "! y.vectorize(m, 8, shift_inwards)", "expected an extent of at least 8, got 4"},
    {"RoundUpOfAnOutput", "linear", "! y.split(n, no, ni, 4, round_up)", "nothing past the end of y may be written; legal: guard"},
    {"RoundUpOfAReductionAxis", "linear", "! mm.split(k, ko, ki, 4, round_up)", "nothing past the end of k may be added; legal: guard"},
    {"RoundUpOfASplitReductionAxis", "linear", "mm.split(k, ko, ki, 3)\n! mm.split(ki, a, b, 2, round_up)", "nothing past the end of ki may be added"},
    {"RoundUpOfALoopThatIsNoAxis", "linear", "biased.split(n, no, ni, 5)\n! biased.split(ni, a, b, 2, round_up)", "expected an axis of biased of constant extent, got ni of extent 5; legal: guard"},
    {"RoundUpOfARunTimeAxis", "batch", "! biased.split(m, mo, mi, 4, round_up)", "expected an axis of biased of constant extent, got m of extent B"},
    {"RoundUpOfALoopThatIsNamedLikeItsAxis", "rows", "s.compute_at(d, m)\ns.split(m, m, mi, 5)\n! s.split(m, mo, mj, 8, round_up)", "expected an axis of s of constant extent, got m of extent 1; legal: guard"},
    // extents that a kind of loop needs
    {"VectorizeARunTimeExtent", "batch", "! y.vectorize(m)", "expected a loop whose extent is a number, got B; legal: vectorize(m, 8), which splits it first"},
    {"UnrollARunTimeExtent", "batch", "! y.unroll(m)", "expected a loop whose extent is a number, got B; legal: unroll(m, 8), which splits it first"},
    {"UnrollTheOuterPartOfARunTimeExtent", "batch", "y.split(m, mo, mi, 4)\n! y.unroll(mo)", "expected a loop whose extent is a number, got (B + 3) / 4"},
    {"VectorizeTheOuterPartOfARunTimeExtent", "batch", "y.split(m, mo, mi, 2)\n! y.vectorize(mo)", "expected a loop whose extent is a number, got (B + 1) / 2"},
    {"VectorizeAFusedRunTimeExtent", "batch", "y.fuse(m, n, t)\n! y.vectorize(t)", "expected a loop whose extent is a number, got 10 * B"},
    {"UnrollARunTimeReduction", "batch_sum", "! y.unroll(r)", "expected a loop whose extent is a number, got B; legal: unroll(r, 8)"},
    // what grows beyond what an index can take
    {"StorageAlignedBeyondABuffer", "large", "! a.align_storage(j, 1073741824)", "expected storage of at most 2147483647 bytes, got 429496729600; legal: a smaller factor"},
    {"StorageAlignedBeyondABufferForAnyBatch", "batch_vector", "! a.align_storage(i, 1073741824)", "expected storage of at most 2147483647 bytes, got 4294967296"},
    {"StorageOfOneByteTooMany", "batch_vector", "! a.align_storage(i, 536870912)", "expected storage of at most 2147483647 bytes, got 2147483648"},
    {"StorageFoldedBeyondABuffer", "large", "a.store_root()\na.compute_at(y, i)\n! a.fold_storage(i, 1073741824)", "expected storage of at most 2147483647 bytes"},
    {"StorageRoundedUpBeyondABuffer", "large", "! a.split(j, jo, ji, 16777216, round_up)", "expected storage of at most 2147483647 bytes, got 6710886400"},
    {"StorageMaskedBeyondABuffer", "large", "! a.split(j, jo, ji, 16777216, predicate_loads)", "expected storage of at most 2147483647 bytes, got 6710886400"},
};
// clang-format on

INSTANTIATE_TEST_SUITE_P(Factors, Illegal, testing::ValuesIn(kFactors), name_of_case);

}  // namespace
}  // namespace emulsion
