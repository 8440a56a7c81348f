#include "benchmarks/samples.h"

#include <gtest/gtest.h>

namespace emulsion::benchmarks {
namespace {

TEST(Median, IsTheMiddleInAnyOrder) { EXPECT_DOUBLE_EQ(*median({9, 1, 3}), 3); }
TEST(Median, IsTheMeanOfTheMiddleTwo) { EXPECT_DOUBLE_EQ(*median({4, 1, 2, 100}), 3); }
TEST(Median, OfNothingIsNothing) { EXPECT_FALSE(median({})); }

TEST(Spread, IsTheMiddleHalfOverTheMedian) { EXPECT_DOUBLE_EQ(*spread({10, 8, 9, 11, 12}), 0.2); }
TEST(Spread, DoesNotSeeOneOutlier) { EXPECT_DOUBLE_EQ(*spread({10, 10, 10, 10, 1000}), 0); }
TEST(Spread, OfOneSampleIsNothing) { EXPECT_FALSE(spread({1})); }
TEST(Spread, OfNothingIsNothing) { EXPECT_FALSE(spread({})); }

TEST(Quotient, IsNothingWithoutBothOrOverZero) {
  EXPECT_DOUBLE_EQ(*quotient(3, 2), 1.5);
  EXPECT_FALSE(quotient(std::nullopt, 2));
  EXPECT_FALSE(quotient(3, std::nullopt));
  EXPECT_FALSE(quotient(3, 0));
}

}  // namespace
}  // namespace emulsion::benchmarks
