#include "backends/halide/lanes_in_front.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/backends/halide/vector_values.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using Halide::Expr;

constexpr int kLanes = 8;
const Expr kRows = hi::Variable::make(Halide::Int(32), "rows");
const Expr kRow = hi::Variable::make(Halide::Int(32), "row");

Expr all(const Expr& value) { return hi::Broadcast::make(value, kLanes); }
Expr lanes() { return hi::Ramp::make(Expr(0), 1, kLanes); }
// The row of each lane, of rows of three.
Expr rows() { return hi::Add::make(hi::Div::make(lanes(), all(3)), all(kRow)); }

std::vector<Front> fronts_of(const Expr& condition) {
  std::vector<Front> fronts;
  add_fronts(condition, &fronts);
  return fronts;
}

VectorValues values_at(int64_t row, int64_t count) {
  VectorValues values;
  values.variables["row"] = {row};
  values.variables["rows"] = {count};
  return values;
}

TEST(LanesInFront, OfEachPartOfACondition) {
  const Expr less = hi::LT::make(rows(), all(kRows)), most = hi::LE::make(rows(), all(kRows - 1));
  const Expr others = hi::LT::make(all(kRow), rows());
  for (const Expr& one : {less, most, Halide::likely(less), hi::And::make(others, less)}) {
    const std::vector<Front> fronts = fronts_of(one);
    ASSERT_EQ(fronts.size(), 1) << one;
    EXPECT_TRUE(hi::equal(fronts[0].places, rows())) << one;
    EXPECT_EQ(values_at(2, 9).value(fronts[0].last)[0], 8) << one;
  }
  EXPECT_EQ(fronts_of(hi::And::make(less, hi::And::make(others, most))).size(), 2);
}

TEST(LanesInFront, NotOfOtherConditions) {
  const Expr less = hi::LT::make(rows(), all(kRows)), half = all(Expr(0.5F));
  EXPECT_TRUE(fronts_of(hi::Or::make(less, less)).empty());
  EXPECT_TRUE(fronts_of(hi::Not::make(less)).empty());
  EXPECT_TRUE(fronts_of(hi::GT::make(rows(), all(kRows))).empty());
  EXPECT_TRUE(fronts_of(hi::EQ::make(rows(), all(kRows))).empty());
  EXPECT_TRUE(fronts_of(hi::LT::make(rows(), rows() + 1)).empty()) << "an end for each lane";
  EXPECT_TRUE(fronts_of(hi::LT::make(half, half)).empty()) << "no places";
}

TEST(LanesInFront, AClampAtTheirEndIsNone) {
  const Front front = fronts_of(hi::LT::make(rows(), all(kRows)))[0];
  const Expr clamped = hi::Min::make(rows(), all(kRows - 1));
  const Expr moved = hi::Min::make(rows() + all(2), all(kRows + 1));
  const Expr likely = hi::Min::make(Halide::likely_if_innermost(rows()), all(kRows - 1));
  for (const Expr& index : {clamped, moved, likely, clamped * all(3) + lanes() % all(3)}) {
    const Expr made = without_clamps(index, front);
    EXPECT_FALSE(made.same_as(index)) << index;
    for (int64_t count = 0; count < 6; ++count) {
      const VectorValues values = values_at(2, count);
      const Lanes in_front = values.value(front.condition);
      const Lanes expected = values.value(hi::remove_likelies(index)), got = values.value(made);
      for (size_t lane = 0; lane < kLanes; ++lane) {
        EXPECT_TRUE(in_front[lane] == 0 || got[lane] == expected[lane]) << index << ", " << lane;
      }
    }
  }
}

TEST(LanesInFront, OtherClampsStay) {
  const Front front = fronts_of(hi::LT::make(rows(), all(kRows)))[0];
  const Expr data =
      hi::Load::make(Halide::Int(32, kLanes), "at", lanes(), {}, {}, hi::const_true(kLanes), {});
  for (const Expr& index :
       {rows(), hi::Min::make(rows(), all(kRows - 2)), hi::Max::make(rows(), all(kRows - 1)),
        hi::Min::make(rows() + all(1), all(kRows - 1)), hi::Min::make(lanes(), all(kRows - 1)),
        hi::Min::make(hi::Div::make(lanes(), all(4)) + all(kRow), all(kRows - 1)),
        hi::Min::make(rows(), rows() - 1), hi::Min::make(data, all(kRows - 1))}) {
    EXPECT_TRUE(without_clamps(index, front).same_as(index)) << index;
  }
}

}  // namespace
}  // namespace emulsion
