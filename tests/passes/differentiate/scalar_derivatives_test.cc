#include "passes/differentiate/scalar_derivatives.h"

#include <gtest/gtest.h>

#include <string>

#include "dsl/tensor.h"
#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

const Axis i("i", 4);
const Tensor x = input("x", f32, {4}), y = input("y", f32, {4}), g = input("g", f32, {4});
const Tensor n = input("n", DType::i32, {4});

// "x[i] where x[i] > 0: g[i] * 2", one part a line.
std::string derivatives(const Expr& body, const Expr& seed = g(i), const Expr& result = Expr()) {
  const auto wanted = [](const Op& op) { return op.name == "x" || op.name == "n"; };
  std::string text;
  for (const ReadDerivative& part : read_derivatives("f", body, seed, result, wanted)) {
    text += (text.empty() ? "" : "\n") + to_string(part.read);
    for (const SelectSide& guard : part.guards) {
      text += (guard.holds ? " where " : " where not ") + to_string(guard.condition);
    }
    text += ": " + to_string(part.value);
  }
  return text;
}

TEST(ScalarDerivatives, TheTable) {
  EXPECT_EQ(derivatives(-x(i)), "x[i]: -g[i]");
  EXPECT_EQ(derivatives(abs(x(i))), "x[i]: select(x[i] >= 0f, g[i], -g[i])");
  EXPECT_EQ(derivatives(exp(x(i))), "x[i]: g[i] * exp(x[i])");
  EXPECT_EQ(derivatives(log(x(i))), "x[i]: g[i] / x[i]");
  EXPECT_EQ(derivatives(sqrt(x(i))), "x[i]: g[i] * 0.5f / sqrt(x[i])");
  EXPECT_EQ(derivatives(tanh(x(i))), "x[i]: g[i] * (1f - tanh(x[i]) * tanh(x[i]))");
  EXPECT_EQ(derivatives(x(i) + y(i)), "x[i]: g[i]");
  EXPECT_EQ(derivatives(y(i) - x(i)), "x[i]: -g[i]");
  EXPECT_EQ(derivatives(y(i) * x(i)), "x[i]: g[i] * y[i]");
  EXPECT_EQ(derivatives(x(i) / y(i)), "x[i]: g[i] / y[i]");
  EXPECT_EQ(derivatives(y(i) / x(i)), "x[i]: -(g[i] * (y[i] / x[i])) / x[i]");
  EXPECT_EQ(derivatives(max(x(i), 0.0f)), "x[i]: select(x[i] > 0f, g[i], 0f)");
  EXPECT_EQ(derivatives(min(x(i), y(i))),
            "x[i]: select(x[i] < y[i], g[i], select(x[i] == y[i], g[i] * 0.5f, 0f))");
  EXPECT_EQ(derivatives(pow(x(i), 2.0f)), "x[i]: g[i] * (2f * x[i])");
  EXPECT_EQ(derivatives(pow(x(i), 3.0f)), "x[i]: g[i] * (3f * pow(x[i], 2f))");
}

TEST(ScalarDerivatives, ReadsTheResultWhereItIsThere) {
  EXPECT_EQ(derivatives(exp(x(i)), g(i), y(i)), "x[i]: g[i] * y[i]");
}

TEST(ScalarDerivatives, LeavesOutOnes) {
  EXPECT_EQ(derivatives(y(i) * x(i), constant(f32, 1)), "x[i]: y[i]");
}

TEST(ScalarDerivatives, OneSumForEachRead) {
  EXPECT_EQ(derivatives(x(i) * x(i) + 3.0f * x(i)), "x[i]: 2f * (g[i] * x[i]) + g[i] * 3f");
  EXPECT_EQ(derivatives(x(i) * x(3 - i)), "x[i]: g[i] * x[3 - i]\nx[3 - i]: g[i] * x[i]");
}

TEST(ScalarDerivatives, TheSidesOfASelectAreGuards) {
  EXPECT_EQ(derivatives(select(x(i) > 0.0f, log(x(i)), y(i) * x(i))),
            "x[i] where x[i] > 0f: g[i] / x[i]\nx[i] where not x[i] > 0f: g[i] * y[i]");
}

TEST(ScalarDerivatives, GuardsInsideGuards) {
  EXPECT_EQ(derivatives(select(Expr(i) > 0, select(Expr(i) > 1, 0.0f, x(i)), 0.0f)),
            "x[i] where i > 0 where not i > 1: g[i]");
}

TEST(ScalarDerivatives, NoneThroughConditionsAndIndices) {
  EXPECT_EQ(derivatives(select(x(i) > 0.0f, y(i), 0.0f)), "");
  EXPECT_EQ(derivatives(y(max(min(n(i), 3), 0))), "");
  EXPECT_EQ(derivatives(cast(f32, x(i) > 0.0f)), "");
  EXPECT_EQ(derivatives(pow(x(i), 0.0f)), "");
}

TEST(ScalarDerivatives, ASharedPartCostsNothing) {
  Expr e = x(i);
  for (int k = 0; k < 12; ++k) e = e * e;
  EXPECT_EQ(read_derivatives("f", e, g(i), Expr(), [](const Op&) { return true; }).size(), 1u);
}

TEST(ScalarDerivatives, RefusesIntegers) {
  EXPECT_ERROR(derivatives(cast(f32, n(i))),
               "f: expected floats all the way from a tensor whose gradient is asked for, got the "
               "i32 value n[i]");
  EXPECT_ERROR(derivatives(cast(f32, cast(DType::i32, x(i)) + 1)), "got the i32 value i32(x[i])");
}

TEST(ScalarDerivatives, DependsOnWhatIsWanted) {
  const auto wanted = [](const Op& op) { return op.name == "x"; };
  EXPECT_TRUE(depends_on_wanted(y(i) + x(i), wanted));
  EXPECT_FALSE(depends_on_wanted(y(i), wanted));
  EXPECT_FALSE(depends_on_wanted(select(x(i) > 0.0f, y(i), 0.0f), wanted));
}

}  // namespace
}  // namespace emulsion
