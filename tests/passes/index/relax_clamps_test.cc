#include "passes/index/relax_clamps.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace emulsion {
namespace {

const Axis y("y"), r("r"), z("z");

// Nothing is known of z.
const AxisExtents kExtents = {{"y", Extent::size("N")}, {"r", 3}};

std::vector<std::string> relaxed(const Expr& index) {
  std::vector<std::string> result;
  for (const Expr& e : relax_clamps(index, kExtents)) result.push_back(to_string(e));
  return result;
}

Expr clamped(const Expr& index) {
  return max(min(index, extent_value(Extent::size("N") - 1)), int_constant(0));
}

using Texts = std::vector<std::string>;

TEST(ClampOf, EitherSideMayBeTheBound) {
  const Expr last = extent_value(Extent::size("N") - 1);
  for (const Expr& most : {min(y, last), min(last, y)}) {
    const std::optional<Clamp> clamp = clamp_of(most);
    ASSERT_TRUE(clamp);
    EXPECT_EQ(to_string(clamp->value), "y");
    EXPECT_EQ(clamp->bound, Extent::size("N") - 1);
    EXPECT_TRUE(clamp->is_most);
  }
  const std::optional<Clamp> least = clamp_of(max(y, int_constant(0)));
  ASSERT_TRUE(least);
  EXPECT_FALSE(least->is_most);
}

TEST(ClampOf, NothingOfWhatHasNoBound) {
  EXPECT_FALSE(clamp_of(min(y, z)));
  EXPECT_FALSE(clamp_of(y + 1));
  // No index: bounds are i32.
  EXPECT_FALSE(clamp_of(min(cast(u8, y), constant(u8, 9))));
  EXPECT_FALSE(clamp_of(max(cast(f32, y), constant(f32, 9))));
}

TEST(RelaxClamps, LeavesAnAffineIndexAlone) { EXPECT_EQ(relaxed(y + 1), Texts{"y + 1"}); }

TEST(RelaxClamps, AClampThatNeverMovesGoes) { EXPECT_EQ(relaxed(clamped(y)), Texts{"y"}); }

TEST(RelaxClamps, TheLastRowMovesUpByAsMuchAsItLeaves) {
  EXPECT_EQ(relaxed(clamped(y + 2)), (Texts{"y + 2", "y"}));
}

TEST(RelaxClamps, TheFirstRowMovesDown) {
  EXPECT_EQ(relaxed(clamped(y - 1)), (Texts{"y - 1", "y - 1 + 1"}));
}

TEST(RelaxClamps, BothEdgesOfAReduction) {  // y + r - 1 leaves by 1 on either side
  EXPECT_EQ(relaxed(clamped(y + r - 1)), (Texts{"y + r - 1", "y + r - 1 + 1", "y + r - 1 + -1"}));
}

TEST(RelaxClamps, InsideASumOrAProduct) {
  EXPECT_EQ(relaxed(clamped(y - 1) * 2 + r), (Texts{"(y - 1) * 2 + r", "(y - 1 + 1) * 2 + r"}));
}

TEST(RelaxClamps, KeepsWhatIsNotClampedByANumberOrASize) {
  EXPECT_EQ(relaxed(min(y, r)), Texts{"min(y, r)"});
}

TEST(RelaxClamps, KeepsAClampOfAnAxisThatIsNotKnown) {
  EXPECT_EQ(relaxed(max(z - 1, 0)), Texts{"max(z - 1, 0)"});
}

TEST(RelaxClamps, KeepsAClampThatMovesByARunTimeSize) {
  EXPECT_EQ(relaxed(min(y, int_constant(7))), Texts{"min(y, 7)"});
}

}  // namespace
}  // namespace emulsion
