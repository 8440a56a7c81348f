#include "passes/fuse/named_pattern.h"

#include <gtest/gtest.h>

#include <string>

#include "dsl/operators.h"
#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

Tensor matrix(const std::string& name) { return input(name, f32, {16, 32}); }
Tensor row(const std::string& name) { return input(name, f32, {32}); }

bool matches(const std::string& name, const Tensor& value) {
  return NamedPattern("test", name).match(value.op()).has_value();
}

TEST(NamedPattern, FirstStepsWithoutASum) {
  const Tensor x = matrix("x"), z = matrix("z");
  EXPECT_TRUE(matches("add+relu", relu(x + z)));
  EXPECT_TRUE(matches("sub+tanh", tanh(x - z)));
  EXPECT_TRUE(matches("mul+relu", relu(x * z)));
  EXPECT_TRUE(matches("div+sigmoid", sigmoid(x / z)));
  EXPECT_TRUE(matches("affine+relu", relu(x * row("s") + row("t"))));
  EXPECT_TRUE(matches("affine+relu", relu(row("t") + row("s") * x)));
  EXPECT_FALSE(matches("add+relu", relu(x * z)));
  EXPECT_FALSE(matches("add+relu", x + z));
  EXPECT_FALSE(matches("affine+relu", relu(x * row("s"))));
}

TEST(NamedPattern, AClampBetweenAnyNumbers) {
  const Tensor x = matrix("x"), z = matrix("z");
  EXPECT_TRUE(matches("add+clamp", clamp(x + z, 0, 6)));
  EXPECT_TRUE(matches("add+clamp", clamp(x + z, -1, 0.5)));
  EXPECT_TRUE(matches("add+clamp+relu", relu(clamp(x + z, -1, 1))));
  const Tensor low = input("low", f32, {});
  EXPECT_TRUE(matches("add+clamp", min(max(x + z, low), 2.0F)));
}

TEST(NamedPattern, NoClamp) {
  const Tensor x = matrix("x"), z = matrix("z");
  EXPECT_FALSE(matches("add+clamp", relu(x + z))) << "from one side alone";
  EXPECT_FALSE(matches("add+clamp", min(max(x + z, row("low")), 2.0F))) << "of each column";
  EXPECT_FALSE(matches("add+clamp", clamp(x * z, 0, 6)));
  EXPECT_FALSE(matches("add+relu", clamp(x + z, 0, 6)));
}

TEST(NamedPattern, AResidual) {
  const Tensor x = matrix("x"), z = matrix("z"), r = matrix("r");
  EXPECT_TRUE(matches("mul+residual", x * z + r));
  EXPECT_TRUE(matches("mul+relu+residual", r + relu(x * z)));
  EXPECT_FALSE(matches("mul+residual", x * z - r));
  EXPECT_FALSE(matches("mul+residual", (x + z) * r));
}

TEST(NamedPattern, RowsAsTheOperatorsComputeThem) {
  const Tensor x = matrix("x"), gamma = row("gamma"), beta = row("beta");
  EXPECT_TRUE(matches("softmax", softmax(x)));
  EXPECT_TRUE(matches("layer_norm", layer_norm(x, gamma, beta)));
  EXPECT_TRUE(matches("layer_norm", layer_norm(x, gamma, beta, 1e-3))) << "any epsilon";
  EXPECT_TRUE(matches("rms_norm", rms_norm(x, gamma)));
  EXPECT_TRUE(matches("layer_norm+relu", relu(layer_norm(x, gamma, beta))));
  EXPECT_TRUE(matches("rms_norm+residual", matrix("r") + rms_norm(x, gamma)));
  EXPECT_TRUE(matches("softmax", softmax(input("a", f64, {2, 3, 4}))));
  EXPECT_TRUE(matches("softmax", softmax(input("a", f32, {3, Extent::size("L")}))));
}

TEST(NamedPattern, RowsByHand) {
  const Tensor x = matrix("x"), gamma = row("gamma"), beta = row("beta");
  const Axis i("i", 16), k("k", 32), r("r", 32);
  const Tensor highest = compute("highest", {i}, reduce_max(r, x(i, r)));
  const Tensor p = compute("p", {i, k}, exp(x(i, k) - highest(i)));
  const Tensor total = compute("total", {i}, sum(r, p(i, r)));
  EXPECT_TRUE(matches("softmax", compute("y", {i, k}, p(i, k) / total(i))));
  const Tensor centred = x - mean(x, {1}, true);
  const Tensor variance = mean(centred * centred, {1}, true);
  EXPECT_TRUE(matches("layer_norm", centred / sqrt(variance + 1e-5F) * gamma + beta));
  EXPECT_TRUE(matches("rms_norm", gamma * (x / sqrt(mean(x * x, {1}, true) + 1e-5F))));
}

