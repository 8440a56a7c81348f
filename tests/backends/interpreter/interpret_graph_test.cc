#include "backends/interpreter/interpret_graph.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

using Floats = std::vector<float>;

const Extent B = Extent::size("B");
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Floats run(const Tensor& y, const TensorValues& arguments, const InterpretOptions& options = {}) {
  TensorValues outputs = interpret_graph(Graph(y), arguments, options);
  EXPECT_EQ(outputs.size(), 1u);
  return outputs.begin()->second.to_vector<float>();
}

TensorValue vector_of(const Floats& values) {
  return make_tensor({static_cast<int64_t>(values.size())}, values);
}

// y[m, n] = max(sum(k, x[m, k] * w[k, n]) + b[n], 0), in index notation.
Tensor linear(const Extent& rows, int64_t columns, int64_t depth) {
  Tensor x = input("x", f32, {rows, depth}), w = weight("w", f32, {depth, columns});
  Tensor b = weight("b", f32, {columns});
  Axis m("m", rows), n("n", columns), k("k", depth);
  Func mm("mm"), y("y");
  mm(m, n) = sum(k, x(m, k) * w(k, n));
  y(m, n) = max(mm(m, n) + b(n), 0.0f);
  return y.tensor();
}

// The plain loops that linear() means.
Floats linear_reference(const TensorValues& arguments) {
  const TensorValue &x = arguments.at("x"), &w = arguments.at("w"), &b = arguments.at("b");
  Floats y;
  for (int64_t m = 0; m < x.shape[0]; ++m) {
    for (int64_t n = 0; n < w.shape[1]; ++n) {
      double total = b.value(n);
      for (int64_t k = 0; k < w.shape[0]; ++k) {
        total += x.value(m * w.shape[0] + k) * w.value(k * w.shape[1] + n);
      }
      y.push_back(total > 0 ? static_cast<float>(total) : 0.0f);
    }
  }
  return y;
}

TensorValues linear_arguments(int64_t rows, int64_t columns, int64_t depth) {
  return {{"x", random_integers(f32, {rows, depth}, 1)},
          {"w", random_integers(f32, {depth, columns}, 2)},
          {"b", random_integers(f32, {columns}, 3)}};
}

TEST(InterpretGraph, ComputesALinearLayer) {
  TensorValues arguments = linear_arguments(7, 5, 11);
  EXPECT_EQ(run(linear(7, 5, 11), arguments), linear_reference(arguments));
}

TEST(InterpretGraph, ServesEveryBatchFromOneGraph) {
  Tensor y = linear(B, 5, 3);
  for (int64_t rows : {0, 1, 2, 17}) {
    TensorValues arguments = linear_arguments(rows, 5, 3);
    EXPECT_EQ(run(y, arguments), linear_reference(arguments)) << rows;
  }
}

TEST(InterpretGraph, TheEmptySumIsZero) {
  TensorValues arguments = linear_arguments(2, 3, 0);
  EXPECT_EQ(run(linear(2, 3, 0), arguments), linear_reference(arguments));
}

TEST(InterpretGraph, MeetsASixtyFourCubedMatmul) {
  TensorValues arguments = linear_arguments(64, 64, 64);
  EXPECT_EQ(run(linear(64, 64, 64), arguments), linear_reference(arguments));
}

TEST(InterpretGraph, StartsEveryCombinerFromItsIdentity) {
  Tensor x = input("x", f32, {B});
  Axis k("k", B);
  auto over = [&](Expr reduction) { return compute("y", {}, std::move(reduction)); };
  const TensorValues empty = {{"x", vector_of({})}};
  EXPECT_EQ(run(over(sum(k, x(k))), empty), Floats{0});
  EXPECT_EQ(run(over(product({k}, x(k))), empty), Floats{1});
  EXPECT_EQ(run(over(reduce_max(k, x(k))), empty), Floats{-kInf});
  EXPECT_EQ(run(over(reduce_min(k, x(k))), empty), Floats{kInf});
}

