// Bytes that are computed with as i32, as derived: kernels compute in fewer bits what the graph
// says, of every number, and load what lies a few bytes apart at every size.

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "backends/halide/jit.h"
#include "backends/interpreter/interpret_graph.h"
#include "bazel/testing/needs.h"
#include "dsl/operators.h"
#include "passes/pipeline.h"
#include "tests/backends/halide/nest_cases.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("B");

class DerivedBytes : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { SKIP_UNLESS_IT_RUNS(target_); }

  // Of any numbers.
  void expect_same(const Graph& graph) const {
    const LoopNest nest = run_pipeline(graph, target_).nest;
    const JitKernel kernel(nest, target_);
    for (const int64_t size : {0, 1, 7, 16, 17, 33, 65, 130}) {
      TensorValues arguments = arguments_for(graph, size, 1);
      uint64_t seed = 7;
      for (auto& [name, value] : arguments) {
        value = random_integers(value.dtype, value.shape, ++seed, 0, 255);
      }
      InterpretOptions options;
      options.sizes = {{"B", size}};
      const TensorValues expected = interpret_graph(graph, arguments, options);
      for (const auto& [name, value] : run_by_jit(kernel, nest, arguments, size)) {
        EXPECT_EQ(first_difference(expected.at(name), value), std::nullopt) << name << ": " << size;
      }
    }
  }

  const Target target_ = Target::parse(GetParam());
};

Expr wide(const Expr& byte) { return cast(i32, byte); }

Expr mixed(const std::vector<Expr>& colours, const std::vector<int>& parts, int moved) {
  Expr sum = 128;
  for (size_t i = 0; i < parts.size(); ++i) sum = sum + parts[i] * wide(colours[i]);
  return cast(u8, clamp(sum / 256 + moved, 0, 255));
}

Expr luma(const std::vector<Expr>& colours) { return mixed(colours, {66, 129, 25}, 16); }
Expr blue(const std::vector<Expr>& colours) { return mixed(colours, {-38, -74, 112}, 128); }
Expr red(const std::vector<Expr>& colours) { return mixed(colours, {112, -94, -18}, 128); }

TEST_P(DerivedBytes, ColoursOfPixels) {
  const Axis p("p", kSize), c("c", 3);
  const Tensor x = input("x", u8, {kSize, 3});
  const std::vector<Expr> of = {x(p, 0), x(p, 1), x(p, 2)};
  expect_same(Graph(compute("y", {p}, luma(of))));
  expect_same(
      Graph(compute("y", {p, c}, select(c == 0, luma(of), select(c == 1, blue(of), red(of))))));
}

TEST_P(DerivedBytes, PlanesOfAPicture) {
  const Axis i("i", 3), j("j", kSize);
  const Tensor x = input("x", u8, {3, kSize, 3});
  const std::vector<Expr> of = {x(i, j, 0), x(i, j, 1), x(i, j, 2)};
  expect_same(Graph({compute("y", {i, j}, luma(of)), compute("u", {i, j}, blue(of)),
                     compute("v", {i, j}, red(of))}));
}

TEST_P(DerivedBytes, AFewElementsApart) {
  const Axis i("i", 3), j("j", kSize);
  for (const auto& [type, step] : {std::pair(u8, 2), {u8, 3}, {u8, 4}, {i16, 3}, {f32, 3}}) {
    const Tensor x = input("x", type, {3, kSize * step});
    expect_same(Graph(compute("y", {i, j}, x(i, step * j) - x(i, step * j + (step - 1)))));
  }
}

TEST_P(DerivedBytes, ProductsOfShortRows) {
  const auto products = [](DType type, int64_t length) {
    return matmul(input("x", type, {kSize, length}), input("w", type, {length, 1}));
  };
  expect_same(Graph(products(u8, 15)));
  expect_same(Graph(products(i8, 3)));
  expect_same(Graph(relu(add(products(i16, 7), input("z", i16, {kSize, 1})))));
}

TEST_P(DerivedBytes, AllPairsOfNumbers) {
  const Extent pairs = 65536;
  const Axis p("p", pairs);
  const Tensor x = input("x", u8, {pairs}), z = input("z", u8, {pairs});
  TensorValues arguments = {{"x", zeros(u8, {65536})}, {"z", zeros(u8, {65536})}};
  for (int i = 0; i < 65536; ++i) {
    arguments["x"].set_value(i, i % 256);
    arguments["z"].set_value(i, i / 256);
  }
  const Expr a = wide(x(p)), b = wide(z(p));
  for (const Expr& value :
       {(66 * a + 129 * b + 128) / 256 + 16, clamp((112 * a - 94 * b) / 64, 0, 255), a * b / 255,
        (a - b) / 7 * 5, (a - b) % 7, abs(a - b) * 3, max(min(a * 2 - b, 100), -100) % 11,
        select(a - b > 20, a * a / 3, -b), cast(i32, a == b) + select(a * 3 <= b, b / 2, 7 - a),
        min(a, b) * 300 + max(a, 3), min(a + b, 255), (a + b + 1) / 2}) {
    const Graph graph(compute("y", {p}, cast(u8, value)));
    const TensorValues expected = interpret_graph(graph, arguments, {});
    const LoopNest nest = run_pipeline(graph, target_).nest;
    const TensorValues got = run_by_jit(nest, arguments, 0, target_);
    EXPECT_EQ(first_difference(expected.at("y"), got.at("y")), std::nullopt) << to_string(nest);
  }
}

// Halide knows where these floats lie, and made one cast of two: u32(i32(x)) was u32(x), which is
// anything at all for an x below zero.
TEST_P(DerivedBytes, WholeNumbersOfFloatsBelowZero) {
  for (const int64_t count : {7, 256}) {
    const Axis p("p", count);
    const Tensor x = input("x", i8, {count});
    TensorValues arguments = {{"x", zeros(i8, {count})}};
    for (int64_t i = 0; i < count; ++i) arguments["x"].set_value(i, i * 255 / count - 128);
    const Expr a = cast(f32, x(p)), three = a * 3.0F;
    for (const Expr& value : {max(three, a - 100.0F), min(three, a), a * a - 9000.0F}) {
      const Expr whole = cast(i32, value);
      for (const Expr& made : {whole - 7, whole * 94 + 3, cast(i32, cast(u16, whole)),
                               cast(i32, cast(u8, whole)), cast(i32, cast(i16, whole)) - 1}) {
        const Graph graph(compute("y", {p}, made));
        const TensorValues expected = interpret_graph(graph, arguments, {});
        const LoopNest nest = run_pipeline(graph, target_).nest;
        const TensorValues got = run_by_jit(nest, arguments, 0, target_);
        EXPECT_EQ(first_difference(expected.at("y"), got.at("y")), std::nullopt) << to_string(nest);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, DerivedBytes,
                         testing::Values("x86-64-v2", "x86-64-v3", "x86-64-v4",
                                         "x86-64-v4-avx512_zen4"));

}  // namespace
}  // namespace emulsion
