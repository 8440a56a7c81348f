// JitKernel::bind: arguments that are checked and packed once, for many runs.

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backends/halide/jit.h"
#include "backends/interpreter/interpret_graph.h"
#include "dsl/operators.h"
#include "passes/lower/lower.h"
#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

using Buffers = std::map<std::string, JitBuffer>;

// y = x w with 1 row, 2 inputs and 20 outputs; w is packed.
struct Product {
  Graph graph;
  TensorValues values;
  TensorValue y = zeros(f32, {1, 20});

  Product()
      : graph(matmul(input("x", f32, {1, 2}), weight("w", f32, {2, 20}), "y")),
        values{{"x", random_integers(f32, {1, 2}, 1)}, {"w", random_integers(f32, {2, 20}, 2)}} {}

  JitKernel kernel() const {
    Schedule schedule(graph);
    schedule["y"].pack(Tensor(*graph.find("w")), Axis("n"), 16);
    return JitKernel(lower(graph, schedule));
  }
  Buffers buffers() {
    Buffers result = {{"y", {f32, y.shape, y.bytes.data()}}};
    for (auto& [name, v] : values) result[name] = {v.dtype, v.shape, v.bytes.data()};
    return result;
  }
};

TEST(JitBind, ReadsItsMemoryInEachRun) {
  Product product;
  const auto call = product.kernel().bind(product.buffers());  // outlives its kernel
  for (const float x0 : {1.0F, 3.0F}) {
    product.values["x"].data<float>()[0] = x0;
    call();
    const TensorValue expected = interpret_graph(product.graph, product.values).at("y");
    EXPECT_EQ(first_difference(expected, product.y), std::nullopt);
  }
}

TEST(JitBind, PacksOnce) {
  Product product;
  const JitKernel kernel = product.kernel();
  const auto call = kernel.bind(product.buffers());
  const TensorValue before = interpret_graph(product.graph, product.values).at("y");
  for (int i = 0; i < 40; ++i) product.values["w"].data<float>()[i] += 1;
  const TensorValue after = interpret_graph(product.graph, product.values).at("y");
  ASSERT_NE(first_difference(before, after), std::nullopt);
  call();
  EXPECT_EQ(first_difference(before, product.y), std::nullopt);
  kernel.run(product.buffers());
  EXPECT_EQ(first_difference(after, product.y), std::nullopt);
}

// Six times the sum of B twos.
struct SumOfSize {
  std::vector<float> x = std::vector<float>(6, 2), y = std::vector<float>(6);
  Buffers buffers = {{"x", {f32, {6}, x.data()}}, {"y", {f32, {6}, y.data()}}};

  static JitKernel kernel() {
    const Axis i("i", 6), k("k", Extent::size("B"));
    const Graph graph(compute("y", {i}, sum(k, input("x", f32, {6})(i))));
    return JitKernel(lower(graph, Schedule(graph)));
  }
};

TEST(JitBind, TakesSizesOnce) {
  SumOfSize sums;
  const JitKernel kernel = SumOfSize::kernel();
  const auto three = kernel.bind(sums.buffers, {{"B", 3}});
  const auto none = kernel.bind(sums.buffers, {{"B", 0}});
  for (int repeat = 0; repeat < 2; ++repeat) {
    three();
    EXPECT_EQ(sums.y, std::vector<float>(6, 6));
    none();
    EXPECT_EQ(sums.y, std::vector<float>(6, 0));
  }
}

TEST(JitBind, TakesAWeightOrWhatItIsPackedTo) {
  Product product;
  Buffers buffers = product.buffers();
  buffers["w_packed"] = {f32, {2, 2, 16}, product.y.bytes.data()};
  EXPECT_ERROR(product.kernel().bind(buffers),
               "argument w: expected it or w_packed, which is made of it, got both");
}

TEST(JitBind, IsRefusedWhereItIsBound) {
  Product product;
  const JitKernel kernel = product.kernel();
  EXPECT_ERROR(kernel.bind({}), "argument w_packed: expected one, got none");
  Buffers buffers = product.buffers();
  buffers["y"].data = buffers["x"].data;
  EXPECT_ERROR(kernel.bind(buffers), "argument y: expected memory of its own");
  buffers = product.buffers();
  buffers["x"].data = nullptr;
  EXPECT_ERROR(kernel.bind(buffers), "argument x: expected data, got a null pointer");
  EXPECT_ERROR(SumOfSize::kernel().bind(SumOfSize().buffers),
               "run-time size B: expected a value, got none");
}

}  // namespace
}  // namespace emulsion
