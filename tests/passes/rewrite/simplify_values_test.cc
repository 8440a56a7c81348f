#include "passes/rewrite/simplify_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "backends/interpreter/interpret_graph.h"
#include "dsl/operators.h"
#include "passes/fuse/fuse_epilogues.h"
#include "tests/passes/op_of.h"
#include "tests/passes/rewrite/check_rewrite.h"

namespace emulsion {
namespace {

using ::testing::ElementsAre;

constexpr float kInf = std::numeric_limits<float>::infinity();
const std::vector<float> kSpecial = {0.0f,   -0.0f, 1.0f,  -1.0f,
                                     1e-40f, kInf,  -kInf, std::numeric_limits<float>::quiet_NaN()};

const Axis i("i", 8);

// The bits of y for special values of x.
std::vector<uint8_t> bits(const Expr& value, const Tensor& x) {
  const Graph graph(compute("y", {i}, value));
  TensorValues arguments;
  if (graph.find("x")) arguments["x"] = make_tensor({8}, kSpecial);
  (void)x;
  return interpret_graph(graph, arguments).at("y").bytes;
}

struct Identity {
  const char* text;
  std::function<Expr(const Expr&)> apply;
};

TEST(SimplifyValues, IdentitiesOfFloatsHoldToTheBit) {
  Tensor x = input("x", f32, {8});
  const std::vector<Identity> identities = {
      {"x * 1", [](const Expr& e) { return e * 1; }},
      {"1 * x", [](const Expr& e) { return 1 * e; }},
      {"x / 1", [](const Expr& e) { return e / 1; }},
      {"x - 0", [](const Expr& e) { return e - 0.0f; }},
      {"x + -0", [](const Expr& e) { return e + -0.0f; }},
      {"-0 + x", [](const Expr& e) { return -0.0f + e; }},
      {"-(-x)", [](const Expr& e) { return -(-e); }},
      {"max(x, x)", [](const Expr& e) { return max(e, e); }},
      {"min(x, x)", [](const Expr& e) { return min(e, e); }},
      {"select(x < 1, x, x)", [](const Expr& e) { return select(e < 1, e, e); }},
      {"select(true, x, 2)", [](const Expr& e) { return select(Expr(true), e, 2.0f); }},
      {"-(-(x * 1)) - 0", [](const Expr& e) { return -(-(e * 1)) - 0.0f; }},
  };
  for (const Identity& identity : identities) {
    const Expr element = x(i), value = identity.apply(element);
    EXPECT_TRUE(simplify_value(value).same_as(element)) << identity.text;
    EXPECT_EQ(bits(value, x), bits(element, x)) << identity.text;
  }
}

TEST(SimplifyValues, DoesNotSimplifyWhatIsDifferentForSomeValue) {
  Tensor x = input("x", f32, {8});
  const Expr e = x(i);
  const Expr zero = constant(f32, 0);
  // Each with what a careless rule would make of it.
  const std::vector<std::pair<Expr, Expr>> wrong = {
      {e + 0.0f, e},    {0.0f + e, e},    {e - (-0.0f), e},     {e * 0.0f, zero},
      {0.0f * e, zero}, {e - e, zero},    {e / e, zero + 1.0f}, {0.0f - e, -e},
      {e / -1.0f, e},   {0.0f / e, zero}, {max(e, 0.0f), e},    {select(e < 1, e, -e), e},
  };
  for (const auto& [value, careless] : wrong) {
    EXPECT_TRUE(simplify_value(value).same_as(value)) << to_string(value);
    if (value->op == ExprOp::sub && careless->op == ExprOp::neg) continue;  // 0 - 0: the sign of 0
    EXPECT_NE(bits(value, x), bits(careless, x)) << to_string(value);
  }
  EXPECT_NE(bits(0.0f - e, x), bits(-e, x));
}

TEST(SimplifyValues, DoesNotTakeTwoValuesForOne) {
  Tensor x = input("x", f32, {9});
  for (const Expr& e : {max(x(i), x(i + 1)), select(x(i) < 1, x(i + 1), x(i)), -abs(-x(i))}) {
    EXPECT_TRUE(simplify_value(e).same_as(e)) << to_string(e);
  }
  const Expr same = max(x(i + 1), x(1 + i));
  EXPECT_EQ(to_string(simplify_value(same)), "x[i + 1]");
}

TEST(SimplifyValues, IntegersHaveOneZero) {
  Tensor x = input("x", i8, {8});
  const Expr e = x(i);
  for (const Expr& value : {e + 0, 0 + e, e - 0, e * 1, e / 1, -(-e)}) {
    EXPECT_TRUE(simplify_value(value).same_as(e)) << to_string(value);
  }
  for (const Expr& value : {0 - e, e / 2, 1 / e, e * 0}) {
    EXPECT_TRUE(simplify_value(value).same_as(value)) << to_string(value);
  }
}

TEST(SimplifyValues, Logic) {
  Tensor b = input("b", bool_, {8});
  const Expr e = b(i);
  for (const Expr& value :
       {e && Expr(true), Expr(true) && e, e || Expr(false), Expr(false) || e, !!e}) {
    EXPECT_TRUE(simplify_value(value).same_as(e)) << to_string(value);
  }
  for (const Expr& value : {e && Expr(false), e || Expr(true), !e}) {
    EXPECT_TRUE(simplify_value(value).same_as(value)) << to_string(value);
  }
}

TEST(SimplifyValues, ACopyThatIsLeftIsReadNoMore) {
  Tensor x = input("x", f32, {4, 3});
  const Graph graph(exp(div(x * 1, 1, "d"), "y"));
  const Graph after = simplify_values(graph);
  verify_graph(after);
  EXPECT_THAT(computed(after), ElementsAre("y"));
  expect_same_values(graph, after);
  EXPECT_EQ(simplify_values(after).ops(), after.ops());
}

TEST(SimplifyValues, SignsOfTwoOperations) {
  Tensor x = input("x", f32, {4, 3});
  const Axis i("i", 4), j("j", 3);
  Tensor turned = compute("turned", {j, i}, -x(i, j));
  const Graph graph({compute("y", {j, i}, exp(-turned(j, i))), neg(exp(turned), "z")});
  const Graph after = simplify_values(graph);
  verify_graph(after);
  expect_same_values(graph, after);
  EXPECT_EQ(to_string(op_of(after, "y")->body), "exp(x[i, j])");
  EXPECT_EQ(op_of(after, "z"), op_of(graph, "z"));
}

TEST(SimplifyValues, AnOutputStays) {
  Tensor x = input("x", f32, {4, 3});
  const Graph after = simplify_values(Graph(mul(x, 1, "y")));
  EXPECT_THAT(computed(after), ElementsAre("y"));
  EXPECT_EQ(to_string(op_of(after, "y")->body), "x[i0, i1]");
}

TEST(SimplifyValues, KeepsWhatIsNoWholeCopy) {
  Tensor x = input("x", f32, {4, 4});
  const Axis r("r", 4), c("c", 4), three("three", 3);
  Tensor turned = compute("turned", {r, c}, x(c, r) * 1);
  Tensor part = compute("part", {three, c}, x(three, c) * 1);
  Tensor repeated = compute("repeated", {r, c}, x(r, 0) * 1);
  Tensor total = compute("total", {r}, sum(c, x(r, c) * 1));
  const Graph graph({exp(turned), exp(part), exp(repeated), exp(total)});
  const Graph after = simplify_values(graph);
  verify_graph(after);
  EXPECT_EQ(computed(after).size(), 8u);
  expect_same_values(graph, after, 1e-6);
}

TEST(SimplifyValues, NotTheSignOfASum) {
  const Tensor x = input("x", f32, {4, 3});
  const Axis i("i", 4), j("j", 3);
  const Tensor total = compute("total", {i}, sum(j, -x(i, j)));
  const Graph graph(compute("y", {i}, exp(-total(i))));
  EXPECT_EQ(simplify_values(graph).ops(), graph.ops());
}

TEST(SimplifyValues, NotTheSignOfWhatIsComputed) {
  const Tensor x = input("x", f32, {4});
  const Graph graph(exp(neg(compute("n", {Axis("i", 4)}, -(x(Axis("i", 4)) * 2)))));
  EXPECT_EQ(simplify_values(graph).ops(), graph.ops()) << "x * 2 would be computed twice";
}

TEST(SimplifyValues, NotOneSignForAnother) {
  const Tensor b = input("b", bool_, {8}), x = input("x", f32, {8});
  const Tensor turned = logical_not(b, "turned"), size = abs(x, "size");
  const Graph graph({compute("y", {i}, select(turned(i), x(i), 0.0F)), neg(size, "z")});
  EXPECT_EQ(simplify_values(graph).ops(), graph.ops());
}

TEST(SimplifyValues, NotInsideOfGroups) {
  const Tensor x = input("x", f32, {4});
  const Graph grouped = fuse_epilogues(Graph(exp(mul(x, 1, "m"), "y")));
  EXPECT_EQ(simplify_values(grouped).ops(), grouped.ops());
}

TEST(SimplifyValues, NothingToDoIsTheSameGraph) {
  const Graph graph(exp(input("x", f32, {4})));
  EXPECT_EQ(simplify_values(graph).ops(), graph.ops());
}

}  // namespace
}  // namespace emulsion
