// Steps over run-time sizes: which comparisons are proved, and that no other is.

#include "passes/nest/loop_steps.h"

#include <gtest/gtest.h>

#include "dsl/extent.h"

namespace emulsion {
namespace {

const Extent B = Extent::size("B");

// floor((B * factor + offset) / divisor), left as a quotient.
Expr quotient(int64_t factor, int64_t offset, int64_t divisor) {
  return extent_value(B * Extent(factor) + Extent(offset)) / int_constant(divisor);
}

TEST(LoopSteps, AQuotientIsAtLeastWhatItIsForTheLeastSize) {
  EXPECT_TRUE(at_least(quotient(1, 8, 4), int_constant(2)));
  EXPECT_TRUE(at_least(quotient(1, 11, 4), int_constant(2)));
  EXPECT_FALSE(at_least(quotient(1, 7, 4), int_constant(2)));
  EXPECT_FALSE(at_least(quotient(1, 11, 4), int_constant(3)));
}

TEST(LoopSteps, AQuotientIsAtMostWhatItIsForTheLeastSize) {
  EXPECT_TRUE(at_least(int_constant(2), quotient(-1, 8, 4)));
  EXPECT_TRUE(at_least(int_constant(2), quotient(-1, 11, 4)));
  EXPECT_FALSE(at_least(int_constant(2), quotient(-1, 12, 4)));
  EXPECT_FALSE(at_least(int_constant(1), quotient(-1, 8, 4)));
}

TEST(LoopSteps, QuotientsOfOneDivisorAreOrderedAsTheirDividends) {
  EXPECT_TRUE(at_least(quotient(1, 3, 4), quotient(1, 3, 4)));
  EXPECT_TRUE(at_least(quotient(1, 4, 4), quotient(1, 3, 4)));
  EXPECT_FALSE(at_least(quotient(1, 3, 4), quotient(1, 4, 4)));
  EXPECT_FALSE(at_least(quotient(1, 3, 5), quotient(1, 3, 4)));
}

TEST(LoopSteps, QuotientsOfOneDivisorAreApartByNoMoreThanTheirDividendsTell) {
  const Expr steps = quotient(1, 3, 4) - quotient(1, 0, 4);
  EXPECT_TRUE(at_least(int_constant(1), steps));
  EXPECT_FALSE(at_least(int_constant(0), steps));
  const Expr more = quotient(1, 5, 4) - quotient(1, 0, 4);  // 2 at B = 3
  EXPECT_TRUE(at_least(int_constant(2), more));
  EXPECT_FALSE(at_least(int_constant(1), more));
}

TEST(LoopSteps, ARemainderIsBelowItsDivisor) {
  const Expr remainder = size_value("B") % 4;
  EXPECT_TRUE(at_least(int_constant(3), remainder));
  EXPECT_FALSE(at_least(int_constant(2), remainder));
}

TEST(LoopSteps, ASizeIsNoNumber) {
  EXPECT_FALSE(at_least(size_value("B"), int_constant(1)));
  EXPECT_FALSE(at_least(int_constant(100), size_value("B")));
  EXPECT_FALSE(at_least(size_value("B"), size_value("C")));
}

}  // namespace
}  // namespace emulsion