TEST(InterpretGraph, CombinesWithEveryCombiner) {
  Tensor x = input("x", f32, {4});
  Axis k("k", 4);
  auto over = [&](Expr reduction) { return compute("y", {}, std::move(reduction)); };
  const TensorValues arguments = {{"x", vector_of({2, -3, 4, 5})}};
  EXPECT_EQ(run(over(sum(k, x(k))), arguments), Floats{8});
  EXPECT_EQ(run(over(product({k}, x(k))), arguments), Floats{-120});
  EXPECT_EQ(run(over(reduce_max(k, x(k))), arguments), Floats{5});
  EXPECT_EQ(run(over(reduce_min(k, x(k))), arguments), Floats{-3});
}

TEST(InterpretGraph, PropagatesNan) {
  Tensor x = input("x", f32, {3});
  Axis i("i", 3);
  Floats y = run(compute("y", {i}, max(x(i), 0.0f)), {{"x", vector_of({kNan, -kInf, kInf})}});
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], 0);
  EXPECT_EQ(y[2], kInf);
}

TEST(InterpretGraph, ReturnsEveryOutputByName) {
  Tensor x = input("x", f32, {2});
  Axis i("i", 2);
  Tensor a = compute("a", {i}, x(i) + 1.0f), b = compute("b", {i}, a(i) * 2.0f);
  TensorValues outputs =
      interpret_graph(Graph(std::vector<Tensor>{a, b}), {{"x", vector_of({1, 2})}});
  EXPECT_EQ(outputs.at("a").to_vector<float>(), (Floats{2, 3}));
  EXPECT_EQ(outputs.at("b").to_vector<float>(), (Floats{4, 6}));
}

TEST(InterpretGraph, TakesConstants) {
  Tensor c = constant("c", {2}, Floats{10, 20});
  Axis i("i", 2);
  EXPECT_EQ(run(compute("y", {i}, c(i) + c(1 - Expr(i))), {}), (Floats{30, 30}));
}

TEST(InterpretGraph, ComputesIntegersAndConditions) {
  Tensor x = input("x", i32, {3});
  Axis i("i", 3);
  Tensor even = compute("even", {i}, x(i) % 2 == 0);
  Tensor y = compute("y", {i}, select(even(i), x(i) / 2, x(i) * 3 + 1));
  TensorValues outputs =
      interpret_graph(Graph(y), {{"x", make_tensor({3}, std::vector<int32_t>{-4, 7, 0})}});
  EXPECT_EQ(outputs.at("y").to_vector<int32_t>(), (std::vector<int32_t>{-2, 22, 0}));
}

TEST(InterpretGraph, EvaluatesTheMembersOfAFusedOperation) {
  Graph plain(linear(4, 3, 2));
  auto fused = std::make_shared<Op>(*plain.outputs()[0]);
  fused->kind = OpKind::fused;
  OpPtr mm = *plain.find("mm");
  fused->members = {mm, plain.outputs()[0]};
  std::vector<OpPtr> ops = plain.arguments();
  ops.push_back(fused);
  Graph graph(ops, {fused});
  TensorValues arguments = linear_arguments(4, 3, 2);
  EXPECT_EQ(interpret_graph(graph, arguments).at("y").to_vector<float>(),
            linear_reference(arguments));
}

TEST(InterpretGraph, AccumulatesInF64WhenAsked) {
  Tensor x = input("x", f32, {3});
  Axis k("k", 3);
  Tensor y = compute("y", {}, sum(k, x(k)));
  const TensorValues arguments = {{"x", vector_of({1e8f, 1, -1e8f})}};
  InterpretOptions oracle;
  oracle.f64_accumulation = true;
  EXPECT_EQ(run(y, arguments), Floats{0});
  EXPECT_EQ(run(y, arguments, oracle), Floats{1});
}