TEST(NamedPattern, NoRows) {
  const Tensor x = matrix("x"), gamma = row("gamma"), beta = row("beta");
  EXPECT_FALSE(matches("softmax", softmax(x, 0))) << "of columns";
  EXPECT_FALSE(matches("softmax", exp(x) / sum(exp(x), {1}, true))) << "without a maximum";
  EXPECT_FALSE(matches("softmax", layer_norm(x, gamma, beta)));
  EXPECT_FALSE(matches("layer_norm", rms_norm(x, gamma)));
  EXPECT_FALSE(matches("rms_norm", layer_norm(x, gamma, beta)));
  const Tensor square = input("q", f32, {32, 32});
  const Tensor centred = square - mean(square, {0}, true);
  const Tensor variance = mean(centred * centred, {0}, true);
  EXPECT_FALSE(matches("layer_norm", centred / sqrt(variance + 1e-5F) * gamma + beta))
      << "of columns of a square";
  EXPECT_FALSE(matches("layer_norm+relu", layer_norm(x, gamma, beta)));
}

// Of each step what it is, and what it nearly is.
TEST(NamedPattern, ANearMissOfEachStep) {
  const Tensor x = matrix("x"), z = matrix("z"), w = weight("w", f32, {32, 32});
  const Tensor mm = matmul(x, w), column = input("column", f32, {16, 1});
  const Tensor image = input("image", f32, {1, 6, 7, 4});
  const Tensor conv = conv2d(image, weight("filter", f32, {3, 3, 4, 8}));
  const Axis i("i", 16), j("j", 32), k("k", 32);
  const Tensor highest = compute("highest", {i, j}, reduce_max(k, x(i, k) * w(k, j)));
  struct Case {
    const char* name;
    Tensor is, nearly;
    const char* why;
  };
  const Case cases[] = {
      {"matmul+relu", relu(mm), relu(highest), "a maximum"},
      {"matmul+relu", relu(mm), relu(conv), "three axes are summed over"},
      {"conv+relu", relu(conv), relu(mm), "one axis is summed over"},
      {"matmul+bias", mm + row("b"), mm + column, "of each row"},
      {"matmul+bias", mm + row("b"), mm - row("b"), "a difference"},
      {"matmul+bias", mm + row("b"), mm + z, "of each element"},
      {"matmul+relu", relu(mm), max(mm, 1.0F), "not at zero"},
      {"matmul+relu", relu(mm), min(mm, 0.0F), "the other side"},
      {"matmul+gelu", gelu(mm), mm * sigmoid(mm), "another function"},
      {"matmul+sigmoid", sigmoid(mm), 1.0F / (1.0F + exp(mm)), "of the other sign"},
      {"matmul+tanh", tanh(mm), tanh(mm) * 2.0F, "something behind it"},
      {"matmul+clamp", clamp(mm, 0, 6), max(mm, 0.0F), "from one side"},
      {"matmul+residual", mm + z, mm - z, "a difference"},
      {"matmul+bias+relu", relu(mm + row("b")), relu(mm) + row("b"), "another order"},
      {"add+relu", relu(x + z), relu(x - z), "a difference"},
      {"sub+relu", relu(x - z), relu(x + z), "a sum"},
      {"mul+relu", relu(x * z), relu(x / z), "a quotient"},
      {"div+relu", relu(x / z), relu(x * z), "a product"},
      {"affine+relu", relu(x * row("s") + row("t")), relu(x * z + row("t")), "a scale of each"},
      {"affine+relu", relu(x * row("s") + row("t")), relu(x * row("s") + z), "a shift of each"},
      {"affine+relu", relu(x * row("s") + row("t")), relu((x + row("t")) * row("s")),
       "the shift first"},
      {"rms_norm+relu", relu(rms_norm(x, row("g"))), relu(rms_norm(x, row("g")) + row("b")),
       "a shift"},
  };
  for (const Case& one : cases) {
    EXPECT_TRUE(matches(one.name, one.is)) << one.name;
    EXPECT_FALSE(matches(one.name, one.nearly)) << one.name << ": " << one.why;
  }
}

TEST(NamedPattern, TheEarlierStepsAreInner) {
  const Tensor sum = add(matrix("x"), matrix("z"), "sum");
  NamedPattern pattern("test", "add+relu");
  const auto match = pattern.match(relu(sum).op());
  ASSERT_TRUE(match);
  ASSERT_EQ(match->inner.size(), 1u);
  EXPECT_EQ(match->inner[0]->name, "sum");
}

