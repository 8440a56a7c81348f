#include "tests/random/oracle.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "backends/interpreter/tensor_value.h"
#include "tests/random/check_recipe.h"
#include "tests/random/recipe.h"
#include "tests/random/recipe_maker.h"

namespace emulsion {
namespace {

// It has to notice what it is made for.
TEST(Oracle, SeesADifferenceInValueTypeShapeAndNaN) {
  Maker m;
  std::vector<Recipe> recipes = {m.outputs({m.call("relu", {m.input({2})})})};
  Expected expected = ask_numpy(recipes)[0].runs[0][0];
  auto with = [&](float first) {
    TensorValue actual = make_tensor({2}, std::vector<float>{0, 0});
    for (int i = 0; i < 2; ++i) actual.set_value(i, expected.values[static_cast<size_t>(i)]);
    actual.set_value(0, first);
    return actual;
  };
  auto right = static_cast<float>(expected.values[0]);
  EXPECT_FALSE(first_difference(expected, with(right)));
  EXPECT_EQ(expected.bounds[0], 0);
  EXPECT_NE(first_difference(expected, with(right + 1e-6f)).value_or("").find("[0]: expected"),
            std::string::npos);
  EXPECT_TRUE(first_difference(expected, with(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_TRUE(first_difference(expected, make_tensor({1, 2}, std::vector<float>{right, 0})));
  EXPECT_TRUE(first_difference(expected, make_tensor({2}, std::vector<int32_t>{0, 0})));
}

TEST(Oracle, KnowsTheSignsOfZerosUntilTheirOrderCounts) {
  Maker m;
  int x = m.times(m.input({64}), 0);
  std::vector<Recipe> recipes = {m.outputs({x, m.call("reduce_max", {x}, axes({0}))})};
  std::vector<Expected> expected = ask_numpy({with_outputs(recipes[0], {x})})[0].runs[0];
  ASSERT_TRUE(expected[0].signs);
  TensorValue actual = make_tensor({64}, std::vector<float>(64, 0));
  EXPECT_NE(first_difference(expected[0], actual).value_or("").find("expected -0 +- 0, got 0"),
            std::string::npos);
  for (int64_t i = 0; i < 64; ++i) actual.set_value(i, expected[0].values[static_cast<size_t>(i)]);
  EXPECT_FALSE(first_difference(expected[0], actual));
  expected = ask_numpy(recipes)[0].runs[0];
  EXPECT_FALSE(expected[0].signs);
  EXPECT_FALSE(expected[1].signs);
}

TEST(Oracle, BoundsAreOfTheSizeOfRounding) {
  Maker m(false);
  int sum = m.call("sum", {m.input({1000})}, axes({0}));
  std::vector<Recipe> recipes = {m.outputs({sum, m.call("exp", {m.input({8})})})};
  Answer answer = ask_numpy(recipes)[0];
  EXPECT_GT(answer.runs[0][0].bounds[0], 1e-6);
  EXPECT_LT(answer.runs[0][0].bounds[0], 0.1);
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_GT(answer.runs[0][1].bounds[i], 0);
    EXPECT_LT(answer.runs[0][1].bounds[i], 1e-5 * answer.runs[0][1].values[i]);
  }
}

TEST(Oracle, SaysWhatItCannotEvaluate) {
  Maker m;
  int x = m.input({2, 3}), y = m.input({3, 2});
  std::vector<Recipe> recipes = {m.outputs({m.call("add", {x, y})})};
  Answer answer = ask_numpy(recipes)[0];
  EXPECT_NE(answer.error.find("could not be broadcast"), std::string::npos) << answer.error;
  EXPECT_NE(check_recipes(recipes, {answer})[0].failure.find("the oracle failed"),
            std::string::npos);
}

}  // namespace
}  // namespace emulsion
