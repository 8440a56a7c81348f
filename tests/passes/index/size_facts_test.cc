#include "passes/index/size_facts.h"

#include <gtest/gtest.h>

#include <limits>

namespace emulsion {
namespace {

const Expr B = size_value("B"), C = size_value("C");
const Extent b = Extent::size("B"), c = Extent::size("C");

TEST(SizeFacts, AnEqualityIsAValueAndABound) {
  const SizeFacts facts = facts_of(B == 4);
  EXPECT_EQ(facts.values.at("B"), 4);
  EXPECT_EQ(to_string(facts.assume(B * 2 + 1)), "9");
  EXPECT_EQ(to_string(facts.assume(C * B)), "C * 4");
  EXPECT_EQ(facts.lower_bound(b * Extent(2) + Extent(1)), 9);
}

TEST(SizeFacts, EitherSideMayBeTheNumber) {
  EXPECT_EQ(facts_of(Expr(4) == B).values.at("B"), 4);
  EXPECT_EQ(facts_of(Expr(4) <= B).least.at("B"), 4);
  EXPECT_EQ(facts_of(Expr(4) < B).least.at("B"), 5);
}

TEST(SizeFacts, LowerBounds) {
  EXPECT_EQ(facts_of(B >= 16).lower_bound(b), 16);
  EXPECT_EQ(facts_of(B > 16).lower_bound(b), 17);
  EXPECT_EQ(facts_of(B >= 16 && B >= 3).lower_bound(b), 16);
  EXPECT_EQ(facts_of(B >= 16).lower_bound(c + Extent(2)), 2);
}

TEST(SizeFacts, LowerBoundsOfSumsAndMultiples) {
  EXPECT_EQ(facts_of(B + C >= 16).lower_bound(b + c), 16);
  EXPECT_EQ(facts_of(B + C > 16).lower_bound(b + c + 3), 20);
  EXPECT_EQ(facts_of(16 <= 2 * B + C).lower_bound(b * 2 + c), 16);
  EXPECT_EQ(facts_of(16 < B + C).lower_bound(b * 2 + c), 17) << "and one B more";
  EXPECT_EQ(facts_of(2 * B + 1 >= 2341).lower_bound(b * 14 + 7), 7 * 2341);
  EXPECT_EQ(facts_of(2 * B + 1 >= 2341).lower_bound(b * 7), 7 * 1170) << "B is at least 1170";
  EXPECT_EQ(facts_of(2 * B + C >= 2341).lower_bound(b * 7 + c * 3), 3 * 2341) << "and one B more";
  EXPECT_EQ(facts_of(2 * B + C >= 16).lower_bound(b), 0) << "not once";
  EXPECT_EQ(facts_of(2 * B >= 16 && C >= 3).lower_bound(b * 2), 16);
  EXPECT_EQ(facts_of(B + C >= 16).lower_bound(b), 0) << "C may be all of it";
  EXPECT_EQ(facts_of(B + C <= 16).lower_bound(b + c), 0);
  EXPECT_EQ(facts_of(B + C != 16).lower_bound(b + c), 0);
  EXPECT_EQ(facts_of(B + C >= 16 || B >= 1).lower_bound(b + c), 0);
}

// A row of 12 elements that has one has all of them.
TEST(SizeFacts, AMultipleOfASizeSaysWhatTheSizeIsAtLeast) {
  EXPECT_EQ(facts_of(12 * B >= 1).lower_bound(b * 12), 12);
  EXPECT_EQ(facts_of(12 * B > 12).lower_bound(b), 2);
  EXPECT_EQ(facts_of(Expr(13) <= 12 * B).least.at("B"), 2);
  EXPECT_EQ(facts_of(12 * B + 5 >= 18).lower_bound(b), 2);
  EXPECT_EQ(facts_of(12 * B + 5 >= 5).lower_bound(b), 0);
  EXPECT_EQ(facts_of(12 * B <= 12).upper_bound(b), std::nullopt) << "12 * B may leave i32";
  EXPECT_EQ(facts_of(12 * B - 13 >= 0).lower_bound(b), 2) << "and B = 0 is less";
  EXPECT_EQ(facts_of(12 * B + C >= 12).lower_bound(b), 0) << "C may be all of it";
  EXPECT_EQ(facts_of(12 * B == 12).lower_bound(b), 0) << "nothing is concluded";
}

// What is taken away from a size leaves i32 nowhere.
TEST(SizeFacts, WhatIsLeftOfASizeSaysWhatTheSizeIs) {
  EXPECT_EQ(facts_of(B - 2 == 3).values.at("B"), 5);
  EXPECT_EQ(to_string(facts_of(B - 2 == 3).assume(B - 2)), "3");
  EXPECT_EQ(facts_of(B - 2 <= 16).upper_bound(b - 2), 16);
  EXPECT_EQ(facts_of(B - 2 < 16).upper_bound(b), 17);
  EXPECT_EQ(facts_of(Expr(16) >= B - 2).upper_bound(b), 18);
  EXPECT_EQ(facts_of(B - 2 >= 16).lower_bound(b), 18);
  EXPECT_EQ(facts_of(B - 2 > 16).least.at("B"), 19);
}

TEST(SizeFacts, NoSizeFromMoreThanOne) {
  for (const Expr& value : {B + 2, B * 2 - 2, B - C, 2 - B, B + C - 2}) {
    const SizeFacts facts = facts_of(value == 3 && value <= 3);
    EXPECT_TRUE(facts.values.empty() && facts.least.empty() && facts.most.empty())
        << to_string(value);
  }
}

TEST(SizeFacts, WhichExtentsAreWhatIsLeftOfASize) {
  EXPECT_TRUE(is_what_is_left_of_a_size(b));
  EXPECT_TRUE(is_what_is_left_of_a_size(b - 2));
  for (const Extent& other :
       {Extent(7), b + 2, b * 2, Extent(4) - b, b - c, b + c, b - Extent(int64_t{1} << 40)}) {
    EXPECT_FALSE(is_what_is_left_of_a_size(other)) << other.to_string();
  }
}

// 65536 * 49152 leaves i32, and 0 - 65536 * 49152 is then compared as a large number.
TEST(SizeFacts, NothingFromADifference) {
  EXPECT_EQ(facts_of(B - 65536 * C >= 4).lower_bound(b), 0);
  EXPECT_EQ(facts_of(B - 65536 * C >= 4).lower_bound(b - c * 65536), std::nullopt);
  EXPECT_EQ(facts_of(B >= C + 4).lower_bound(b - c), std::nullopt);
  EXPECT_EQ(facts_of(B >= C + 4).lower_bound(b), 0);
  const Expr least = int_constant(std::numeric_limits<int32_t>::min());
  EXPECT_EQ(facts_of(B + least + least >= 0).lower_bound(b), 0);
}

TEST(SizeFacts, WhichExtentsHaveLowerBounds) {
  EXPECT_TRUE(is_sum_of_sizes(7));
  EXPECT_TRUE(is_sum_of_sizes(b * 2 - 3));
  EXPECT_TRUE(is_sum_of_sizes(b + c));
  EXPECT_FALSE(is_sum_of_sizes(b - c));
  EXPECT_FALSE(is_sum_of_sizes(b - Extent(int64_t{1} << 40)));
}

TEST(SizeFacts, UpperBounds) {
  EXPECT_EQ(facts_of(B <= 16).upper_bound(b), 16);
  EXPECT_EQ(facts_of(B < 16).upper_bound(b * Extent(2) + Extent(1)), 31);
  EXPECT_EQ(facts_of(B <= 16 && B <= 3).upper_bound(b), 3);
  EXPECT_EQ(facts_of(B == 4).upper_bound(b), 4);
  EXPECT_EQ(facts_of(Expr(4) >= B).upper_bound(b), 4);
  EXPECT_EQ(facts_of(B <= -1).upper_bound(b + Extent(2)), 2);
  // A size is 0 at least.
  EXPECT_EQ(facts_of(B <= 16).upper_bound(b - c), 16);
  EXPECT_EQ(SizeFacts().upper_bound(Extent(7)), 7);
}

TEST(SizeFacts, NoUpperBound) {
  EXPECT_EQ(facts_of(B <= 16).upper_bound(c), std::nullopt);
  EXPECT_EQ(facts_of(B <= 16).upper_bound(b + c), std::nullopt);
  EXPECT_EQ(facts_of(B >= 16).upper_bound(b), std::nullopt);
  EXPECT_EQ(facts_of(B != 16).upper_bound(b), std::nullopt);
  const Extent huge = b * Extent(int64_t{1} << 40);
  EXPECT_EQ(facts_of(B <= (1 << 30)).upper_bound(huge), std::nullopt);
}

TEST(SizeFacts, UpperBoundsAreNoLowerBounds) {
  EXPECT_EQ(facts_of(B <= 16).lower_bound(b), 0);
  EXPECT_EQ(facts_of(B < 16).lower_bound(b), 0);
  EXPECT_EQ(facts_of(B != 0).lower_bound(b), 0);
  EXPECT_EQ(facts_of(B >= 16).lower_bound(Extent(20) - b), std::nullopt);
}

TEST(SizeFacts, Divisors) {
  const SizeFacts facts = facts_of(B % 8 == 0);
  EXPECT_TRUE(facts.divides(8, b));
  EXPECT_TRUE(facts.divides(4, b));
  EXPECT_TRUE(facts.divides(16, b * Extent(2) + Extent(32)));
  EXPECT_TRUE(facts.divides(24, b * Extent(3)));
  EXPECT_FALSE(facts.divides(16, b));
  EXPECT_FALSE(facts.divides(8, b + Extent(4)));
  EXPECT_FALSE(facts.divides(8, b + c));
}

TEST(SizeFacts, DivisorsOfOnePartAndAnother) {
  const SizeFacts facts = facts_of(B % 4 == 0 && B % 6 == 0 && C >= 2);
  EXPECT_TRUE(facts.divides(12, b));
  EXPECT_FALSE(facts.divides(24, b));
  EXPECT_EQ(facts.lower_bound(c), 2);
}

TEST(SizeFacts, WithoutConditionOnlyWhatAlwaysDivides) {
  EXPECT_TRUE(SizeFacts().divides(4, b * Extent(8)));
  EXPECT_FALSE(SizeFacts().divides(4, b));
  EXPECT_TRUE(SizeFacts().divides(4, Extent(0)));
  EXPECT_FALSE(facts_of(Expr()).divides(2, b));
}

TEST(SizeFacts, NothingFromARest) { EXPECT_FALSE(facts_of(B % 8 == 1).divides(8, b)); }
TEST(SizeFacts, NothingFromAnUnequality) { EXPECT_FALSE(facts_of(B % 8 != 0).divides(8, b)); }
TEST(SizeFacts, NothingFromADivisionByZero) { EXPECT_TRUE(facts_of(B % 0 == 0).divisors.empty()); }
TEST(SizeFacts, NothingFromOneOfTwo) {
  const SizeFacts facts = facts_of(B >= 16 || C >= 16);
  EXPECT_EQ(facts.lower_bound(b), 0);
}
TEST(SizeFacts, NothingFromANegation) { EXPECT_EQ(facts_of(!(B < 16)).lower_bound(b), 0); }
TEST(SizeFacts, NothingFromASum) { EXPECT_EQ(facts_of(B + C >= 16).lower_bound(b), 0); }

TEST(SizeFacts, NeverHold) {
  EXPECT_TRUE(never_holds(B <= 4 && B >= 5));
  EXPECT_TRUE(never_holds(B < 5 && C >= 2 && B > 4));
  EXPECT_TRUE(never_holds(B == 4 && 12 * B >= 49));
  EXPECT_TRUE(never_holds(B - 2 <= 4 && B >= 7));
  EXPECT_TRUE(never_holds(B == 4 && B == 5));
}
TEST(SizeFacts, MayHold) {
  EXPECT_FALSE(never_holds(B <= 4 && B >= 4));
  EXPECT_FALSE(never_holds(B == 4 && 12 * B >= 48));
  EXPECT_FALSE(never_holds(B - 2 <= 4 && B >= 6));
  EXPECT_FALSE(never_holds(B <= 4 && C >= 5));
  EXPECT_FALSE(never_holds(B <= 4 || B >= 5));
  EXPECT_FALSE(never_holds(B >= 5));
  EXPECT_FALSE(never_holds(Expr()));
}

TEST(SizeFacts, AnExpressionThatNothingIsKnownOfStaysTheSame) {
  const Expr e = B + 1;
  EXPECT_TRUE(facts_of(B >= 3).assume(e).same_as(e));
}

}  // namespace
}  // namespace emulsion
