#include "backends/interpreter/scalar_functions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

constexpr int64_t kLowest = std::numeric_limits<int32_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int32_t>::max();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Scalar integer(int64_t value) {
  Scalar s;
  s.i = value;
  return s;
}

Scalar f32_scalar(float value) {
  Scalar s;
  s.f = value;
  return s;
}

Scalar f64_scalar(double value) {
  Scalar s;
  s.d = value;
  return s;
}

int64_t i32_result(ExprOp op, int64_t a, int64_t b = 0) {
  return scalar_function(op, ScalarKind::i32)(integer(a), integer(b)).i;
}

float f32_result(ExprOp op, float a, float b = 0) {
  return scalar_function(op, ScalarKind::f32)(f32_scalar(a), f32_scalar(b)).f;
}

int64_t f32_comparison(ExprOp op, float a, float b) {
  return scalar_function(op, ScalarKind::f32)(f32_scalar(a), f32_scalar(b)).i;
}

int64_t to_i32(float value) {
  return cast_function(i32, ScalarKind::i32, ScalarKind::f32)(f32_scalar(value), {}).i;
}

TEST(ScalarFunctions, I32Wraps) {
  EXPECT_EQ(i32_result(ExprOp::add, kHighest, 1), kLowest);
  EXPECT_EQ(i32_result(ExprOp::sub, kLowest, 1), kHighest);
  EXPECT_EQ(i32_result(ExprOp::mul, 65536, 65536), 0);
  EXPECT_EQ(i32_result(ExprOp::neg, kLowest), kLowest);
  EXPECT_EQ(i32_result(ExprOp::abs, kLowest), kLowest);
  EXPECT_EQ(i32_result(ExprOp::div, kLowest, -1), kLowest);
}

TEST(ScalarFunctions, AnIndexDoesNotWrap) {
  ScalarFunction add = scalar_function(ExprOp::add, ScalarKind::integer);
  EXPECT_EQ(add(integer(kHighest), integer(1)).i, kHighest + 1);
}

// What a processor cannot divide.
TEST(ScalarFunctions, TheLeastIndexIsDividedByMinusOne) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  for (const auto& [op, expected] : {std::pair(ExprOp::div, kLeast), {ExprOp::mod, int64_t{0}}}) {
    const ScalarFunction function = scalar_function(op, ScalarKind::integer);
    EXPECT_EQ(function(integer(kLeast), integer(-1)).i, expected) << to_string(op);
  }
}

TEST(ScalarFunctions, I32DivisionRoundsTowardsMinusInfinity) {
  EXPECT_EQ(i32_result(ExprOp::div, 7, 2), 3);
  EXPECT_EQ(i32_result(ExprOp::div, -7, 2), -4);
  EXPECT_EQ(i32_result(ExprOp::div, 7, -2), -4);
  EXPECT_EQ(i32_result(ExprOp::div, -8, 2), -4);
}

TEST(ScalarFunctions, I32ModHasTheSignOfTheDivisor) {
  EXPECT_EQ(i32_result(ExprOp::mod, -7, 3), 2);
  EXPECT_EQ(i32_result(ExprOp::mod, 7, -3), -2);
  EXPECT_EQ(i32_result(ExprOp::mod, kLowest, -1), 0);
}

TEST(ScalarFunctions, I32DivisionByZeroGivesZero) {
  EXPECT_EQ(i32_result(ExprOp::div, 7, 0), 0);
  EXPECT_EQ(i32_result(ExprOp::mod, 7, 0), 0);
}

TEST(ScalarFunctions, MinAndMaxPropagateNanFromEitherSide) {
  for (ExprOp op : {ExprOp::min, ExprOp::max}) {
    EXPECT_TRUE(std::isnan(f32_result(op, kNan, 1)));
    EXPECT_TRUE(std::isnan(f32_result(op, 1, kNan)));
  }
  EXPECT_EQ(f32_result(ExprOp::min, 2, 1), 1);
  EXPECT_EQ(f32_result(ExprOp::max, 2, 1), 2);
  EXPECT_EQ(i32_result(ExprOp::min, -3, 4), -3);
}

TEST(ScalarFunctions, OfEqualNumbersMinAndMaxGiveTheFirst) {
  for (ExprOp op : {ExprOp::min, ExprOp::max}) {
    EXPECT_TRUE(std::signbit(f32_result(op, -0.0f, 0.0f))) << to_string(op);
    EXPECT_FALSE(std::signbit(f32_result(op, 0.0f, -0.0f))) << to_string(op);
  }
}

