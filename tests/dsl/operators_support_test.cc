#include "dsl/operators_support.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace emulsion {
namespace {

const Extent kB = Extent::size("B");

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(OperatorCallTest, RefusalsNameOperatorResultAndArgument) {
  OperatorCall call("matmul", "");
  OperatorCall named("matmul", "fc1");
  EXPECT_EQ(message_of([&] {
              call.refuse({2, "b"}, "expected {}", 1);
            }),
            "argument 2 (b) of matmul: expected 1");
  EXPECT_EQ(message_of([&] {
              named.refuse({2, "b"}, "expected {}", 1);
            }),
            "argument 2 (b) of matmul fc1: expected 1");
}

TEST(OperatorCallTest, ErrorsOfComputeAreTheOperators) {
  EXPECT_EQ(message_of([&] {
              OperatorCall("matmul", "fc1").result({Axis("i", 2), Axis("i", 2)}, 0);
            }),
            "result of matmul fc1: expected axes of distinct names, got i twice");
}

TEST(OperatorCallTest, AxesCountFromEitherEnd) {
  OperatorCall call("sum", "");
  EXPECT_EQ(call.normalize_axis({1, "axis"}, -1, 3), 2);
  EXPECT_EQ(call.normalize_axes({1, "axes"}, {2, -3}, 3), (std::vector<int>{0, 2}));
}

TEST(OperatorCallTest, StepsOfALongNameAreNamedAfterTheOperator) {
  OperatorCall call("softmax", std::string(128, 'a'));
  EXPECT_EQ(call.member("max", {Axis("i", 2)}, 1).name(), "softmax_max");
}

TEST(OperatorCallTest, LiteralsKeepTheirSpecialValues) {
  OperatorCall call("add", "");
  EXPECT_TRUE(std::isinf(call.literal({1, "a"}, INFINITY, f32)->float_value));
  EXPECT_TRUE(std::isnan(call.literal({1, "a"}, NAN, f32)->float_value));
  EXPECT_TRUE(std::signbit(call.literal({1, "a"}, -0.0, f64)->float_value));
}

TEST(FloorQuotientTest, RoundsDown) {
  EXPECT_EQ(floor_quotient(7, 2), Extent(3));
  EXPECT_EQ(floor_quotient(-1, 2), Extent(-1));
  EXPECT_EQ(floor_quotient(kB * 4 + 3, 2), kB * 2 + 1);
  EXPECT_EQ(floor_quotient(kB * 4 - 1, 2), kB * 2 - 1);
}

TEST(FloorQuotientTest, IsNothingWhereItIsNotAffine) {
  EXPECT_EQ(floor_quotient(kB, 2), std::nullopt);
  EXPECT_EQ(floor_quotient(kB * 3 + 2, 2), std::nullopt);
}

TEST(NeverNegativeTest, LooksAtTheSmallestSizes) {
  EXPECT_TRUE(never_negative(kB));
  EXPECT_TRUE(never_negative(0));
  EXPECT_FALSE(never_negative(kB - 1));
  EXPECT_FALSE(never_negative(Extent(4) - kB));
}

TEST(CountValueTest, KeepsRunTimeSizes) {
  EXPECT_EQ(to_string(count_value({}, f32)), "1f");
  EXPECT_EQ(to_string(count_value({2, 3}, f64)), "6d");
  EXPECT_EQ(to_string(count_value({1, kB}, f32)), "f32(B)");
}

}  // namespace
}  // namespace emulsion
