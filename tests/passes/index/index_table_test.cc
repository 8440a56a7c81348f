#include "passes/index/index_table.h"

#include <gtest/gtest.h>

#include <random>

#include "passes/nest/loop_nest.h"
#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

const Expr a = axis_value("a");
const Expr b = axis_value("b");

// All pairs of a few numbers.
IndexTable table_of_pairs() {
  IndexColumn first, second;
  for (int64_t x : {-5, -1, 0, 1, 4, 300}) {
    for (int64_t y : {-2, 0, 3}) {
      first.push_back(x);
      second.push_back(y);
    }
  }
  IndexTable table(first.size());
  table.set("a", first);
  table.set("b", second);
  return table;
}

PointMask everywhere(const IndexTable& table) { return PointMask(table.points(), 1); }

// One point, a = 2^40.
IndexTable table_of_a_large_number() {
  IndexTable table(1);
  table.set("a", {int64_t{1} << 40});
  return table;
}

Expr random_index(std::mt19937* engine, int depth);

Expr random_condition(std::mt19937* engine, int depth) {
  static const ExprOp kComparisons[] = {ExprOp::eq, ExprOp::ne, ExprOp::lt,
                                        ExprOp::le, ExprOp::gt, ExprOp::ge};
  Expr one = binary(kComparisons[(*engine)() % 6], random_index(engine, depth),
                    random_index(engine, depth));
  Expr other = binary(kComparisons[(*engine)() % 6], random_index(engine, depth),
                      random_index(engine, depth));
  return (*engine)() % 2 ? one && !other : one || other;
}

Expr random_index(std::mt19937* engine, int depth) {
  const auto pick = [&](uint32_t n) { return (*engine)() % n; };
  if (depth == 0) return pick(2) == 0 ? (pick(2) == 0 ? a : b) : int_constant(int(pick(7)) - 3);
  Expr x = random_index(engine, depth - 1), y = random_index(engine, depth - 1);
  switch (pick(10)) {
    case 0:
      return select(random_condition(engine, depth - 1), x, y);
    case 1:
      return cast(DType::i32, cast(DType::u8, x) + cast(DType::u8, y));
    case 2:
      return abs(x) - y;
    default:
      static const ExprOp kOps[] = {ExprOp::add, ExprOp::sub, ExprOp::mul, ExprOp::div,
                                    ExprOp::mod, ExprOp::min, ExprOp::max};
      return binary(kOps[pick(7)], x, y);
  }
}

TEST(IndexTable, ASizeMayHaveTheNameOfAnAxis) {
  IndexTable table(2);
  table.set_size("B", {9, 10});
  EXPECT_EQ(table.values(size_value("B"), everywhere(table)), (IndexColumn{9, 10}));
  EXPECT_ERROR(table.values(axis_value("B"), everywhere(table)),
               "axis B: expected a value, got none");
  table.set("B", {1, 2});
  EXPECT_EQ(table.values(size_value("B") - axis_value("B"), everywhere(table)),
            (IndexColumn{8, 8}));
  EXPECT_INTERNAL_ERROR(table.set_size("B", {1}), "1 values of B for 2 points");
}

TEST(IndexTable, HasTheValuesOfEvaluateIndex) {
  for (uint32_t seed = 1; seed <= 300; ++seed) {
    std::mt19937 engine(seed);
    const Expr index = random_index(&engine, 3);
    IndexTable table = table_of_pairs();
    const IndexColumn& values = table.values(index, everywhere(table));
    const auto& variables = table.variables();
    for (size_t i = 0; i < table.points(); ++i) {
      ASSERT_EQ(values[i],
                evaluate_index(index, {{"a", variables.at("a")[i]}, {"b", variables.at("b")[i]}}))
          << "seed " << seed << ": " << to_string(index);
    }
  }
}

TEST(IndexTable, KnowsSizesAndConstants) {
  IndexTable table(2);
  table.set("B", {0, 7});
  EXPECT_EQ(table.values(size_value("B"), {1, 1}), (IndexColumn{0, 7}));
  EXPECT_EQ(table.values(int_constant(3), {1, 1}), (IndexColumn{3, 3}));
  EXPECT_EQ(table.values(size_value("B") / 4, {1, 1}), (IndexColumn{0, 1}));
}

TEST(IndexTable, KeepsExpressionsThatWereMadeForIt) {
  IndexTable table = table_of_pairs();
  for (int i = 1; i < 50; ++i) {  // each may be where the last one was
    EXPECT_EQ(table.values(a + i, everywhere(table))[0], -5 + i);
  }
}

TEST(IndexTable, AsksNotForTheSideThatIsNotTaken) {
  IndexTable table = table_of_a_large_number();
  EXPECT_EQ(table.values(select(a > 0, 5, a * a), {1}), IndexColumn{5});
  EXPECT_EQ(table.values(a > 0 || a * a > 0, {1}), IndexColumn{1});
  EXPECT_EQ(table.values(a < 0 && a * a > 0, {1}), IndexColumn{0});
}

TEST(IndexTable, AsksNotForPointsThatAreLeftOut) {
  IndexTable table(2);
  table.set("a", {3, int64_t{1} << 40});
  EXPECT_EQ(table.values(a * a, {1, 0})[0], 9);
  EXPECT_ERROR(table.values(a * a, {0, 1}), "a * a: does not fit 64 bits");
}

TEST(IndexTable, RefusesAnOverflow) {
  IndexTable table = table_of_a_large_number();
  EXPECT_ERROR(table.values(a * a, {1}), "does not fit 64 bits");
  EXPECT_ERROR(table.values(min(a * a, 7), {1}), "does not fit 64 bits");
  EXPECT_ERROR(table.values((a * a) % 8, {1}), "does not fit 64 bits");
  EXPECT_ERROR(table.values(select(a * a > 0, 1, 2), {1}), "does not fit 64 bits");
  EXPECT_ERROR(table.values(a * a > 0 && a < 0, {1}), "does not fit 64 bits");
}

TEST(IndexTable, RefusesANameWithoutValues) {
  IndexTable table = table_of_pairs();
  EXPECT_ERROR(table.values(axis_value("y.mo") + 1, everywhere(table)),
               "axis y.mo: expected a value");
  EXPECT_ERROR(table.values(size_value("B"), everywhere(table)), "size B: expected a value");
}

TEST(IndexTable, RefusesWhatIsNoIndex) {
  IndexTable table = table_of_pairs();
  EXPECT_INTERNAL_ERROR(table.values(read_buffer("x", DType::i32, {a}), everywhere(table)),
                        "read in an index expression");
  EXPECT_INTERNAL_ERROR(table.values(constant(DType::f32, 1), everywhere(table)),
                        "constant in an index expression");
}

TEST(IndexTable, RefusesValuesForOtherPoints) {
  IndexTable table(2);
  EXPECT_INTERNAL_ERROR(table.set("a", {1}), "1 values of a for 2 points");
}

TEST(IsIndex, IsWhatFollowsFromAxesAndSizes) {
  EXPECT_TRUE(is_index(a + size_value("B")));
  EXPECT_TRUE(is_index(a < b && !(a == 1)));
  EXPECT_FALSE(is_index(a + read_buffer("x", DType::i32, {a})));
  EXPECT_FALSE(is_index(cast(DType::i32, constant(DType::f32, 1))));
}

}  // namespace
}  // namespace emulsion
