#include "passes/differentiate/invert_index.h"

#include <gtest/gtest.h>

#include <string>

namespace emulsion {
namespace {

const Axis p("p", 9), q("q", 9);
const Axis i("i", 6), j("j", 4), k("k", 3), b("b", Extent::size("B"));

// "i = p - 2 in 6; k left over; p == q"
std::string text(const IndexInverse& inverse) {
  std::string result;
  const auto add = [&](const std::string& part) { result += (result.empty() ? "" : "; ") + part; };
  for (const SolvedAxis& axis : inverse.solved) {
    add(axis.name + " = " + to_string(axis.value()) + " in " + axis.extent.to_string());
  }
  for (const Axis& axis : inverse.left_over) {
    add(axis.name() + " left over in " + axis.extent().to_string());
  }
  for (const auto& [a, c] : inverse.equations) add(to_string(a) + " == " + to_string(c));
  for (const auto& [value, divisor] : inverse.multiples) {
    add(to_string(value) + " is a multiple of " + std::to_string(divisor));
  }
  for (const auto& [value, extent] : inverse.ranges) {
    add(to_string(value) + " is below " + extent.to_string());
  }
  return result;
}

// `points`: all of the result.
std::string inverse_of(const std::vector<Axis>& points, const std::vector<Expr>& index) {
  const std::vector<Axis> at = {p, q};
  return text(invert_index(points, points.size(), index,
                           {at.begin(), at.begin() + static_cast<std::ptrdiff_t>(index.size())}));
}

TEST(InvertIndex, PlainAxes) { EXPECT_EQ(inverse_of({i, j}, {j, i}), "j = p in 4; i = q in 6"); }

TEST(InvertIndex, OffsetsStridesAndSigns) {
  EXPECT_EQ(inverse_of({i}, {i + 2}), "i = p - 2 in 6");
  EXPECT_EQ(inverse_of({i}, {7 - i}), "i = 7 - p in 6");
  EXPECT_EQ(inverse_of({i}, {2 * i + 1}), "i = (p - 1) / 2 in 6");
  EXPECT_EQ(inverse_of({i}, {2 * (i + 1)}), "i = (p - 2) / 2 in 6");
}

TEST(InvertIndex, AnAxisThatDecidesNothingIsLeftOver) {
  EXPECT_EQ(inverse_of({i, b}, {i}), "i = p in 6; b left over in B");
}

TEST(InvertIndex, ARepeatedAxisIsAnEquation) {
  EXPECT_EQ(inverse_of({i}, {i, i}), "i = p in 6; 0 == q - p");
}

TEST(InvertIndex, ANumberIsAnEquation) {
  EXPECT_EQ(inverse_of({i}, {i, 3}), "i = p in 6; 0 == q - 3");
}

TEST(InvertIndex, OfAWindowTheAxisOfTheResultIsSolved) {
  EXPECT_EQ(text(invert_index({i, k}, 1, {2 * i + k}, {p})),
            "i = (p - k) / 2 in 6; k left over in 3");
}

TEST(InvertIndex, TheAxisOfMostValuesIsSolved) {
  EXPECT_EQ(text(invert_index({Axis("few", 2), Axis("many", 1000)}, 1,
                              {axis_value("few") + axis_value("many")}, {p})),
            "many = p - few in 1000; few left over in 2");
  EXPECT_EQ(text(invert_index({i, b}, 1, {i + b}, {p})), "b = p - i in B; i left over in 6");
}

TEST(InvertIndex, DigitsOfASum) {
  EXPECT_EQ(inverse_of({i, j}, {4 * i + j}), "i = p / 4 in 6; j = p % 4 in 4");
  EXPECT_EQ(inverse_of({i, j}, {7 * i + j + 1}), "i = (p + 6) / 7 - 1 in 6; j = (p + 6) % 7 in 4");
}

TEST(InvertIndex, OverlappingDigitsAreNone) {
  EXPECT_EQ(inverse_of({i, j}, {3 * i + j}), "i = (p - j) / 3 in 6; j left over in 4");
}

TEST(InvertIndex, DigitsOfAnAxis) {
  const Axis n("n", 12);
  EXPECT_EQ(inverse_of({n}, {n / 4, n % 4}), "n = p * 4 + q in 12; q is below 4");
  EXPECT_EQ(inverse_of({n}, {n % 4, n / 4}), "n = q * 4 + p in 12; p is below 4");
}

TEST(InvertIndex, ADigitAlone) {
  const Axis n("n", 12);
  EXPECT_EQ(inverse_of({n}, {n / 4}), "n = p * 4 + t in 12; t left over in 4");
  EXPECT_EQ(inverse_of({n}, {n % 5}), "n = t * 5 + p in 12; t left over in 3; p is below 5");
}

TEST(InvertIndex, AMultipleOfADigit) {
  const Axis n("n", 12);
  EXPECT_EQ(inverse_of({n}, {3 * (n / 4)}),
            "n = p / 3 * 4 + t in 12; t left over in 4; p is a multiple of 3");
  EXPECT_EQ(inverse_of({n}, {3 * (n % 5)}),
            "n = t * 5 + p / 3 in 12; t left over in 3; p is a multiple of 3; p / 3 is below 5");
}

TEST(InvertIndex, WhatIsNotLinearIsTriedForEveryValue) {
  EXPECT_EQ(inverse_of({i}, {i * i}), "i left over in 6; i * i == p");
  EXPECT_EQ(inverse_of({i}, {i + i * i}), "i left over in 6; i + i * i == p");
}

TEST(InvertIndex, ANewAxisHasANewName) {
  const Axis t("t", 12);
  EXPECT_EQ(inverse_of({t}, {t / 4}), "t = p * 4 + t1 in 12; t1 left over in 4");
}

TEST(LinearSum, CollectsTerms) {
  const LinearSum sum = linear_sum(3 * (i + j) - i * 3 + size_value("B") + 2);
  ASSERT_EQ(sum.terms.size(), 1u);
  EXPECT_EQ(to_string(sum.terms[0].first), "j");
  EXPECT_EQ(sum.terms[0].second, 3);
  EXPECT_EQ(sum.offset.to_string(), "B + 2");
  EXPECT_EQ(linear_sum(3 * (i + (size_value("B") + 2))).offset.to_string(), "3*B + 6");
}

TEST(FreshName, CountsWhatIsTaken) {
  EXPECT_EQ(fresh_name("t", {}), "t");
  EXPECT_EQ(fresh_name("t", {"t", "t1"}), "t2");
}

}  // namespace
}  // namespace emulsion
