// Which indices are known to be the same.

#include "backends/halide/equal_indices.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using Halide::Expr;

const Expr kSize = hi::Variable::make(Halide::Int(32), "n");
const Expr kBlock = hi::Variable::make(Halide::Int(32), "b");

TEST(EqualIndices, SumsOfMultiples) {
  EXPECT_TRUE(are_equal_indices((kSize + kBlock) * 4 - kBlock, 3 * kBlock + kSize * 4));
  EXPECT_TRUE(are_equal_indices(kSize, kSize));
  EXPECT_TRUE(are_equal_indices(kBlock - kBlock + 7, 7));
}

// What Halide takes out of `base < n` it leaves in the index beside it.
TEST(EqualIndices, ARemainderIsWhatTheQuotientLeaves) {
  const Expr base = ((kSize / 64) * 4 + kBlock) * 16;
  EXPECT_TRUE(are_equal_indices(kSize - 1 - base, kSize % 64 - 1 - kBlock * 16));
  EXPECT_FALSE(are_equal_indices(kSize - 1 - base, kSize % 64 - kBlock * 16));
  EXPECT_FALSE(are_equal_indices(kSize - 1 - base, kSize % 32 - 1 - kBlock * 16));
}

TEST(EqualIndices, OthersAreNot) {
  EXPECT_FALSE(are_equal_indices(kSize, kBlock));
  EXPECT_FALSE(are_equal_indices(kSize, kSize + 1));
  EXPECT_FALSE(are_equal_indices(kSize * 2, kSize));
  EXPECT_FALSE(are_equal_indices(kSize / 2 * 2, kSize));
  EXPECT_FALSE(are_equal_indices(min(kSize, kBlock), kSize));
  EXPECT_FALSE(are_equal_indices(kSize % kBlock, kSize));
}

// What may not fit is left open, and so is what has very many parts.
TEST(EqualIndices, NotOfWhatIsLarge) {
  const Expr wide = hi::Variable::make(Halide::Int(64), "w");
  const Expr huge = hi::make_const(Halide::Int(64), std::numeric_limits<int64_t>::max());
  EXPECT_FALSE(are_equal_indices(wide * huge * 4, wide * huge * 4 + 1));
  EXPECT_FALSE(are_equal_indices(wide + huge, wide + huge));
  const Expr much = hi::make_const(Halide::Int(64), int64_t{1} << 31);
  EXPECT_FALSE(are_equal_indices((wide + much) * much, (wide + much) * much));
  Expr many = kSize;
  for (int i = 0; i < 20; ++i) many = hi::Add::make(many, many);
  EXPECT_FALSE(are_equal_indices(many, many));
}

}  // namespace
}  // namespace emulsion