TEST(ScalarFunctions, ComparisonsWithNanAreFalseExceptNe) {
  for (ExprOp op : {ExprOp::eq, ExprOp::lt, ExprOp::le, ExprOp::gt, ExprOp::ge}) {
    EXPECT_EQ(f32_comparison(op, kNan, 1), 0) << to_string(op);
    EXPECT_EQ(f32_comparison(op, kNan, kNan), 0) << to_string(op);
  }
  EXPECT_EQ(f32_comparison(ExprOp::ne, kNan, kNan), 1);
}

TEST(ScalarFunctions, ComparisonsOrder) {
  EXPECT_EQ(f32_comparison(ExprOp::lt, 1, 2), 1);
  EXPECT_EQ(f32_comparison(ExprOp::le, 2, 2), 1);
  EXPECT_EQ(f32_comparison(ExprOp::gt, 1, 2), 0);
  EXPECT_EQ(i32_result(ExprOp::ge, -1, -1), 1);
  EXPECT_EQ(i32_result(ExprOp::eq, 3, 4), 0);
}

TEST(ScalarFunctions, F32IsRoundedAfterEveryOperation) {
  EXPECT_EQ(f32_result(ExprOp::add, 16777216.0f, 1.0f), 16777216.0f);
  ScalarFunction add = scalar_function(ExprOp::add, ScalarKind::f64);
  EXPECT_EQ(add(f64_scalar(16777216.0), f64_scalar(1.0)).d, 16777217.0);
}

TEST(ScalarFunctions, FloatDivisionByZeroIsIeee) {
  EXPECT_TRUE(std::isinf(f32_result(ExprOp::div, 1, 0)));
  EXPECT_TRUE(std::isnan(f32_result(ExprOp::div, 0, 0)));
}

TEST(ScalarFunctions, Transcendental) {
  EXPECT_EQ(f32_result(ExprOp::exp, 0), 1);
  EXPECT_EQ(f32_result(ExprOp::log, 1), 0);
  EXPECT_EQ(f32_result(ExprOp::sqrt, 9), 3);
  EXPECT_EQ(f32_result(ExprOp::tanh, 100), 1);
  EXPECT_EQ(f32_result(ExprOp::erf, 0), 0);
  EXPECT_EQ(f32_result(ExprOp::abs, -2), 2);
  EXPECT_EQ(f32_result(ExprOp::neg, 2), -2);
  EXPECT_TRUE(std::isnan(f32_result(ExprOp::sqrt, -1)));
}

TEST(ScalarFunctions, WholeNumbers) {
  EXPECT_EQ(f32_result(ExprOp::floor, -1.5f), -2);
  EXPECT_EQ(f32_result(ExprOp::ceil, -1.5f), -1);
  EXPECT_EQ(f32_result(ExprOp::trunc, -1.5f), -1);
  EXPECT_EQ(f32_result(ExprOp::round, 0.5f), 0);
  EXPECT_EQ(f32_result(ExprOp::round, 1.5f), 2);
  EXPECT_EQ(f32_result(ExprOp::round, -2.5f), -2);
  for (ExprOp op : {ExprOp::ceil, ExprOp::trunc, ExprOp::round}) {
    EXPECT_TRUE(std::signbit(f32_result(op, -0.25f))) << to_string(op);
    EXPECT_TRUE(std::isnan(f32_result(op, kNan))) << to_string(op);
  }
  EXPECT_INTERNAL_ERROR(scalar_function(ExprOp::floor, ScalarKind::i32), "floor has no meaning");
}

TEST(ScalarFunctions, PowIsThatOfNumpy) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(f32_result(ExprOp::pow, -2, 3), -8);
  EXPECT_TRUE(std::isnan(f32_result(ExprOp::pow, -2, 0.5f)));
  EXPECT_EQ(f32_result(ExprOp::pow, kNan, 0), 1);
  EXPECT_EQ(f32_result(ExprOp::pow, 1, kNan), 1);
  EXPECT_EQ(f32_result(ExprOp::pow, 0, -1), infinity);
  EXPECT_EQ(f32_result(ExprOp::pow, -0.0f, -1), -infinity);
  ScalarFunction pow = scalar_function(ExprOp::pow, ScalarKind::f64);
  EXPECT_EQ(pow(f64_scalar(3), f64_scalar(33)).d, 5559060566555523);
}

