#include "dsl/index_arithmetic.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

TEST(IndexArithmetic, DividesTowardsMinusInfinity) {
  for (int64_t a = -9; a <= 9; ++a) {
    for (int64_t b : {-4, -3, -1, 1, 3, 4}) {
      const int64_t quotient = index_operator(ExprOp::div, a, b).value();
      const int64_t rest = index_operator(ExprOp::mod, a, b).value();
      EXPECT_EQ(quotient * b + rest, a) << a << " / " << b;
      EXPECT_TRUE(b > 0 ? rest >= 0 && rest < b : rest <= 0 && rest > b) << a << " % " << b;
    }
  }
}

TEST(IndexArithmetic, DividesByZeroToZero) {
  EXPECT_EQ(index_operator(ExprOp::div, 7, 0), 0);
  EXPECT_EQ(index_operator(ExprOp::mod, 7, 0), 0);
}

TEST(IndexArithmetic, ComparesToZeroAndOne) {
  EXPECT_EQ(index_operator(ExprOp::lt, 2, 3), 1);
  EXPECT_EQ(index_operator(ExprOp::ge, 2, 3), 0);
  EXPECT_EQ(index_operator(ExprOp::logical_and, 5, -1), 1);
  EXPECT_EQ(index_operator(ExprOp::logical_or, 0, 0), 0);
  EXPECT_EQ(index_operator(ExprOp::logical_not, 5, 0), 0);
}

TEST(IndexArithmetic, HasNoValueThatDoesNotFit) {
  EXPECT_EQ(index_operator(ExprOp::add, kMost, 1), std::nullopt);
  EXPECT_EQ(index_operator(ExprOp::sub, kLeast, 1), std::nullopt);
  EXPECT_EQ(index_operator(ExprOp::mul, kMost, 2), std::nullopt);
  EXPECT_EQ(index_operator(ExprOp::neg, kLeast, 0), std::nullopt);
  EXPECT_EQ(index_operator(ExprOp::abs, kLeast, 0), std::nullopt);
  EXPECT_EQ(index_operator(ExprOp::div, kLeast, -1), std::nullopt);
}

TEST(IndexArithmetic, FitsAtTheEnds) {
  EXPECT_EQ(index_operator(ExprOp::sub, -1, kLeast), kMost);
  EXPECT_EQ(index_operator(ExprOp::mod, kLeast, -1), 0);
  EXPECT_EQ(index_operator(ExprOp::mod, kLeast, 7), 6);  // -2^63 = -8 modulo 7
}

TEST(IndexArithmetic, RefusesWhatIsNoIndex) {
  EXPECT_INTERNAL_ERROR(index_operator(ExprOp::exp, 1, 0), "exp in an index expression");
  EXPECT_INTERNAL_ERROR(index_operator(ExprOp::select, 1, 0), "select in an index expression");
}

TEST(IndexArithmetic, WrapsNarrowTypesAlone) {
  EXPECT_EQ(index_in_type(DType::u8, 256), 0);
  EXPECT_EQ(index_in_type(DType::i8, 128), -128);
  EXPECT_EQ(index_in_type(DType::i32, int64_t{1} << 40), int64_t{1} << 40);
  EXPECT_EQ(index_in_type(DType::boolean, 256), 1);
}

TEST(IndexArithmetic, ACountStaysAtTheGreatestNumber) {
  constexpr int64_t kGreatest = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(saturated_product(6, 7), 42);
  EXPECT_EQ(saturated_product(kGreatest, 0), 0);
  EXPECT_EQ(saturated_product(kGreatest / 2, 3), kGreatest);
}

}  // namespace
}  // namespace emulsion