TEST(NamedPattern, OfOneMatchedAgain) {  // its rules are kept, by type and rank
  NamedPattern pattern("test", "add+relu");
  for (const DType type : {f32, f64, f32}) {
    const Tensor x = input("x", type, {3}), z = input("z", type, {3});
    EXPECT_TRUE(pattern.match(relu(x + z).op()));
  }
}

TEST(NamedPattern, WhatIsNeverOne) {
  EXPECT_FALSE(matches("add+relu", matrix("x")));
  const Tensor whole = input("i", i32, {4});
  EXPECT_FALSE(matches("add+relu", relu(whole + whole)));
  const Tensor scalar = input("s", f32, {});
  EXPECT_FALSE(matches("add+relu", relu(scalar + scalar)));
}

TEST(NamedPattern, AtNumbersItMatchesItself) {
  for (const char* name : {"add+relu", "mul+relu", "affine+relu", "sub+gelu", "div+tanh+bias",
                           "add+clamp", "mul+residual", "softmax", "layer_norm", "rms_norm+relu"}) {
    NamedPattern pattern("test", name);
    const Graph graph = pattern.graph_of({6, 8});
    EXPECT_TRUE(pattern.match(graph.outputs().at(0))) << name;
    EXPECT_EQ(graph.outputs().at(0)->shape, (Shape{6, 8}));
  }
  NamedPattern pattern("test", "matmul+bias+relu");
  const Graph graph = pattern.graph_of({6, 8, 5});
  const auto match = pattern.match(graph.outputs().at(0));
  ASSERT_TRUE(match);
  EXPECT_EQ(match->sizes.at("K0"), Extent(5));
  EXPECT_EQ(match->result->shape, (Shape{6, 8}));
}

TEST(NamedPattern, AConvAtNumbersMatchesItself) {
  for (const char* name : {"conv+relu", "conv+bias+gelu"}) {
    NamedPattern pattern("test", name);
    const Graph graph = pattern.graph_of({2, 9, 7, 4, 3, 2, 5});
    const auto match = pattern.match(graph.outputs().at(0));
    ASSERT_TRUE(match) << name;
    EXPECT_EQ(match->result->shape, (Shape{2, 7, 6, 5}));
    EXPECT_EQ(match->sizes.at("K2"), Extent(4));
  }
}

TEST(NamedPattern, RefusesExtentsThatDoNotFit) {
  EXPECT_ERROR(NamedPattern("test", "add+relu").graph_of({6}),
               "test, add+relu: expected rows and columns, as in 512x1024, got 1 extent");
  EXPECT_ERROR(NamedPattern("test", "add+relu").graph_of({6, 8, 5}), "got 3 extents");
  EXPECT_ERROR(NamedPattern("test", "matmul+relu").graph_of({6, 8}),
               "expected rows, columns and depth");
  EXPECT_ERROR(NamedPattern("test", "matmul+relu").graph_of({6, 0, 8}),
               "expected extents above 0, got 0");
  EXPECT_ERROR(NamedPattern("test", "conv+relu").graph_of({6, 8, 5}),
               "test, conv+relu: expected images, height, width, channels, height and width of a "
               "filter and filters, as in 1x56x56x64x3x3x64, got 3 extents");
  EXPECT_ERROR(NamedPattern("test", "conv+relu").graph_of({1, 4, 4, 0, 3, 3, 2}),
               "expected extents above 0, got 0");
  for (const std::vector<int64_t>& larger :
       {std::vector<int64_t>{1, 2, 4, 1, 3, 3, 1}, std::vector<int64_t>{1, 4, 2, 1, 3, 3, 1}}) {
    EXPECT_ERROR(NamedPattern("test", "conv+relu").graph_of(larger),
                 "expected a filter that fits the image, ");
  }
}

TEST(NamedPattern, RefusesNamesThatAreNone) {
  EXPECT_ERROR(NamedPattern("test", "gemm+relu"), "test: expected matmul, conv, add");
  EXPECT_ERROR(NamedPattern("test", "add"), "or softmax, layer_norm or rms_norm, got add");
  EXPECT_ERROR(NamedPattern("test", "clamp"), "got clamp");
  EXPECT_ERROR(NamedPattern("test", "add+softmax"), "clamp or residual, got softmax");
  EXPECT_ERROR(NamedPattern("test", ""), "got nothing");
  EXPECT_ERROR(NamedPattern("test", "add+add"), "test, add+add: expected bias, relu, gelu");
  EXPECT_ERROR(NamedPattern("test", "add++relu"), "tanh, clamp or residual, got nothing");
  EXPECT_ERROR(NamedPattern("test", "add+relu+"), "expected a step behind the last +");
}

}  // namespace
}  // namespace emulsion
