// Which exponents a nest bounds by 0. Each nest is run against its graph too: a bound that does not
// hold changes what is computed.

#include <gtest/gtest.h>

#include <string>

#include "dsl/operators.h"
#include "passes/lower/lower.h"
#include "tests/passes/check_nest.h"

namespace emulsion {
namespace {

const Axis i("i", 3), j("j", 8), r("r", 8), s("s", 3);

// Whether an exponent is bounded in the nest of the graph that ends with `y`.
bool bounds(const Tensor& y, const SizeValues& sizes = {}) {
  EXPECT_TRUE(lowers(Graph(y), Schedule(y), sizes)) << y.name();
  const std::string nest = to_string(lower(Graph(y), Schedule(y)));
  return nest.find("exp(min(") != std::string::npos && nest.find(", 0f))") != std::string::npos;
}

bool bounds(const Expr& exponent) { return bounds(compute("y", {i, j}, exp(exponent))); }

const Tensor x = input("x", f32, {3, 8}), z = input("z", f32, {3, 8});

// A reduction of rows of x.
Tensor highest(const Expr& reduction) { return compute("highest", {i}, reduction); }

const Tensor highest_of_x = highest(reduce_max(r, x(i, r)));

TEST(BoundExponents, WhatSubtractsItsMaximum) {
  EXPECT_TRUE(bounds(x(i, j) - highest_of_x(i)));
  EXPECT_TRUE(bounds((x(i, j) - highest_of_x(i)) * 0.5f));
  EXPECT_TRUE(bounds((x(i, j) - highest_of_x(i)) / 2.0f));
  EXPECT_TRUE(bounds(-(2.0f * abs(z(i, j))) + (x(i, j) - highest_of_x(i))));
  EXPECT_TRUE(bounds(-(highest_of_x(i) - x(i, j))));
}

TEST(BoundExponents, WhatWasComputedBeforeItsMaximum) {
  const Expr masked = select(i < j, x(i, j) * 0.5f, Expr(-3.0f));
  const Expr masked_step = select(i < r, x(i, r) * 0.5f, Expr(-3.0f));
  EXPECT_TRUE(bounds(masked - highest(reduce_max(r, masked_step))(i)));
  const Tensor scores = compute("scores", {i, j}, x(i, j) + z(i, j));
  EXPECT_TRUE(bounds(scores(i, j) - highest(reduce_max(r, scores(i, r)))(i)));
}

TEST(BoundExponents, AStepOfItsOwn) {
  const Tensor less = compute("less", {i, j}, x(i, j) - highest_of_x(i));
  EXPECT_TRUE(bounds(less(i, j)));
  const Tensor turned = compute("turned", {j, i}, less(i, j));
  EXPECT_TRUE(bounds(turned(j, i)));
}

TEST(BoundExponents, TheMaximumOfAllRowsAndOfPlacesInThem) {
  const Tensor all = compute("highest", {}, reduce_max({s, r}, x(s, r)));
  EXPECT_TRUE(bounds(x(i, j) - all()));
  const Tensor of_window = highest(reduce_max(s, x(i, Expr(s) * 2 + 1)));
  EXPECT_TRUE(bounds(compute("y", {i, s}, exp(x(i, Expr(s) * 2 + 1) - of_window(i)))));
}

TEST(BoundExponents, SignsOfNumbersSquaresAndAbsoluteValues) {
  EXPECT_TRUE(bounds(-abs(x(i, j))));
  EXPECT_TRUE(bounds(-(x(i, j) * x(i, j))));
  EXPECT_TRUE(bounds(x(i, j) * x(i, j) * -0.5f));
  EXPECT_TRUE(bounds(-exp(x(i, j)) - sqrt(z(i, j) * z(i, j))));
  EXPECT_TRUE(bounds(min(x(i, j), -abs(z(i, j)))));
  EXPECT_TRUE(bounds(max(-abs(x(i, j)), Expr(-2.0f))));
  EXPECT_TRUE(bounds(-max(x(i, j), Expr(0.0f))));
  EXPECT_TRUE(bounds(-min(abs(x(i, j)), Expr(2.0f))));
  EXPECT_TRUE(bounds(-(abs(x(i, j)) - -abs(z(i, j)))));
  EXPECT_TRUE(bounds(select(x(i, j) < z(i, j), -abs(x(i, j)), Expr(-1.0f))));
}

TEST(BoundExponents, ThoseOfSoftmax) {
  const Extent n = Extent::size("N");
  EXPECT_TRUE(bounds(softmax(x)));
  EXPECT_TRUE(bounds(softmax(x, 0)));
  EXPECT_TRUE(bounds(softmax(input("rows", f32, {3, n})), {{"N", 5}}));
  EXPECT_TRUE(bounds(softmax(input("rows", f32, {3, n})), {{"N", 0}}));
}

// An exponent that says it already stays as it is.
TEST(BoundExponents, WhatIsBoundedStays) {
  const Tensor y = compute("y", {i, j}, exp(min(-abs(x(i, j)), Expr(-1.0f))));
  EXPECT_EQ(to_string(lower(Graph(y), Schedule(y))).find("0f"), std::string::npos);
}

TEST(BoundExponents, NotWhatMayBeAboveZero) {
  EXPECT_FALSE(bounds(x(i, j)));
  EXPECT_FALSE(bounds(abs(x(i, j))));
  EXPECT_FALSE(bounds(x(i, j) * x(i, j)));
  EXPECT_FALSE(bounds(highest_of_x(i) - x(i, j)));
  EXPECT_FALSE(bounds(-(x(i, j) - highest_of_x(i))));
  EXPECT_FALSE(bounds(-(abs(x(i, j)) - abs(z(i, j)))));
  EXPECT_FALSE(bounds((x(i, j) - highest_of_x(i)) * -0.5f));
  EXPECT_FALSE(bounds((x(i, j) - highest_of_x(i)) * z(i, j)));
  EXPECT_FALSE(bounds((x(i, j) - highest_of_x(i)) / z(i, j)));
  EXPECT_FALSE(bounds(-abs(x(i, j)) / -abs(z(i, j))));
  EXPECT_FALSE(bounds(x(i, j) - highest_of_x(i) + 1.0f));
  EXPECT_FALSE(bounds(-(x(i, j) * z(i, j))));
  EXPECT_FALSE(bounds(max(-abs(x(i, j)), z(i, j))));
  EXPECT_FALSE(bounds(min(x(i, j), Expr(0.5f))));
  EXPECT_FALSE(bounds(-min(x(i, j), Expr(2.0f))));
  EXPECT_FALSE(bounds(-max(x(i, j), Expr(-1.0f))));
  EXPECT_FALSE(bounds(select(x(i, j) < z(i, j), -abs(x(i, j)), z(i, j))));
  EXPECT_FALSE(bounds(-abs(x(i, j)) - z(i, j)));
}

TEST(BoundExponents, NotWhatSubtractsAnotherReduction) {
  EXPECT_FALSE(bounds(x(i, j) - highest(reduce_min(r, x(i, r)))(i)));
  EXPECT_FALSE(bounds(x(i, j) - highest(sum(r, x(i, r)))(i)));
  EXPECT_FALSE(bounds(x(i, j) - z(i, 0)));
}

TEST(BoundExponents, NotWhatSubtractsTheMaximumOfOthers) {
  EXPECT_FALSE(bounds(z(i, j) - highest_of_x(i)));
  EXPECT_FALSE(bounds(x(i, j) * 2.0f - highest_of_x(i)));
  EXPECT_FALSE(bounds(x(i, j) * 2.0f - highest(reduce_max(r, x(i, r) * 3.0f))(i)));
  EXPECT_FALSE(bounds(x(i, j) - highest(reduce_max(r, -x(i, r)))(i)));
}

TEST(BoundExponents, NotWhatSubtractsTheMaximumOfAnotherRow) {
  EXPECT_FALSE(bounds(x(i, j) - highest_of_x(0)));
  EXPECT_FALSE(bounds(x(i, j) - highest_of_x(2 - Expr(i))));
}

TEST(BoundExponents, NotWhatTheReductionDidNotReach) {
  const Axis half("r", 4);
  EXPECT_FALSE(bounds(x(i, j) - highest(reduce_max(half, x(i, half)))(i)));
  EXPECT_FALSE(bounds(x(i, j) - highest(reduce_max(half, x(i, Expr(half) * 2)))(i)));
  EXPECT_FALSE(bounds(x(i, 7 - Expr(j)) - highest(reduce_max(half, x(i, 7 - Expr(half))))(i)));
  // One index stands for two.
  const Tensor square = input("square", f32, {8, 8});
  const Tensor of_diagonal = highest(reduce_max(r, square(r, r)));
  EXPECT_FALSE(bounds(square(i, j) - of_diagonal(i)));
}

// exp of f64 is the library's, which knows no bounds.
TEST(BoundExponents, NotThoseOfDoubles) {
  const Tensor wide = input("x", f64, {3, 8});
  EXPECT_FALSE(bounds(compute("y", {i, j}, exp(-abs(wide(i, j))))));
  EXPECT_FALSE(bounds(softmax(wide)));
}

}  // namespace
}  // namespace emulsion
