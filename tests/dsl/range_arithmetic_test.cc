// Against every value of small ranges, which index_arithmetic.h gives.

#include "dsl/range_arithmetic.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "dsl/index_arithmetic.h"
#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

const std::vector<ExprOp> kUnary = {ExprOp::neg, ExprOp::abs, ExprOp::cast, ExprOp::logical_not};
const std::vector<ExprOp> kBinary = {
    ExprOp::add, ExprOp::sub, ExprOp::mul, ExprOp::div,         ExprOp::mod,
    ExprOp::min, ExprOp::max, ExprOp::eq,  ExprOp::ne,          ExprOp::lt,
    ExprOp::le,  ExprOp::gt,  ExprOp::ge,  ExprOp::logical_and, ExprOp::logical_or};

std::vector<IntegerRange> small_ranges() {
  std::vector<IntegerRange> ranges;
  for (int64_t lowest = -5; lowest <= 5; ++lowest) {
    for (int64_t highest = lowest; highest <= 5; ++highest) ranges.push_back({lowest, highest});
  }
  return ranges;
}

// The smallest range around all values.
IntegerRange all_values(ExprOp op, const IntegerRange& a, const IntegerRange& b) {
  IntegerRange all{kFarthest, -kFarthest};
  for (int64_t x = a.lowest; x <= a.highest; ++x) {
    for (int64_t y = b.lowest; y <= b.highest; ++y) {
      const int64_t value = index_operator(op, x, y).value();
      all = united(all, {value, value});
    }
  }
  return all;
}

std::string described(ExprOp op, const IntegerRange& a, const IntegerRange& b) {
  return to_string(op) + " of " + std::to_string(a.lowest) + " .. " + std::to_string(a.highest) +
         " and " + std::to_string(b.lowest) + " .. " + std::to_string(b.highest);
}

bool is_smallest(ExprOp op, const IntegerRange& b) {
  return op != ExprOp::mod || (b.is_point() && b.lowest > 0);
}

TEST(RangeArithmetic, HasEveryValueAndAsFewOthersAsItSays) {
  for (const IntegerRange& a : small_ranges()) {
    for (const ExprOp op : kUnary) {
      const IntegerRange expected = all_values(op, a, {0, 0}), found = range_of(op, a);
      EXPECT_TRUE(found.contains(expected) && expected.contains(found)) << described(op, a, {});
    }
    for (const IntegerRange& b : small_ranges()) {
      for (const ExprOp op : kBinary) {
        const IntegerRange expected = all_values(op, a, b), found = range_of(op, a, b);
        EXPECT_TRUE(found.contains(expected)) << described(op, a, b);
        EXPECT_TRUE(!is_smallest(op, b) || expected.contains(found)) << described(op, a, b);
      }
    }
  }
}

TEST(RangeArithmetic, ARemainderOfWhatIsBelowEveryDivisorIsThat) {
  const IntegerRange found = range_of(ExprOp::mod, {1, 4}, {5, 9});
  EXPECT_EQ(found.lowest, 1);
  EXPECT_EQ(found.highest, 4);
}

TEST(RangeArithmetic, AChoiceIsWhatItsConditionLeaves) {
  const IntegerRange a{1, 2}, b{8, 9};
  EXPECT_EQ(range_of(ExprOp::select, {1, 1}, a, b).highest, 2);
  EXPECT_EQ(range_of(ExprOp::select, {0, 0}, a, b).lowest, 8);
  EXPECT_EQ(range_of(ExprOp::select, {0, 1}, a, b).lowest, 1);
  EXPECT_EQ(range_of(ExprOp::select, {0, 1}, a, b).highest, 9);
}

TEST(RangeArithmetic, EndsAtTheFarthestNumbers) {
  const IntegerRange far{-kFarthest, kFarthest};
  for (const ExprOp op : {ExprOp::add, ExprOp::sub, ExprOp::mul}) {
    const IntegerRange found = range_of(op, far, far);
    EXPECT_EQ(found.lowest, -kFarthest) << to_string(op);
    EXPECT_EQ(found.highest, kFarthest) << to_string(op);
  }
  const IntegerRange above = range_of(ExprOp::mul, {kFarthest, kFarthest}, {-8, -3});
  EXPECT_EQ(above.lowest, -kFarthest);
  EXPECT_EQ(above.highest, -kFarthest);
}

TEST(RangeArithmetic, UnitesRanges) {
  const IntegerRange found = united({-3, 1}, {5, 7});
  EXPECT_EQ(found.lowest, -3);
  EXPECT_EQ(found.highest, 7);
}

TEST(RangeArithmetic, RefusesWhatIsNoIndex) {
  EXPECT_INTERNAL_ERROR(range_of(ExprOp::exp, {0, 1}), "exp in an index expression");
  EXPECT_INTERNAL_ERROR(range_of(ExprOp::read, {0, 1}), "read in an index expression");
}

}  // namespace
}  // namespace emulsion
