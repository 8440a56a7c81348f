#include "passes/index/simplify_index.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <random>
#include <string>

#include "passes/nest/loop_nest.h"

namespace emulsion {
namespace {

const Expr a = axis_value("a"), b = axis_value("b");

std::string simplified(const Expr& e) { return to_string(simplify_index(e)); }

TEST(SimplifyIndex, FoldsNumbers) {
  EXPECT_EQ(constant_value(simplify_index(int_constant(7) * int_constant(3) - int_constant(1))),
            20);
  EXPECT_EQ(constant_value(simplify_index(int_constant(-7) / int_constant(2))), -4);
  EXPECT_EQ(constant_value(simplify_index(int_constant(-7) % int_constant(2))), 1);
  EXPECT_EQ(constant_value(simplify_index(int_constant(7) / int_constant(0))), 0);
  EXPECT_EQ(constant_value(simplify_index(min(int_constant(7), int_constant(2)))), 2);
}

TEST(SimplifyIndex, DropsWhatDoesNothing) {
  EXPECT_EQ(simplified(a + 0), "a");
  EXPECT_EQ(simplified(int_constant(0) + a), "a");
  EXPECT_EQ(simplified(a - 0), "a");
  EXPECT_EQ(simplified(a * 1), "a");
  EXPECT_EQ(simplified(a * 0), "0");
  EXPECT_EQ(simplified(a / 1), "a");
  EXPECT_EQ(simplified(a % 1), "0");
  EXPECT_EQ(simplified(a - a), "0");
  EXPECT_EQ(simplified(max(a, a)), "a");
}

TEST(SimplifyIndex, CollectsNumbersOfASum) { EXPECT_EQ(simplified(a + 2 + 3), "a + 5"); }

TEST(SimplifyIndex, WhatIsSimpleIsTheSameNode) {
  for (const Expr& e : {a, a * 4 + b, min(a, b), (a + 3) / 4}) {
    EXPECT_TRUE(simplify_index(e).same_as(e));
  }
}

TEST(SimplifyIndex, LeavesOtherTypesAlone) {
  const Expr e = constant(DType::f32, 1) + constant(DType::f32, 2);
  EXPECT_TRUE(simplify_index(e).same_as(e));
}

TEST(CeilDiv, RoundsUp) {
  EXPECT_EQ(constant_value(ceil_div(int_constant(9), 4)), 3);
  EXPECT_EQ(constant_value(ceil_div(int_constant(8), 4)), 2);
  EXPECT_EQ(constant_value(ceil_div(int_constant(0), 4)), 0);
  EXPECT_EQ(to_string(ceil_div(a, 1)), "a");
}

TEST(ConstantValue, IsNoneOfAnythingElse) {
  EXPECT_EQ(constant_value(a), std::nullopt);
  EXPECT_EQ(constant_value(constant(DType::f32, 1)), std::nullopt);
}

Expr random_index(std::mt19937* engine, int depth) {
  const auto pick = [&](uint32_t n) { return (*engine)() % n; };
  if (depth == 0) return pick(2) == 0 ? (pick(2) == 0 ? a : b) : int_constant(int(pick(7)) - 3);
  static const ExprOp kOps[] = {ExprOp::add, ExprOp::sub, ExprOp::mul, ExprOp::div,
                                ExprOp::mod, ExprOp::min, ExprOp::max};
  return binary(kOps[pick(7)], random_index(engine, depth - 1), random_index(engine, depth - 1));
}

TEST(SimplifyIndex, LeavesWhatI32DoesNotHold) {
  const Expr most = int_constant(INT32_MAX);
  for (const Expr& index : {most + 1, most * 2, int_constant(0) - INT32_MIN, a + most + 1}) {
    EXPECT_TRUE(simplify_index(index).same_as(index)) << to_string(index);
  }
  EXPECT_EQ(to_string(simplify_index(a + most + -1)), "a + 2147483646");
}

TEST(SimplifyIndex, KeepsTheValue) {
  for (uint32_t seed = 1; seed <= 500; ++seed) {
    std::mt19937 engine(seed);
    const Expr index = random_index(&engine, 4);
    const Expr simple = simplify_index(index);
    for (int64_t x : {-5, -1, 0, 1, 4}) {
      for (int64_t y : {-2, 0, 3}) {
        ASSERT_EQ(evaluate_index(simple, {{"a", x}, {"b", y}}),
                  evaluate_index(index, {{"a", x}, {"b", y}}))
            << "seed " << seed << ": " << to_string(index) << " to " << to_string(simple);
      }
    }
  }
}

}  // namespace
}  // namespace emulsion
