#include "passes/rewrite/replace_pattern.h"

#include <gtest/gtest.h>

#include "dsl/operators.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/rewrite/check_rewrite.h"

namespace emulsion {
namespace {

TEST(ReplacePattern, ReturnsTheGraphAndTheMatches) {
  Tensor x = input("x", f32, {});
  Tensor a = input("a", f32, {3, 4});
  const Graph before(mul(a, sigmoid(a), "y"));
  const Rewritten after = replace_pattern(before, Graph(x * sigmoid(x)), Graph(x / (1 + exp(-x))));
  ASSERT_EQ(after.matches().size(), 1u);
  EXPECT_EQ(after.matches()[0].rule, "pattern");
  EXPECT_EQ(after.matches()[0].result, "y");
  expect_same_values(before, after.graph, 1e-6);
}

TEST(ReplacePattern, RefusesABrokenPattern) {
  Tensor x = input("x", f32, {});
  EXPECT_ERROR(replace_pattern(Graph(exp(x)), Graph(x), Graph(x)), "rule pattern: expected");
}

TEST(ReplacePattern, StopsAtTheStepLimit) {
  Tensor x = input("x", f32, {});
  EXPECT_ERROR(replace_pattern(Graph(exp(x)), Graph(exp(x)), Graph(exp(x) + 1), {5}),
               "within 5 steps");
}

}  // namespace
}  // namespace emulsion
