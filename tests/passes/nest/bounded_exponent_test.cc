#include "passes/nest/bounded_exponent.h"

#include <gtest/gtest.h>

#include <cmath>

namespace emulsion {
namespace {

Expr x(DType type) { return read_buffer("x", type, {}); }

TEST(BoundedExponent, IsSeenAgain) {
  EXPECT_TRUE(is_bounded_exponent(bounded_exponent(x(DType::f32))));
  EXPECT_EQ(to_string(bounded_exponent(x(DType::f32))), "min(x[], 0f)");
}

TEST(BoundedExponent, EndsAtANumberThatIsNotAboveZero) {
  EXPECT_TRUE(is_bounded_exponent(min(x(DType::f32), Expr(-1.0f))));
  EXPECT_TRUE(is_bounded_exponent(min(x(DType::f32), Expr(-0.0f))));
  EXPECT_TRUE(is_bounded_exponent(min(x(DType::f32), Expr(-INFINITY))));
  EXPECT_FALSE(is_bounded_exponent(min(x(DType::f32), Expr(1e-30f))));
  EXPECT_FALSE(is_bounded_exponent(min(x(DType::f32), Expr(50.0f))));
  EXPECT_FALSE(is_bounded_exponent(min(x(DType::f32), Expr(NAN))));
}

TEST(BoundedExponent, IsAMinimumWithANumberOnTheRight) {
  EXPECT_FALSE(is_bounded_exponent(x(DType::f32)));
  EXPECT_FALSE(is_bounded_exponent(max(x(DType::f32), Expr(0.0f))));
  EXPECT_FALSE(is_bounded_exponent(min(x(DType::f32), x(DType::f32))));
  EXPECT_FALSE(is_bounded_exponent(min(Expr(0.0f), x(DType::f32))));
}

TEST(BoundedExponent, MayBeLeftOutOnlyWhereItIsProved) {
  const Expr e = x(DType::f32);
  EXPECT_TRUE(without_proved_bound(bounded_exponent(e)).same_as(e));
  EXPECT_TRUE(without_proved_bound(e).same_as(e));
  for (const Expr& written : {min(e, Expr(0.0f)), min(e, Expr(-0.0f)), min(e, Expr(-1.0f))}) {
    EXPECT_TRUE(without_proved_bound(written).same_as(written));
  }
}

// What rewrites the expression of a stage keeps the mark.
TEST(BoundedExponent, IsProvedOfWhatTakesItsPlaceToo) {
  const Expr other = x(DType::f32);
  const Expr moved = transform(exp(bounded_exponent(x(DType::f32))), [&](const Expr& e) {
    return e->op == ExprOp::read ? other : Expr();
  });
  EXPECT_TRUE(without_proved_bound(moved->args[0]).same_as(other));
}

TEST(BoundedExponent, IsOfF32) {
  EXPECT_FALSE(is_bounded_exponent(min(x(DType::f64), Expr(0.0))));
  EXPECT_FALSE(is_bounded_exponent(min(x(DType::i32), Expr(0))));
}

}  // namespace
}  // namespace emulsion
