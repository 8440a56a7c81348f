// What is computed by turns: which axes have turns, which have not, and that the kernels of derived
// schedules compute the same.

#include "passes/derive/periodic_choices.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

const Extent kRows = Extent::size("N"), kColumns = Extent::size("C");
const Target kV3 = Target::parse("x86-64-v3,cores=1");

// The body of the view and the directives for its loops; "" where nothing goes by turns.
std::string in_turns(const Tensor& y, const Target& target = kV3) {
  const std::optional<PeriodicChoices> found = split_periods(*y.op(), target);
  if (!found) return "";
  Schedule schedule{Graph(y)};
  found->split(&schedule["y"]);
  std::string text = to_string(found->view.shape) + " " + to_string(found->view.body);
  for (const Directive& d : schedule["y"].directives()) text += "; " + to_string(d);
  return text;
}

// Pairs that are rotated, each by its angle.
Tensor rotated(const Extent& rows, const Extent& pairs) {
  const Axis t("t", rows), e("e", 2 * pairs);
  const Tensor x = input("x", f32, {rows, 2 * pairs}), c = input("c", f32, {rows, pairs}),
               s = input("s", f32, {rows, pairs});
  const Expr a = x(t, e / 2 * 2), b = x(t, e / 2 * 2 + 1), cosine = c(t, e / 2), sine = s(t, e / 2);
  return compute("y", {t, e}, select(e % 2 == 0, a * cosine - b * sine, a * sine + b * cosine));
}

// Rows of `turns` kinds.
Tensor rows_in_turns(const Extent& periods, const Extent& columns, int turns) {
  const Axis m("m", periods * turns), c("c", columns);
  const Tensor x = input("x", f32, {periods, columns}), w = input("w", f32, {periods, columns});
  const Expr a = x(m / turns, c), b = w(m / turns, c), turn = m % turns;
  return compute("y", {m, c}, select(turn == 0, a + b, select(turn == 1, a - b, a * b)));
}

TEST(PeriodicChoices, OfTheLastAxis) {
  EXPECT_EQ(in_turns(rotated(5, kColumns)),
            "[5, C, 2] select(turn == 0, x[t, e * 2] * c[t, e] - x[t, e * 2 + 1] * s[t, e], "
            "x[t, e * 2] * s[t, e] + x[t, e * 2 + 1] * c[t, e]); split(e, e, turn, 2)");
  EXPECT_NE(in_turns(rotated(kRows, 32)), "");
}

TEST(PeriodicChoices, OfAnOuterAxis) {
  EXPECT_EQ(in_turns(rows_in_turns(kRows, 40, 3)),
            "[N, 3, 40] select(turn == 0, x[m, c] + w[m, c], select(turn == 1, x[m, c] - w[m, c], "
            "x[m, c] * w[m, c])); split(m, m, turn, 3)");
  EXPECT_TRUE(has(derived(rows_in_turns(kRows, 40, 3), kV3), "y.unroll(turn)\n"));
}

TEST(PeriodicChoices, OfBoth) {
  const Axis i("i", 2 * kRows), j("j", 2 * kColumns);
  const Tensor x = input("x", f32, {2 * kRows, 2 * kColumns});
  const Expr one = select(j % 2 == 1, x(i, j), 0.0F);
  EXPECT_EQ(
      in_turns(compute("y", {i, j}, select(i % 2 == 0, one, 1.0F))),
      "[N, 2, C, 2] select(turn == 0, select(turn1 == 1, x[i * 2 + turn, j * 2 + turn1], 0f), "
      "1f); split(i, i, turn, 2); split(j, j, turn1, 2)");
}

TEST(PeriodicChoices, NotWhereThePeriodMayNotDivideTheAxis) {
  const auto turns = [](const Extent& length) {
    const Axis e("e", length);
    const Tensor x = input("x", f32, {length});
    return in_turns(compute("y", {e}, select(e % 2 == 0, x(e), 0.0F)));
  };
  EXPECT_NE(turns(64), "");
  EXPECT_NE(turns(2 * kRows + 4), "");
  EXPECT_EQ(turns(63), "");
  EXPECT_EQ(turns(kRows), "");
  EXPECT_EQ(turns(2 * kRows + 1), "");
  EXPECT_EQ(turns(0), "");
}

TEST(PeriodicChoices, NotOfLongPeriodsNorOfFewOnesAlongVectors) {
  EXPECT_NE(in_turns(rows_in_turns(20, 40, 4)), "");
  EXPECT_EQ(in_turns(rows_in_turns(20, 40, 5)), "");
  EXPECT_EQ(in_turns(rotated(5, 7)), "");
  EXPECT_NE(in_turns(rotated(5, 8)), "");
}

TEST(PeriodicChoices, NotWhereMoreThanTheTurnDecides) {
  const Axis i("i", 40), j("j", 40);
  const Tensor x = input("x", f32, {40, 40}), limit = input("l", i32, {});
  for (const Expr& condition :
       {(i + j) % 2 == 0, j % 2 == limit(), j % 2 < i, j % 3 == 0 && x(i, j) > 0.0F}) {
    EXPECT_EQ(in_turns(compute("y", {i, j}, select(condition, x(i, j), 0.0F))), "");
  }
  EXPECT_EQ(in_turns(compute("y", {i, j}, x(i, j / 2 * 2 + (j + 1) % 2))), "") << "chooses nothing";
}

// Vectors go along pixels of three values: of two pixels the values would be six, and vectors of
// one pixel have three.
TEST(PeriodicChoices, NotOfPixelsWhoseVectorsWouldBeLost) {
  const Axis i("i", 64), c("c", 3), two("c", 2);
  const Tensor x = input("x", u8, {64, 3});
  EXPECT_EQ(in_turns(compute("y", {i, c}, select(i % 2 == 0, x(i, c), x(i, 0)))), "");
  EXPECT_NE(in_turns(compute("y", {i, two}, select(i % 2 == 0, x(i, two), x(i, 0)))), "");
}

TEST(PeriodicChoices, ComputeWhatTheGraphSays) {
  for (const char* level : kLevels) {
    for (const int cores : {1, 4}) {
      const Target target = target_of(level, cores);
      for (const Tensor& y : {rotated(9, 32), rotated(kRows, kColumns), rows_in_turns(7, 33, 2),
                              rows_in_turns(kRows, kColumns, 2), rows_in_turns(kRows, kColumns, 4),
                              relu(rotated(kRows, kColumns), "z")}) {
        EXPECT_TRUE(derives(Graph(y), target, {0, 1, 2, 7, 16, 19})) << level;
      }
    }
  }
}

}  // namespace
}  // namespace emulsion
