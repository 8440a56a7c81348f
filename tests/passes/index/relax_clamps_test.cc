#include "passes/index/relax_clamps.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "passes/index/simplify_index.h"

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

// --- comparisons ---------------------------------------------------------------------------------

std::string unclamped(const Expr& comparison) { return to_string(without_idle_clamps(comparison)); }

TEST(WithoutIdleClamps, AClampThatCannotDecide) {
  EXPECT_EQ(unclamped(min(y, 23) < 8), "y < 8");
  EXPECT_EQ(unclamped(min(y, 8) < 8), "y < 8");
  EXPECT_EQ(unclamped(min(y, 9) <= 8), "y <= 8");
  EXPECT_EQ(unclamped(max(y - 24, 0) < 8), "y - 24 < 8");
  EXPECT_EQ(unclamped(max(y, 7) < 8), "y < 8");
  EXPECT_EQ(unclamped(max(y, 7) >= 8), "y >= 8");
  EXPECT_EQ(unclamped(max(y, 8) > 8), "y > 8");
  EXPECT_EQ(unclamped(min(y, 8) >= 8), "y >= 8");
  EXPECT_EQ(unclamped(min(max(y - 1, 0), 23) < 8), "y - 1 < 8") << "both of two";
  EXPECT_EQ(unclamped(min(y, extent_value(Extent::size("N") + 8)) < 8), "y < 8");
  EXPECT_EQ(unclamped(int_constant(8) > min(y, 23)), "8 > y");
  EXPECT_EQ(unclamped(int_constant(8) <= max(y, 0)), "8 <= y");
}

TEST(WithoutIdleClamps, OneThatDecidesStays) {
  for (const Expr& comparison :
       {min(y, 7) < 8, min(y, 8) <= 8, max(y, 8) < 8, max(y, 9) <= 8, max(y, 8) >= 8, max(y, 9) > 8,
        min(y, 7) >= 8, min(y, 8) > 8, min(y, z) < 8, min(y, extent_value(Extent::size("N"))) < 8,
        min(y, 23) < z, y < 8}) {
    EXPECT_TRUE(without_idle_clamps(comparison).same_as(comparison)) << to_string(comparison);
  }
}

// At every place the two say the same.
TEST(WithoutIdleClamps, ComparesTheSame) {
  const auto at = [](const Expr& e, int64_t value) {
    const Expr there = substitute_axes(
        e, [&](const std::string& name) { return name == "y" ? int_constant(value) : Expr(); });
    const bool is_first = there->op == ExprOp::lt || there->op == ExprOp::le;
    const auto a = constant_value(simplify_index(there->args[0])),
               b = constant_value(simplify_index(there->args[1]));
    EXPECT_TRUE(a && b);
    const bool strict = there->op == ExprOp::lt || there->op == ExprOp::gt;
    const int64_t less = is_first ? *a : *b, more = is_first ? *b : *a;
    return strict ? less < more : less <= more;
  };
  for (int64_t clamp = 2; clamp <= 6; ++clamp) {
    for (const Expr& value : {min(y, int_constant(clamp)), max(y, int_constant(clamp))}) {
      for (const Expr& comparison : {value<4, value <= 4, value> 4, value >= 4}) {
        const Expr without = without_idle_clamps(comparison);
        for (int64_t place = 0; place < 9; ++place) {
          EXPECT_EQ(at(without, place), at(comparison, place)) << to_string(comparison);
        }
      }
    }
  }
}

}  // namespace
}  // namespace emulsion
