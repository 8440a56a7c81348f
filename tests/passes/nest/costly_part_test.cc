#include "passes/nest/costly_part.h"

#include <gtest/gtest.h>

#include <string>

#include "dsl/tensor.h"

namespace emulsion {
namespace {

const Axis n("n", 5), c("c", 7);
const Tensor x = input("x", f32, {5, 7}), v = input("v", f32, {7}), w = input("w", f32, {7});
const Tensor k = input("k", i32, {7});

// Of a part along c; "none" where there is none.
std::string part_of(const Expr& e, const std::string& axis = "c") {
  const Expr part = costly_part(e, axis);
  return part.defined() ? to_string(part) : "none";
}

TEST(CostlyPart, IsAsLargeAsItCanBe) {
  EXPECT_EQ(part_of(x(n, c) / sqrt(v(c) + 1.0f)), "sqrt(v[c] + 1f)");
  EXPECT_EQ(part_of((x(n, c) - w(c)) * (w(c) / sqrt(v(c)))), "w[c] / sqrt(v[c])");
}

TEST(CostlyPart, IsTheFirst) {
  EXPECT_EQ(part_of(x(n, c) * exp(v(c)) + sqrt(w(c))), "exp(v[c])");
  EXPECT_EQ(part_of(x(n, c) * (v(c) + w(c)) + sqrt(w(c))), "sqrt(w[c])");
}

TEST(CostlyPart, TakesLong) {
  const Expr any = x(n, c);
  EXPECT_EQ(part_of(any * (v(c) / 3.0f)), "v[c] / 3f");
  EXPECT_EQ(part_of(any * log(v(c))), "log(v[c])");
  EXPECT_EQ(part_of(any * tanh(v(c))), "tanh(v[c])");
  EXPECT_EQ(part_of(any * erf(v(c))), "erf(v[c])");
  EXPECT_EQ(part_of(any * pow(v(c), 2.5f)), "pow(v[c], 2.5f)");
}

TEST(CostlyPart, OfWhatTakesNoTimeThereIsNone) {
  EXPECT_EQ(part_of(x(n, c) * (v(c) * w(c) + 1.0f)), "none");
  EXPECT_EQ(part_of(x(n, c) * cast(f32, k(c) / 3)), "none");
}

TEST(CostlyPart, OfOtherAxesThereIsNone) {
  EXPECT_EQ(part_of(x(n, c) / sqrt(x(n, c))), "none");
  EXPECT_EQ(part_of(x(n, c) / sqrt(v(c)), "n"), "none");
  EXPECT_EQ(part_of(x(n, c) / sqrt(constant(f32, 2.0))), "none");
}

TEST(CostlyPart, OfWhatDependsOnTheAxisAloneThereIsNone) {
  EXPECT_EQ(part_of(sqrt(v(c)) + 1.0f), "none");
}

TEST(CostlyPart, IsNotGuarded) {
  const Expr guarded = select(Expr(c) > 2, sqrt(v(c)), 0.0f);
  EXPECT_EQ(part_of(select(x(n, c) > 0.0f, x(n, c) / sqrt(v(c)), 0.0f)), "none");
  EXPECT_EQ(part_of(select(x(n, c) > 0.0f, 0.0f, x(n, c) / sqrt(v(c)))), "none");
  EXPECT_EQ(part_of(cast(f32, x(n, c) > 0.0f && x(n, c) > sqrt(v(c)))), "none");
  EXPECT_EQ(part_of(cast(f32, x(n, c) > 0.0f || x(n, c) > sqrt(v(c)))), "none");
  EXPECT_EQ(part_of(select(x(n, c) > sqrt(v(c)), 1.0f, 0.0f)), "sqrt(v[c])");
  EXPECT_EQ(part_of(x(n, c) * guarded), to_string(guarded));  // with its guard
}

TEST(CostlyPart, IsInNoIndex) {
  EXPECT_EQ(part_of(x(n, clamp(cast(i32, sqrt(v(c))), 0, 6))), "none");
}

TEST(CostlyPart, IsOfAFloatType) {
  EXPECT_EQ(part_of(cast(f32, cast(i32, sqrt(v(c))) + Expr(n))), "sqrt(v[c])");
  EXPECT_EQ(part_of(x(n, c) * cast(f32, sqrt(v(c)) > 1.0f)), "f32(sqrt(v[c]) > 1f)");
}

}  // namespace
}  // namespace emulsion
