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
  for (const char* name : {"add+relu", "mul+relu", "affine+relu", "sub+gelu", "div+tanh+bias"}) {
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
               "test, add+relu: expected rows and columns, as in 512x1024, got 1 extents");
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
  EXPECT_ERROR(NamedPattern("test", "add"), "and what follows it, got add");
  EXPECT_ERROR(NamedPattern("test", ""), "got nothing");
  EXPECT_ERROR(NamedPattern("test", "add+add"), "test, add+add: expected bias, relu, gelu");
  EXPECT_ERROR(NamedPattern("test", "add++relu"), "sigmoid or tanh, got nothing");
  EXPECT_ERROR(NamedPattern("test", "add+relu+"), "expected a step behind the last +");
}

}  // namespace
}  // namespace emulsion