TEST(ScalarFunctions, Logic) {
  auto logic = [](ExprOp op, int64_t a, int64_t b) {
    return scalar_function(op, ScalarKind::integer)(integer(a), integer(b)).i;
  };
  EXPECT_EQ(logic(ExprOp::logical_and, 1, 0), 0);
  EXPECT_EQ(logic(ExprOp::logical_or, 1, 0), 1);
  EXPECT_EQ(logic(ExprOp::logical_not, 1, 0), 0);
}

TEST(ScalarFunctions, CastsToI32Truncate) {
  EXPECT_EQ(to_i32(2.9f), 2);
  EXPECT_EQ(to_i32(-2.9f), -2);
}

TEST(ScalarFunctions, CastsToI32OfWhatDoesNotFitSaturate) {
  EXPECT_EQ(to_i32(1e20f), kHighest);
  EXPECT_EQ(to_i32(-1e20f), kLowest);
  EXPECT_EQ(to_i32(2147483648.0f), kHighest);
  EXPECT_EQ(to_i32(std::numeric_limits<float>::infinity()), kHighest);
  EXPECT_EQ(to_i32(kNan), 0);
}

// One operator on the values of a narrow type, against 64-bit arithmetic taken modulo 2^bits: all
// pairs of 8-bit values, and pairs around the ends and 0 of the 16-bit types.
template <typename T>
void expect_wraps(ScalarKind kind, ExprOp op, int64_t (*wide)(int64_t, int64_t)) {
  SCOPED_TRACE(to_string(op) + " of " + to_string(dtype_of<T>()));
  std::vector<int64_t> values;
  const int64_t lowest = std::numeric_limits<T>::min(), highest = std::numeric_limits<T>::max();
  for (int64_t v = lowest; v <= highest; ++v) {
    if (sizeof(T) == 1 || v < lowest + 40 || v > highest - 40 || (v >= -40 && v <= 40)) {
      values.push_back(v);
    }
  }
  ScalarFunction function = scalar_function(op, kind);
  for (int64_t a : values) {
    for (int64_t b : values) {
      ASSERT_EQ(function(integer(a), integer(b)).i, static_cast<T>(wide(a, b))) << a << ", " << b;
    }
  }
}

template <typename T>
void expect_wraps(ScalarKind kind) {
  expect_wraps<T>(kind, ExprOp::add, [](int64_t a, int64_t b) { return a + b; });
  expect_wraps<T>(kind, ExprOp::sub, [](int64_t a, int64_t b) { return a - b; });
  expect_wraps<T>(kind, ExprOp::mul, [](int64_t a, int64_t b) { return a * b; });
  expect_wraps<T>(kind, ExprOp::neg, [](int64_t a, int64_t) { return -a; });
  expect_wraps<T>(kind, ExprOp::abs, [](int64_t a, int64_t) { return a < 0 ? -a : a; });
  expect_wraps<T>(kind, ExprOp::div, [](int64_t a, int64_t b) {
    return b == 0 ? 0 : static_cast<int64_t>(std::floor(static_cast<double>(a) / b));
  });
  expect_wraps<T>(kind, ExprOp::mod, [](int64_t a, int64_t b) {
    return b == 0 ? 0 : a - b * static_cast<int64_t>(std::floor(static_cast<double>(a) / b));
  });
  expect_wraps<T>(kind, ExprOp::min, [](int64_t a, int64_t b) { return std::min(a, b); });
  expect_wraps<T>(kind, ExprOp::max, [](int64_t a, int64_t b) { return std::max(a, b); });
  expect_wraps<T>(kind, ExprOp::lt, [](int64_t a, int64_t b) -> int64_t { return a < b; });
}

TEST(ScalarFunctions, NarrowIntegersWrap) {
  expect_wraps<int8_t>(ScalarKind::i8);
  expect_wraps<uint8_t>(ScalarKind::u8);
  expect_wraps<int16_t>(ScalarKind::i16);
  expect_wraps<uint16_t>(ScalarKind::u16);
}