// Written with and without a condition that holds for a whole loop: each term alone is the same.
TEST(InterpretGraph, SumsTheTermsWhoseConditionsHold) {
  const Tensor x = input("x", f32, {3, 4});
  const Axis i("i", 3), p("p", 3), q("q", 4);
  const Expr below = Expr(q) < Expr(p);
  const Tensor y = compute(
      "y", {i},
      sum({p, q}, select(Expr(p) == Expr(i) && Expr(i) > 0, select(below, x(p, q), 0.0f), 0.0f)));
  const TensorValues arguments = {
      {"x", make_tensor({3, 4}, Floats{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})}};
  EXPECT_EQ(run(y, arguments), (Floats{0, 5, 19}));
}

TEST(InterpretGraph, OtherwiseThanZeroAndOtherCombinersTakeEveryTerm) {
  const Tensor x = input("x", f32, {3});
  const Axis i("i", 2), p("p", 3);
  const TensorValues arguments = {{"x", vector_of({-1, -2, -3})}};
  const Expr first = Expr(i) == 0;
  EXPECT_EQ(run(compute("y", {i}, sum(p, select(first, x(p), 1.0f))), arguments), (Floats{-6, 3}));
  EXPECT_EQ(run(compute("y", {i}, reduce_max(p, select(first, x(p), 0.0f))), arguments),
            (Floats{-1, 0}));
}

TEST(InterpretGraph, ConditionsThatReadAreAskedOfEachTerm) {
  const Tensor x = input("x", f32, {2});
  const Axis i("i", 2), p("p", 2);
  const Tensor y =
      compute("y", {i}, sum(p, select(x(i) > 0.0f, select(Expr(i) == 0, x(p), 0.0f), 0.0f)));
  const Floats found = run(y, {{"x", vector_of({1, kNan})}});
  EXPECT_TRUE(std::isnan(found[0]));
  EXPECT_EQ(found[1], 0);
}

TEST(InterpretGraph, TheOracleRoundsAtTheEndOfAStage) {
  Tensor x = input("x", f32, {2});
  Axis k("k", 2);
  Tensor s = compute("s", {}, sum(k, x(k)));
  Tensor y = compute("y", {}, s() - 16777216.0f);
  InterpretOptions oracle;
  oracle.f64_accumulation = true;
  EXPECT_EQ(run(y, {{"x", vector_of({16777216.0f, 1})}}, oracle), Floats{0});
}

TEST(InterpretGraph, KeepsF64AsItIs) {
  Tensor x = input("x", f64, {1});
  Axis i("i", 1);
  Tensor y = compute("y", {i}, x(i) / constant(f64, 3));
  TensorValue third = interpret_graph(y, {{"x", make_tensor({1}, std::vector<double>{1})}}).at("y");
  EXPECT_EQ(third.value(0), 1.0 / 3.0);
}

TEST(InterpretGraph, TakesASizeThatOnlyAnOutputHas) {
  Axis i("i", B);
  InterpretOptions options;
  options.sizes = {{"B", 3}};
  EXPECT_EQ(run(compute("y", {i}, cast(f32, Expr(i))), {}, options), (Floats{0, 1, 2}));
}

TEST(InterpretGraph, RefusesASizeWithoutAValue) {
  Axis i("i", B);
  EXPECT_ERROR(interpret_graph(compute("y", {i}, cast(f32, Expr(i))), {}),
               "run-time size B: expected a value, got none");
}

TEST(InterpretGraph, RefusesAMissingArgument) {
  EXPECT_ERROR(interpret_graph(linear(2, 2, 2), {}), "argument x: expected a tensor f32[2, 2]");
}

TEST(InterpretGraph, RefusesAWrongShape) {
  TensorValues arguments = linear_arguments(2, 2, 2);
  arguments["b"] = zeros(f32, {3});
  EXPECT_ERROR(interpret_graph(linear(2, 2, 2), arguments),
               "argument b, axis 0: expected 2, got 3");
}

TEST(InterpretGraph, RefusesAWrongType) {
  TensorValues arguments = linear_arguments(2, 2, 2);
  arguments["b"] = zeros(i32, {2});
  EXPECT_ERROR(interpret_graph(linear(2, 2, 2), arguments), "argument b: expected f32, got i32");
}

}  // namespace
}  // namespace emulsion
