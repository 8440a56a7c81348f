#include "passes/rewrite/fold_scalars.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "backends/interpreter/interpret_graph.h"
#include "dsl/graph.h"
#include "dsl/tensor.h"

namespace emulsion {
namespace {

const double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

// The interpreter's value of an expression without reads.
TensorValue interpreted(const Expr& e) {
  return interpret_graph(Graph(compute("y", {}, e)), {}).at("y");
}

std::vector<Expr> values_of(DType dtype) {
  std::vector<double> values = {0, 1, 2, 3, 7, 100};
  if (is_float(dtype)) {
    for (double value : {-0.0, -1.0, 0.1, -2.5, 1e30, 1e-40, kInf, -kInf, kNan}) {
      values.push_back(value);
    }
  } else if (dtype == DType::boolean) {
    values = {0, 1};
  } else {
    values.push_back(static_cast<double>(integer_range(dtype).lowest));
    values.push_back(static_cast<double>(integer_range(dtype).highest));
    if (integer_range(dtype).lowest < 0) values.push_back(-3);
  }
  std::vector<Expr> constants;
  for (double value : values) constants.push_back(constant(dtype, value));
  return constants;
}

// Whether the same bits come out; counts what was folded.
void expect_as_interpreted(const Expr& e, int* folded) {
  const Expr result = fold_scalars(e);
  if (result.same_as(e)) return;
  ++*folded;
  ASSERT_EQ(result->op, ExprOp::constant);
  ASSERT_EQ(result.dtype(), e.dtype());
  const TensorValue expected = interpreted(e);
  const double actual =
      is_float(e.dtype()) ? result->float_value : static_cast<double>(result->int_value);
  if (std::isnan(expected.value(0))) {
    EXPECT_TRUE(std::isnan(actual)) << to_string(e);
  } else {
    EXPECT_EQ(actual, expected.value(0)) << to_string(e);
    EXPECT_EQ(std::signbit(actual), std::signbit(expected.value(0))) << to_string(e);
  }
}

TEST(FoldScalars, EveryBinaryOperatorOfEveryTypeAsTheInterpreterHasIt) {
  int folded = 0;
  for (DType dtype : {DType::i8, DType::u8, DType::i16, DType::u16, DType::i32, f32, f64}) {
    for (ExprOp op :
         {ExprOp::add, ExprOp::sub, ExprOp::mul, ExprOp::div, ExprOp::mod, ExprOp::min, ExprOp::max,
          ExprOp::eq, ExprOp::ne, ExprOp::lt, ExprOp::le, ExprOp::gt, ExprOp::ge}) {
      if (op == ExprOp::mod && is_float(dtype)) continue;
      for (const Expr& a : values_of(dtype)) {
        for (const Expr& b : values_of(dtype)) expect_as_interpreted(binary(op, a, b), &folded);
      }
    }
  }
  EXPECT_GE(folded, 8000);
}

TEST(FoldScalars, EveryUnaryOperatorAndCast) {
  int folded = 0;
  for (DType dtype :
       {DType::boolean, DType::i8, DType::u8, DType::i16, DType::u16, DType::i32, f32, f64}) {
    for (const Expr& a : values_of(dtype)) {
      for (DType to :
           {DType::boolean, DType::i8, DType::u8, DType::i16, DType::u16, DType::i32, f32, f64}) {
        expect_as_interpreted(cast(to, a), &folded);
      }
      if (dtype == DType::boolean) {
        expect_as_interpreted(!a, &folded);
        continue;
      }
      expect_as_interpreted(-a, &folded);
      expect_as_interpreted(abs(a), &folded);
      if (!is_float(dtype)) continue;
      for (const ExprOp op :
           {ExprOp::sqrt, ExprOp::floor, ExprOp::ceil, ExprOp::round, ExprOp::trunc}) {
        expect_as_interpreted(unary(op, a), &folded);
      }
    }
  }
  EXPECT_GE(folded, 600);
}

TEST(FoldScalars, SelectsAndLogic) {
  int folded = 0;
  for (bool a : {false, true}) {
    for (bool b : {false, true}) {
      const Expr x = constant(DType::boolean, a), y = constant(DType::boolean, b);
      expect_as_interpreted(x && y, &folded);
      expect_as_interpreted(x || y, &folded);
      expect_as_interpreted(select(x, constant(f32, 2), constant(f32, 3)), &folded);
    }
  }
  EXPECT_EQ(folded, 12);
}

TEST(FoldScalars, DoesNotFoldWhatAKernelComputesItsOwnWay) {
  const Expr two = constant(f32, 2);
  for (const Expr& e : {exp(two), log(two), tanh(two), erf(two), pow(two, two)}) {
    EXPECT_TRUE(fold_scalars(e).same_as(e)) << to_string(e);
  }
}

TEST(FoldScalars, DoesNotFoldZerosOfTwoSignsOrNaNUnderMinAndMax) {
  for (const Expr& e :
       {max(constant(f32, 0.0), constant(f32, -0.0)), min(constant(f32, 0.0), constant(f32, 0.0)),
        max(constant(f32, kNan), constant(f32, 1))}) {
    EXPECT_TRUE(fold_scalars(e).same_as(e)) << to_string(e);
  }
}

TEST(FoldScalars, DoesNotFoldWhatLeavesI32) {
  const Expr highest = int_constant(2147483647);
  const Expr lowest = int_constant(-2147483647) - int_constant(1);
  EXPECT_TRUE(fold_scalars(highest + int_constant(1))->op == ExprOp::add);
  EXPECT_TRUE(fold_scalars(-lowest)->op == ExprOp::neg);
  EXPECT_TRUE(fold_scalars(highest * highest)->op == ExprOp::mul);
}

TEST(FoldScalars, FoldsBelowWhatItDoesNotFold) {
  Tensor t = input("t", f32, {4});
  const Axis i("i", 4);
  EXPECT_EQ(to_string(fold_scalars(t(i) * (constant(f32, 2) + constant(f32, 3)))), "t[i] * 5f");
  const Expr same = t(i) * constant(f32, 2);
  EXPECT_TRUE(fold_scalars(same).same_as(same));
}

}  // namespace
}  // namespace emulsion
