#include "dsl/checked_arithmetic.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/dsl/refusal.h"

namespace emulsion {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(CheckedArithmetic, GivesWhatFits) {
  EXPECT_EQ(checked_add(kMax - 1, 1), kMax);
  EXPECT_EQ(checked_add(kMin, kMax), -1);
  EXPECT_EQ(checked_mul(int64_t{1} << 31, int64_t{1} << 31), int64_t{1} << 62);
  EXPECT_EQ(checked_mul(kMin, 1), kMin);
  EXPECT_EQ(checked_mul(0, kMin), 0);
}

class CheckedArithmeticRefusal : public RefusalTest {};
TEST_P(CheckedArithmeticRefusal, NamesTheNumbers) { check(); }
INSTANTIATE_TEST_SUITE_P(
    Table, CheckedArithmeticRefusal,
    ::testing::ValuesIn(std::vector<Refusal>{
        {"SumTooLarge", [] { checked_add(kMax, 1); },
         "9223372036854775807 + 1: does not fit 64 bits"},
        {"SumTooSmall", [] { checked_add(kMin, -1); }, "-9223372036854775808 + -1: does not fit"},
        {"ProductTooLarge", [] { checked_mul(int64_t{1} << 32, int64_t{1} << 31); },
         "4294967296 * 2147483648: does not fit 64 bits"},
        {"NegatedLowest", [] { checked_mul(kMin, -1); }, "-9223372036854775808 * -1: does not fit"},
        {"OfWhatTheCallerSays", [] { checked_mul(kMax, 2, "extent"); },
         "extent 9223372036854775807 * 2: does not fit 64 bits"},
    }),
    refusal_name);

}  // namespace
}  // namespace emulsion
