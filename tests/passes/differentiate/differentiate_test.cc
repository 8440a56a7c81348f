#include "passes/differentiate/differentiate.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "backends/interpreter/interpret_graph.h"
#include "dsl/graph_text.h"
#include "dsl/operators.h"
#include "passes/analyse/recognise_op.h"
#include "passes/fuse/fuse_epilogues.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/op_of.h"

namespace emulsion {
namespace {

const Axis i("i", 4), j("j", 4);

std::vector<double> values(const Graph& graph, const std::string& name,
                           const TensorValues& arguments) {
  return interpret_graph(graph, arguments).at(name).to_vector<double>();
}

// The gradient of sum(f(x)) at these values of x.
std::vector<double> gradient_at(const std::vector<double>& x,
                                const std::function<Tensor(const Tensor&)>& f) {
  const auto count = static_cast<int64_t>(x.size());
  const Tensor t = input("x", f64, {count});
  const Tensor y = f(t);
  const Tensor loss = y.rank() == 0 ? y : sum(y, {0}, false, "loss");
  return values(differentiate(loss, {t}), "grad_x", {{"x", make_tensor({count}, x)}});
}

bool is_contraction(const Graph& graph, const std::string& name) {
  return match_product(*op_of(graph, name)).has_value();
}

TEST(Differentiate, AddsGradientsBehindTheOutputs) {
  const Tensor x = input("x", f32, {3, 4}), w = weight("w", f32, {4, 2});
  const Graph graph = differentiate(matmul(x, w, "y"), {w, x});
  ASSERT_EQ(graph.outputs().size(), 3u);
  EXPECT_EQ(graph.outputs()[0]->name, "y");
  EXPECT_EQ(graph.outputs()[1]->name, "grad_w");
  EXPECT_EQ(graph.outputs()[1]->shape, w.shape());
  EXPECT_EQ(graph.outputs()[2]->name, "grad_x");
}

TEST(Differentiate, KeepsTheOrderOfArgumentsAndPutsCotangentsBehindThem) {
  const Tensor x = input("x", f32, {3, 4}), w = weight("w", f32, {4, 2});
  const Graph graph = differentiate(Graph(matmul(x, w, "y")).arguments({w, x}), {w});
  std::vector<std::string> names;
  for (const OpPtr& op : graph.arguments()) names.push_back(op->name);
  EXPECT_EQ(names, (std::vector<std::string>{"w", "x", "grad_y"}));
}

TEST(Differentiate, ALossHasTheCotangentOne) {
  const Tensor x = input("x", f64, {3});
  const Graph graph = differentiate(sum(mul(x, x), {0}, false, "loss"), {x});
  EXPECT_EQ(graph.arguments().size(), 1u);
  EXPECT_EQ(values(graph, "grad_x", {{"x", make_tensor({3}, std::vector<double>{1, -2, 3})}}),
            (std::vector<double>{2, -4, 6}));
}

TEST(Differentiate, SeveralOutputsHaveACotangentEach) {
  const Tensor x = input("x", f64, {2});
  const Graph graph =
      differentiate(Graph({mul(x, 2, "a"), mul(x, x, "b"), less(x, 0, "is_negative")}), {x});
  const auto tensor = [](double a, double b) {
    return make_tensor({2}, std::vector<double>{a, b});
  };
  EXPECT_EQ(values(graph, "grad_x",
                   {{"x", tensor(3, 5)}, {"grad_a", tensor(1, 10)}, {"grad_b", tensor(1, 0)}}),
            (std::vector<double>{2 + 6, 20}));
}

TEST(Differentiate, ANameThatIsTakenGetsANumber) {
  const Tensor x = input("grad_y", f32, {3});
  const Graph graph = differentiate(mul(x, x, "y"), {x});
  EXPECT_EQ(graph.arguments()[1]->name, "grad_y1");
  EXPECT_EQ(graph.outputs()[1]->name, "grad_grad_y");
}

TEST(Differentiate, ACotangentThatNothingNeedsIsNoArgumentWhateverElseHasItsName) {
  const Tensor x = input("x", f32, {3});
  const Tensor constant = pow(x, 0, "x_1"), square = mul(x, x, "y");
  const Tensor t = mul(square, square);
  const Graph graph = differentiate(Graph({constant, mul(t, t, "z")}), {x});
  std::vector<std::string> names;
  for (const OpPtr& op : graph.arguments()) names.push_back(op->name);
  EXPECT_EQ(names, (std::vector<std::string>{"x", "grad_z"}));
}

TEST(Gradients, OfMatmulAreContractionsOfPlainReads) {
  const Tensor x = input("x", f32, {Extent::size("B"), 4}), w = weight("w", f32, {4, 2});
  const Graph graph = differentiate(matmul(x, w, "y"), {x, w});
  EXPECT_TRUE(is_contraction(graph, "grad_x"));
  EXPECT_TRUE(is_contraction(graph, "grad_w"));
  EXPECT_EQ(to_string(*op_of(graph, "grad_w")),
            "grad_w[i0: 4, i1: 2] = sum(m: B) grad_y[m, i1] * x[m, i0]");
}

TEST(Gradients, OfAConvolutionAreContractions) {
  const Tensor x = input("x", f32, {2, 9, 9, 4}), w = weight("w", f32, {3, 3, 4, 6});
  Conv2dOptions options;
  options.stride_h = options.dilation_w = 2;
  const Graph graph = differentiate(conv2d(x, w, options, "y"), {x, w});
  EXPECT_TRUE(is_contraction(graph, "grad_x"));
  EXPECT_TRUE(is_contraction(graph, "grad_w"));
}

TEST(Gradients, OfALayerFuse) {
  const Tensor x = input("x", f32, {8, 4}), w = weight("w", f32, {4, 6});
  const Tensor hidden = tanh(matmul(x, w, "product"), "hidden");
  const Tensor loss = mean(mul(hidden, hidden, "square"), {0, 1}, false, "loss");
  const Graph graph = differentiate(loss, {w});
  EXPECT_LT(fuse_epilogues(graph).ops().size(), graph.ops().size());
  EXPECT_TRUE(is_contraction(graph, "grad_w"));
}

TEST(Gradients, ByWhatIsNotReachedAreZeros) {
  const Tensor x = input("x", f64, {3}), other = input("other", f64, {2});
  const Graph graph = differentiate(Graph({mul(x, x, "y"), mul(other, 2, "z")}), {other, x});
  const Tensor y = mul(x, x, "y");
  const Graph alone(gradients(y, {other}, x)[0]);
  EXPECT_EQ(values(alone, "grad_other", {}), (std::vector<double>{0, 0}));
  EXPECT_EQ(graph.outputs().size(), 4u);
}

TEST(Gradients, ByAnIntermediateTensor) {
  const Tensor x = input("x", f64, {2});
  const Tensor t = mul(x, 3, "t");
  const Tensor y = sum(mul(t, t), {0}, false, "y");
  const Graph graph = differentiate(y, {t, x});
  const TensorValues at = {{"x", make_tensor({2}, std::vector<double>{1, 2})}};
  EXPECT_EQ(values(graph, "grad_t", at), (std::vector<double>{6, 12}));
  EXPECT_EQ(values(graph, "grad_x", at), (std::vector<double>{18, 36}));
}

TEST(Gradients, ByTheResultItself) {
  const Tensor x = input("x", f64, {2}), g = input("g", f64, {2});
  const Tensor y = mul(x, 3, "y");
  const std::vector<Tensor> result = gradients(y, {y, x}, g);
  const Graph graph({result[0], result[1]});
  const TensorValues at = {{"g", make_tensor({2}, std::vector<double>{1, 2})}};
  EXPECT_EQ(values(graph, "grad_y", at), (std::vector<double>{1, 2}));
  EXPECT_EQ(values(graph, "grad_x", at), (std::vector<double>{3, 6}));
}

TEST(Gradients, OfOneTensorAreTensorsOfTheirOwn) {
  const Tensor a = input("a", f64, {2}), b = input("b", f64, {2}), g = input("g", f64, {2});
  const std::vector<Tensor> result = gradients(add(a, b, "y"), {a, b}, g);
  EXPECT_NE(result[0].op(), result[1].op());
  EXPECT_EQ(Graph(result).outputs().size(), 2u);
}

// An operation and what reads it, both without a name: add.
TEST(Gradients, OfTensorsOfOneNameAreTensorsOfTheirOwn) {
  const Tensor x = input("x", f64, {2});
  const Tensor before = add(x, 1), after = add(before, 2);
  const std::vector<Tensor> result =
      gradients(sum(mul(after, after), {0}, false, "loss"), {before, after});
  EXPECT_NE(result[0].op(), result[1].op());
  EXPECT_EQ(Graph(result).outputs().size(), 2u);
}

TEST(Gradients, OfGradients) {
  const Tensor x = input("x", f64, {2});
  const Tensor y = sum(mul(mul(x, x), x), {0}, false, "y");
  const Tensor first = gradients(y, {x})[0];
  const Tensor second = gradients(sum(first, {0}), {x})[0];
  EXPECT_EQ(values(second, Graph(second).name_of(second),
                   {{"x", make_tensor({2}, std::vector<double>{1, 2})}}),
            (std::vector<double>{6, 12}));
}

TEST(Gradients, ReadOnInAnUpdateStep) {
  const Tensor x = input("x", f64, {2}), rate = input("rate", f64, {});
  const Tensor loss = sum(mul(x, x), {0}, false, "loss");
  const Tensor next = sub(x, mul(rate, gradients(loss, {x})[0]), "next");
  EXPECT_EQ(values(Graph({loss, next}), "next",
                   {{"x", make_tensor({2}, std::vector<double>{1, 2})},
                    {"rate", make_tensor({}, std::vector<double>{0.25})}}),
            (std::vector<double>{0.5, 1}));
}

TEST(Gradients, TiesOfAMaximumShareEvenly) {
  EXPECT_EQ(gradient_at({3, 1, 3, 2}, [](const Tensor& x) { return reduce_max(x, {0}); }),
            (std::vector<double>{0.5, 0, 0.5, 0}));
  EXPECT_EQ(gradient_at({1, 1, 1, 1}, [](const Tensor& x) { return reduce_min(x, {0}); }),
            (std::vector<double>{0.25, 0.25, 0.25, 0.25}));
}

TEST(Gradients, TiesOfTwoSidesAreHalvedAndAConstantTakesAll) {
  EXPECT_EQ(gradient_at({0, 1, -1}, [](const Tensor& x) { return max(x, neg(x)); }),
            (std::vector<double>{0, 1, -1}));
  EXPECT_EQ(gradient_at({0, 1, -1}, [](const Tensor& x) { return max(x, mul(x, 2)); }),
            (std::vector<double>{1.5, 2, 1}));
  EXPECT_EQ(gradient_at({0, 1, -1}, [](const Tensor& x) { return relu(x); }),
            (std::vector<double>{0, 1, 0}));
  EXPECT_EQ(gradient_at({-1, 0, 1}, [](const Tensor& x) { return clamp(x, -1, 1); }),
            (std::vector<double>{0, 1, 0}));
}

TEST(Gradients, OfAbsAndSigmoidAtZero) {
  EXPECT_EQ(gradient_at({0}, [](const Tensor& x) { return abs(x); }), (std::vector<double>{1}));
  EXPECT_EQ(gradient_at({0}, [](const Tensor& x) { return sigmoid(x); }),
            (std::vector<double>{0.25}));
}

// The logarithm of 0 is infinite.
TEST(Gradients, OfPowersOfZeroByTheExponent) {
  EXPECT_EQ(gradient_at({2, 0.5}, [](const Tensor& x) { return pow(0, x); }),
            (std::vector<double>{0, 0}));
}

TEST(Gradients, AProductWithZerosAmongItsFactors) {
  const auto product_of = [](const Tensor& x) {
    const Axis k("k", x.shape()[0]);
    return compute("y", {}, product({k}, x(k)));
  };
  EXPECT_EQ(gradient_at({2, 0, 3}, product_of), (std::vector<double>{0, 6, 0}));
  EXPECT_EQ(gradient_at({2, 0, 0}, product_of), (std::vector<double>{0, 0, 0}));
}

// JAX has NaN here: 0 * infinity where the logarithm was not chosen.
TEST(Gradients, WhatIsNotChosenPoisonsNothing) {
  EXPECT_EQ(gradient_at({0, -1, 4},
                        [](const Tensor& x) {
                          const Axis k("k", 3);
                          return compute("y", {k}, select(x(k) > 0, log(x(k)), x(k) * 2));
                        }),
            (std::vector<double>{2, 2, 0.25}));
}

TEST(Gradients, ConditionsAndMasksHaveNone) {
  EXPECT_EQ(gradient_at({-1, 2}, [](const Tensor& x) { return mul(cast(less(x, 0), f64), x); }),
            (std::vector<double>{1, 0}));
}

TEST(Gradients, DoNotDoubleOverSixtyFourDiamonds) {
  const Tensor x = input("x", f64, {2});
  Tensor y = x;
  for (int n = 0; n < 64; ++n) y = mul(add(y, y), 0.5);
  const Graph graph = differentiate(sum(y, {0}, false, "loss"), {x});
  EXPECT_LT(graph.ops().size(), 64u * 6);
  EXPECT_EQ(values(graph, "grad_x", {{"x", make_tensor({2}, std::vector<double>{1, 2})}}),
            (std::vector<double>{1, 1}));
}

TEST(Gradients, OfATensorThatVeryManyRead) {
  const Tensor x = input("x", f64, {2});
  Tensor total = mul(x, 0);
  for (int n = 0; n < 300; ++n) total = add(total, mul(x, 2));
  EXPECT_EQ(values(differentiate(sum(total, {0}, false, "loss"), {x}), "grad_x",
                   {{"x", make_tensor({2}, std::vector<double>{1, 2})}}),
            (std::vector<double>{600, 600}));
}

TEST(GradientRefusals, ATensorThatIsNotOfTheGraph) {
  const Tensor x = input("x", f32, {4}), other = input("other", f32, {4});
  EXPECT_ERROR(differentiate(mul(x, x, "y"), {other}),
               "expected one of its operations (x, y), got other");
}

TEST(GradientRefusals, AnIntegerToDifferentiateBy) {
  const Tensor n = input("n", DType::i32, {4});
  EXPECT_ERROR(gradients(sum(cast(n, f32), {0}), {n}),
               "expected a tensor to differentiate by of type f32 or f64, got n of i32");
}

TEST(GradientRefusals, AnIntegerToDifferentiate) {
  const Tensor x = input("x", f32, {4});
  const Tensor y = cast(sum(x, {0}), DType::i32, "y");
  EXPECT_ERROR(gradients(y, {x}),
               "expected a tensor to differentiate of type f32 or f64, got y of i32");
  EXPECT_ERROR(differentiate(y, {x}), "expected an output of type f32 or f64, got none");
}

TEST(GradientRefusals, AnIntegerOnTheWay) {
  const Tensor x = input("x", f32, {4});
  const Tensor rounded = cast(x, DType::i32, "rounded");
  EXPECT_ERROR(gradients(sum(cast(rounded, f32, "back"), {0}), {x}),
               "back: expected floats all the way from a tensor whose gradient is asked for, got "
               "the i32 value rounded[");
  EXPECT_ERROR(gradients(compute("y", {}, sum(i, cast(f32, cast(DType::i32, x(i))))), {x}),
               "y: expected floats all the way");
}

TEST(GradientRefusals, AnIntegerBesideTheWayIsNoError) {
  const Tensor x = input("x", f32, {4}), n = input("n", DType::i32, {4});
  EXPECT_EQ(gradients(sum(mul(x, cast(n, f32)), {0}), {x}).size(), 1u);
}

TEST(GradientRefusals, AnIndexMadeOfData) {
  const Tensor table = input("table", f32, {5}), which = input("which", DType::i32, {4});
  const Tensor y = compute("y", {i}, table(max(min(which(i), 4), 0)));
  EXPECT_ERROR(gradients(sum(y, {0}), {table}),
               "y: read of table, index 0: expected an index made of axes, numbers and run-time "
               "sizes where a gradient by table is asked for, got max(min(which[i], 4), 0); "
               "legal: a sum of products with select(which[i] == j, 1, 0) instead");
}

// Though inside they are others where the table is made over an axis of the same name.
TEST(GradientRefusals, AnIndexMadeOfDataIsShownWithTheNamesOfItsAxes) {
  const Tensor x = input("x", f32, {4}), which = input("which", DType::i32, {4});
  const Tensor table = compute("table", {i}, x(i) * 2.0F);
  const Tensor y = compute("y", {i}, table(max(min(which(i), 3), 0)));
  EXPECT_ERROR(
      gradients(sum(y, {0}), {x}),
      "got max(min(which[i], 3), 0); legal: a sum of products with select(which[i] == j, ");
}

TEST(GradientRefusals, AnIndexMadeOfDataBesideTheWayIsNoError) {
  const Tensor table = input("table", f32, {5}), which = input("which", DType::i32, {4});
  const Tensor x = input("x", f32, {4});
  const Tensor y = compute("y", {i}, x(i) * table(max(min(which(i), 4), 0)));
  EXPECT_EQ(gradients(sum(y, {0}), {x}).size(), 1u);
}

TEST(GradientRefusals, AResultThatNeedsACotangent) {
  const Tensor x = input("x", f32, {4});
  EXPECT_ERROR(gradients(mul(x, x, "y"), {x}),
               "expected one element, or a cotangent of the same shape, got y of shape [4] without "
               "one; legal: gradients(y, ..., cotangent), or the sum or mean of it");
}

TEST(GradientRefusals, ACotangentOfAnotherShapeOrType) {
  const Tensor x = input("x", f32, {4});
  const Tensor y = mul(x, x, "y");
  EXPECT_ERROR(gradients(y, {x}, input("g", f32, {5})),
               "expected a cotangent of y: f32 [4], got g: f32 [5]");
  EXPECT_ERROR(gradients(y, {x}, input("g", f64, {4})),
               "expected a cotangent of y: f32 [4], got g: f64 [4]");
}

TEST(GradientRefusals, NothingToDoOrTwice) {
  const Tensor x = input("x", f32, {4});
  const Tensor y = sum(x, {0}, false, "y");
  EXPECT_ERROR(gradients(y, {}), "expected at least one tensor to differentiate by, got none");
  EXPECT_ERROR(gradients(y, {x, x}), "expected distinct tensors to differentiate by, got x twice");
  EXPECT_ERROR(gradients(std::vector<Tensor>(), {x}, {}),
               "expected at least one tensor to differentiate, got none");
  EXPECT_ERROR(gradients(std::vector<Tensor>{y}, {x}, {}),
               "expected 1 cotangent, one (or an undefined tensor) for each tensor, got 0");
}

TEST(GradientRefusals, UndefinedTensors) {
  const Tensor x = input("x", f32, {4});
  EXPECT_ERROR(gradients(Tensor(), {x}),
               "expected a tensor to differentiate, got an undefined tensor");
  EXPECT_ERROR(gradients(sum(x, {0}), {Tensor()}),
               "expected a tensor to differentiate by, got an undefined tensor");
}

TEST(GradientRefusals, AGraphThatIsFusedAlready) {
  const Tensor x = input("x", f32, {4, 3}), w = weight("w", f32, {3, 2});
  const Graph fused = fuse_epilogues(Graph(tanh(matmul(x, w, "mm"), "y")));
  ASSERT_EQ(fused.outputs()[0]->kind, OpKind::fused);
  EXPECT_ERROR(differentiate(fused, {w}),
               "expected a graph before fusion, got the group y; legal: fuse the result");
}

}  // namespace
}  // namespace emulsion