TEST(ScalarFunctions, NarrowIntegersAtTheirEnds) {
  auto of = [](ScalarKind kind, ExprOp op, int64_t a, int64_t b) {
    return scalar_function(op, kind)(integer(a), integer(b)).i;
  };
  EXPECT_EQ(of(ScalarKind::i8, ExprOp::add, 127, 1), -128);
  EXPECT_EQ(of(ScalarKind::i8, ExprOp::div, -128, -1), -128);
  EXPECT_EQ(of(ScalarKind::i8, ExprOp::abs, -128, 0), -128);
  EXPECT_EQ(of(ScalarKind::u8, ExprOp::mul, 255, 255), 1);
  EXPECT_EQ(of(ScalarKind::u8, ExprOp::sub, 0, 1), 255);
  EXPECT_EQ(of(ScalarKind::i16, ExprOp::mul, -32768, -1), -32768);
  EXPECT_EQ(of(ScalarKind::u16, ExprOp::neg, 1, 0), 65535);
}

TEST(ScalarFunctions, CastsBetweenIntegersWrap) {
  auto cast = [](DType to, ScalarKind kind, int64_t value) {
    return cast_function(to, kind, ScalarKind::i32)(integer(value), {}).i;
  };
  EXPECT_EQ(cast(u8, ScalarKind::u8, -1), 255);
  EXPECT_EQ(cast(i8, ScalarKind::i8, 200), -56);
  EXPECT_EQ(cast(i16, ScalarKind::i16, 65535 + 65536), -1);
  EXPECT_EQ(cast(u16, ScalarKind::u16, -32768), 32768);
}

TEST(ScalarFunctions, CastsFromFloatToNarrowIntegersSaturate) {
  auto cast = [](DType to, ScalarKind kind, float value) {
    return cast_function(to, kind, ScalarKind::f32)(f32_scalar(value), {}).i;
  };
  EXPECT_EQ(cast(u8, ScalarKind::u8, 255.9f), 255);
  EXPECT_EQ(cast(u8, ScalarKind::u8, 256.0f), 255);
  EXPECT_EQ(cast(u8, ScalarKind::u8, -0.9f), 0);
  EXPECT_EQ(cast(u8, ScalarKind::u8, -300.0f), 0);
  EXPECT_EQ(cast(i8, ScalarKind::i8, -128.9f), -128);
  EXPECT_EQ(cast(i8, ScalarKind::i8, 1e10f), 127);
  EXPECT_EQ(cast(i16, ScalarKind::i16, -1e10f), -32768);
  EXPECT_EQ(cast(u16, ScalarKind::u16, std::numeric_limits<float>::infinity()), 65535);
  EXPECT_EQ(cast(u16, ScalarKind::u16, kNan), 0);
}

TEST(ScalarFunctions, CastsToBoolAskForNotZero) {
  ScalarFunction cast = cast_function(bool_, ScalarKind::integer, ScalarKind::f32);
  EXPECT_EQ(cast(f32_scalar(0.5f), {}).i, 1);
  EXPECT_EQ(cast(f32_scalar(-0.5f), {}).i, 1);
  EXPECT_EQ(cast(f32_scalar(0), {}).i, 0);
  EXPECT_EQ(cast(f32_scalar(kNan), {}).i, 1);
}

TEST(ScalarFunctions, CastsBetweenFloats) {
  EXPECT_EQ(cast_function(f32, ScalarKind::f32, ScalarKind::f64)(f64_scalar(0.1), {}).f, 0.1f);
  EXPECT_EQ(cast_function(f64, ScalarKind::f64, ScalarKind::f32)(f32_scalar(0.5f), {}).d, 0.5);
  EXPECT_EQ(cast_function(f32, ScalarKind::f32, ScalarKind::i32)(integer(-3), {}).f, -3);
}

TEST(ScalarFunctions, RefusesAnOperatorWithoutAMeaning) {
  EXPECT_INTERNAL_ERROR(scalar_function(ExprOp::mod, ScalarKind::f32), "mod has no meaning");
  EXPECT_INTERNAL_ERROR(scalar_function(ExprOp::pow, ScalarKind::i32), "pow has no meaning");
  EXPECT_INTERNAL_ERROR(scalar_function(ExprOp::exp, ScalarKind::i32), "exp has no meaning");
  EXPECT_INTERNAL_ERROR(scalar_function(ExprOp::logical_not, ScalarKind::f64),
                        "not has no meaning");
}

}  // namespace
}  // namespace emulsion
