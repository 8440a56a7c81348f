#include "backends/interpreter/scalar_functions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

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
  return scalar_function(op, ScalarKind::wrapped_i32)(integer(a), integer(b)).i;
}

float f32_result(ExprOp op, float a, float b = 0) {
  return scalar_function(op, ScalarKind::f32)(f32_scalar(a), f32_scalar(b)).f;
}

int64_t f32_comparison(ExprOp op, float a, float b) {
  return scalar_function(op, ScalarKind::f32)(f32_scalar(a), f32_scalar(b)).i;
}

int64_t to_i32(float value) {
  return cast_function(i32, ScalarKind::wrapped_i32, ScalarKind::f32)(f32_scalar(value), {}).i;
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

TEST(ScalarFunctions, CastsToI32OfWhatDoesNotFitAreDefinedForUs) {
  EXPECT_EQ(to_i32(1e20f), kHighest);
  EXPECT_EQ(to_i32(-1e20f), kLowest);
  EXPECT_EQ(to_i32(2147483648.0f), kHighest);
  EXPECT_EQ(to_i32(std::numeric_limits<float>::infinity()), kHighest);
  EXPECT_EQ(to_i32(kNan), 0);
}

TEST(ScalarFunctions, CastsToBoolAskForNotZero) {
  ScalarFunction cast = cast_function(bool_, ScalarKind::integer, ScalarKind::f32);
  EXPECT_EQ(cast(f32_scalar(0.5f), {}).i, 1);
  EXPECT_EQ(cast(f32_scalar(0), {}).i, 0);
  EXPECT_EQ(cast(f32_scalar(kNan), {}).i, 1);
}

TEST(ScalarFunctions, CastsBetweenFloats) {
  EXPECT_EQ(cast_function(f32, ScalarKind::f32, ScalarKind::f64)(f64_scalar(0.1), {}).f, 0.1f);
  EXPECT_EQ(cast_function(f64, ScalarKind::f64, ScalarKind::f32)(f32_scalar(0.5f), {}).d, 0.5);
  EXPECT_EQ(cast_function(f32, ScalarKind::f32, ScalarKind::wrapped_i32)(integer(-3), {}).f, -3);
}

TEST(ScalarFunctions, RefusesAnOperatorWithoutAMeaning) {
  EXPECT_INTERNAL_ERROR(scalar_function(ExprOp::mod, ScalarKind::f32), "mod has no meaning");
  EXPECT_INTERNAL_ERROR(scalar_function(ExprOp::exp, ScalarKind::wrapped_i32),
                        "exp has no meaning");
  EXPECT_INTERNAL_ERROR(scalar_function(ExprOp::logical_not, ScalarKind::f64),
                        "not has no meaning");
}

}  // namespace
}  // namespace emulsion
