#include "passes/index/interval_program.h"

#include <gtest/gtest.h>

#include "passes/nest/loop_nest.h"
#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

// i is slot 0, j is slot 1.
int slot_of(const std::string& name) { return name == "i" ? 0 : 1; }

IntegerRange range(const Expr& e, IntegerRange i, IntegerRange j = {0, 0}) {
  return IntervalProgram(e, slot_of).range({i, j});
}

const Expr i = axis_value("i");
const Expr j = axis_value("j");

std::vector<Expr> expressions() {
  Expr three = int_constant(3), minus = int_constant(-2);
  std::vector<Expr> all = {
      i + j,
      i - j,
      i * j,
      i * minus,
      i / three,
      i / minus,
      i % three,
      i % minus,
      i / j,
      i % j,
      min(i, three),
      max(i, j),
      -i,
      abs(i),
      (i * three + j) / three,
      (i + three) % three,
      min(i * three + j, int_constant(5)) - j,
  };
  std::vector<Expr> conditions = {i<j, i <= j, i> j, i >= j, i == j, i != j, !(i < j)};
  conditions.push_back(i < three && j < three);
  conditions.push_back(i < minus || j == three);
  for (const Expr& condition : conditions) all.push_back(select(condition, i, j * three));
  return all;
}

// Against every value of every pair of small boxes.
TEST(IntervalProgram, ContainsEveryValue) {
  for (const Expr& e : expressions()) {
    for (int64_t low = -4; low <= 4; ++low) {
      for (int64_t high = low; high <= 4; high += 2) {
        const IntegerRange of_i{low, high}, of_j{-high, -low + 1};
        const IntegerRange found = range(e, of_i, of_j);
        for (int64_t a = of_i.lowest; a <= of_i.highest; ++a) {
          for (int64_t b = of_j.lowest; b <= of_j.highest; ++b) {
            const int64_t value = evaluate_index(e, {{"i", a}, {"j", b}});
            ASSERT_TRUE(found.lowest <= value && value <= found.highest)
                << to_string(e) << " = " << value << " at " << a << ", " << b << ": ["
                << found.lowest << ", " << found.highest << "]";
          }
        }
      }
    }
  }
}

TEST(IntervalProgram, OfPointsIsTheValue) {
  for (const Expr& e : expressions()) {
    if (e->op == ExprOp::mod) continue;  // exact for divisors of 1 and more only
    for (int64_t a = -4; a <= 4; ++a) {
      for (int64_t b = -4; b <= 4; ++b) {
        const IntegerRange found = range(e, {a, a}, {b, b});
        ASSERT_TRUE(found.is_point()) << to_string(e);
        ASSERT_EQ(found.lowest, evaluate_index(e, {{"i", a}, {"j", b}})) << to_string(e);
      }
    }
  }
}

TEST(IntervalProgram, IsExactWhereEachVariableOccursOnce) {
  IntegerRange tile = range(min(j * int_constant(32) + i, int_constant(99)), {0, 31}, {3, 3});
  EXPECT_EQ(tile.lowest, 96);
  EXPECT_EQ(tile.highest, 99);
  IntegerRange panel = range((i + int_constant(64)) / int_constant(64), {0, 63});
  EXPECT_EQ(panel.lowest, 1);
  EXPECT_EQ(panel.highest, 1);
  IntegerRange lane = range((i + int_constant(64)) % int_constant(64), {0, 63});
  EXPECT_EQ(lane.lowest, 0);
  EXPECT_EQ(lane.highest, 63);
}

TEST(IntervalProgram, NamesItsSlotsOnce) {
  EXPECT_EQ(IntervalProgram(i * int_constant(2) + i, slot_of).slots(), std::vector<int>{0});
  EXPECT_EQ(IntervalProgram(j + i, slot_of).slots(), (std::vector<int>{1, 0}));
  EXPECT_TRUE(IntervalProgram(int_constant(7), slot_of).slots().empty());
}

TEST(IntervalProgram, TakesLongExpressions) {
  Expr sum = i;
  for (int n = 0; n < 100; ++n) sum = sum + j;
  IntegerRange found = range(sum, {1, 2}, {1, 1});
  EXPECT_EQ(found.lowest, 101);
  EXPECT_EQ(found.highest, 102);
}

void expect_range(const Expr& e, int64_t low, int64_t high) {
  const IntegerRange found = range(e, {0, 5}, {0, 3});
  EXPECT_EQ(found.lowest, low) << to_string(e);
  EXPECT_EQ(found.highest, high) << to_string(e);
}

TEST(IntervalProgram, TakesDataForWhateverItsTypeHolds) {
  const Expr whole = read_buffer("x", i32, {i}), byte = read_buffer("b", u8, {i});
  const Expr real = read_buffer("f", f32, {i});
  expect_range(whole, INT32_MIN, INT32_MAX);
  expect_range(cast(i32, byte), 0, 255);
  expect_range(cast(i32, byte) / int_constant(16) + i, 0, 20);
  expect_range(clamp(whole, 0, 4), 0, 4);
  expect_range(whole % int_constant(7), 0, 6);
  expect_range(cast(i32, real), INT32_MIN, INT32_MAX);
  expect_range(select(real > 0.5f, i, i + 7), 0, 12);
  expect_range(select(read_buffer("p", bool_, {i}), j, -1), -1, 3);
}

TEST(IntervalProgram, TakesDataThatWrapsForWhateverItsTypeHolds) {
  const Expr whole = read_buffer("x", i32, {i}), byte = read_buffer("b", u8, {i});
  expect_range(cast(i32, byte + constant(u8, 10)), 0, 255);
  expect_range(cast(i32, cast(u8, whole)), 0, 255);
  expect_range(cast(i32, cast(i8, byte)), -128, 127);
  expect_range(max(whole * whole * whole * whole, 0), 0, INT32_MAX);
}

TEST(IntervalProgram, TakesWhatIsCastToANarrowTypeForWhateverThatHolds) {
  expect_range(cast(i32, cast(i8, i * 25)), 0, 125);
  expect_range(cast(i32, cast(i8, i * 40)), -128, 127);
  expect_range(cast(i32, cast(u8, j - 1)), 0, 255);
}

TEST(IntervalProgram, OfDataDependsOnNoSlot) {
  const Expr whole = read_buffer("x", i32, {i});
  EXPECT_EQ(IntervalProgram(whole + j, slot_of).slots(), std::vector<int>{1});
}

TEST(IntervalProgramRefuses, WhatIsNoIndex) {
  EXPECT_INTERNAL_ERROR(IntervalProgram(constant(f32, 1), slot_of), "not an index");
  EXPECT_INTERNAL_ERROR(IntervalProgram(Expr(), slot_of), "not an index: nothing");
}

}  // namespace
}  // namespace emulsion
