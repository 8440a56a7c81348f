#include "dsl/expr_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "dsl/expr.h"

namespace emulsion {
namespace {

Expr a() { return read_buffer("a", f32, {axis_value("i")}); }
Expr b() { return read_buffer("b", f32, {}); }
Expr i() { return axis_value("i"); }
Expr j() { return axis_value("j"); }

TEST(ExprText, ReadsNameTheirIndices) {
  EXPECT_EQ(to_string(read_buffer("x", f32, {i(), j() + 1})), "x[i, j + 1]");
  EXPECT_EQ(to_string(b()), "b[]");
}

TEST(ExprText, ParenthesesOnlyWhereTheyAreNeeded) {
  EXPECT_EQ(to_string(a() + b() * a()), "a[i] + b[] * a[i]");
  EXPECT_EQ(to_string((a() + b()) * a()), "(a[i] + b[]) * a[i]");
  EXPECT_EQ(to_string((i() < j() && j() < 3) || !(i() == j())), "i < j && j < 3 || !(i == j)");
  EXPECT_EQ(to_string((i() < 1 || j() < 1) && i() != j()), "(i < 1 || j < 1) && i != j");
}

TEST(ExprText, KeepsTheOrderOfFloatAdditions) {
  EXPECT_EQ(to_string((a() + b()) + a()), "a[i] + b[] + a[i]");
  EXPECT_EQ(to_string(a() + (b() + a())), "a[i] + (b[] + a[i])");
  EXPECT_EQ(to_string(a() - (b() - a())), "a[i] - (b[] - a[i])");
  EXPECT_EQ(to_string(a() / (b() * a())), "a[i] / (b[] * a[i])");
}

TEST(ExprText, IntegerDivisionAndRemainder) {
  EXPECT_EQ(to_string(i() / 4 * 4 + i() % 4), "i / 4 * 4 + i % 4");
}

TEST(ExprText, FunctionsAndCasts) {
  EXPECT_EQ(to_string(max(min(a(), b()), 0)), "max(min(a[i], b[]), 0f)");
  EXPECT_EQ(to_string(pow(a(), -b()) * 2), "pow(a[i], -b[]) * 2f");
  EXPECT_EQ(to_string(erf(tanh(sqrt(log(exp(abs(a()))))))), "erf(tanh(sqrt(log(exp(abs(a[i]))))))");
  EXPECT_EQ(to_string(floor(ceil(round(trunc(a()))))), "floor(ceil(round(trunc(a[i]))))");
  EXPECT_EQ(to_string(select(i() >= 0, cast(f64, a()), 1.5)), "select(i >= 0, f64(a[i]), 1.5d)");
  EXPECT_EQ(to_string(cast(bool_, i())), "bool(i)");
}

TEST(ExprText, ANegativeConstantIsNotANegation) {
  EXPECT_EQ(to_string(a() - constant(f32, -2)), "a[i] - -2f");
  EXPECT_EQ(to_string(-constant(f32, 2)), "-(2f)");
  EXPECT_EQ(to_string(-constant(f32, -2)), "-(-2f)");
  EXPECT_EQ(to_string(-a()), "-a[i]");
  EXPECT_EQ(to_string(-(-a())), "-(-a[i])");
  EXPECT_EQ(to_string(-(a() * b())), "-(a[i] * b[])");
}

TEST(ExprText, ReductionsReachToTheEnd) {
  Expr s = sum({Axis("k", 256), Axis("l", Extent::size("B") + 1)}, a() * b());
  EXPECT_EQ(to_string(s), "sum(k: 256, l: B + 1) a[i] * b[]");
  EXPECT_EQ(to_string(s + 1), "(sum(k: 256, l: B + 1) a[i] * b[]) + 1f");
  EXPECT_EQ(to_string(exp(s)), "exp(sum(k: 256, l: B + 1) a[i] * b[])");
}

TEST(ExprText, IntegersAndBools) {
  EXPECT_EQ(to_string(int_constant(std::numeric_limits<int32_t>::min())), "-2147483648");
  EXPECT_EQ(to_string(Expr(true)), "true");
  EXPECT_EQ(to_string(Expr(false)), "false");
}

TEST(ExprText, FloatsPrintTheShortestDigitsThatReadBack) {
  EXPECT_EQ(float_literal(f32, 0.5), "0.5f");
  EXPECT_EQ(float_literal(f32, 0.1f), "0.1f");
  EXPECT_EQ(float_literal(f64, 0.1f), "0.10000000149011612d");
  EXPECT_EQ(float_literal(f32, 1), "1f");
  EXPECT_EQ(float_literal(f32, -0.0), "-0f");
  EXPECT_EQ(float_literal(f32, std::numeric_limits<float>::max()), "3.4028235e+38f");
  EXPECT_EQ(float_literal(f64, std::numeric_limits<double>::denorm_min()), "5e-324d");
}

TEST(ExprText, InfinityAndNan) {
  EXPECT_EQ(float_literal(f32, INFINITY), "inf(f32)");
  EXPECT_EQ(float_literal(f64, -INFINITY), "-inf(f64)");
  EXPECT_EQ(float_literal(f32, std::numeric_limits<double>::quiet_NaN()), "nan(f32)");
  EXPECT_EQ(float_literal(f64, std::copysign(NAN, -1.0)), "nan(f64, 0xfff8000000000000)");
}

TEST(ExprText, ASizeThatAnAxisHidesIsMarked) {
  Expr e = size_value("B") + axis_value("B") + size_value("T");
  EXPECT_EQ(to_string(size_value("B")), "B");
  EXPECT_EQ(to_string(e, {"B", "m"}), "size(B) + B + T");
}

TEST(ExprText, AnUndefinedExpressionIsShownAsSuch) { EXPECT_EQ(to_string(Expr()), "<undefined>"); }

}  // namespace
}  // namespace emulsion
