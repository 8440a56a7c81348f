// Products whose second operand does not lie as its columns are read: an input, which derived
// schedules copy by panels or sum in lanes, or a transposed weight, which they pack. The kernels
// compute what the graph says.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "dsl/operators.h"
#include "passes/pipeline.h"
#include "tests/backends/halide/nest_cases.h"

namespace emulsion {
namespace {

const Extent kBatch = Extent::size("B");

// x[m, k] * w[n, k], as attention's scores.
Tensor by_columns(const Tensor& x, const Tensor& w) {
  const Axis m("m", x.shape()[0]), n("n", w.shape()[0]), k("k", x.shape()[1]);
  return compute("scores", {m, n}, sum(k, x(m, k) * w(n, k)));
}

// With what their nests hold when the schedule is as meant.
std::vector<std::pair<GraphCase, std::string>> products() {
  std::vector<std::pair<GraphCase, std::string>> cases;
  auto add = [&](const std::string& name, const Graph& graph, const std::string& part) {
    cases.emplace_back(GraphCase{name, graph}, part);
  };
  Tensor x = input("x", f32, {25, 257}), w = input("w", f32, {257, 256});
  add("large", relu(matmul(x, w) + input("bias", f32, {256})), "_panel[");
  add("made_by_another", matmul(x, exp(w)), "_panel[");
  add("read_twice", matmul(x, w) + matmul(input("z", f32, {25, 257}), w), "_panel[");
  add("wide", matmul(input("d", f64, {25, 129}), input("e", f64, {129, 256})), "_panel[");
  add("whole", matmul(input("i", i32, {25, 256}), input("j", i32, {256, 256})), "_panel[");
  add("in_batches", matmul(input("a", f32, {kBatch, 25, 65}), input("b", f32, {kBatch, 65, 1009})),
      "_panel[");
  add("by_columns", by_columns(input("q", f32, {50, 17}), input("k", f32, {75, 17})), "_panel[");
  add("narrow", by_columns(input("q", f32, {50, 17}), input("k", f32, {9, 17})), "_panel[");
  Tensor rows = input("q", f32, {kBatch, 17});
  add("of_a_batch", by_columns(rows, input("k", f32, {75, 17})), "_panel[");
  add("of_a_run_time_depth",
      by_columns(input("q", f32, {50, kBatch}), input("k", f32, {75, kBatch})), "_panel[");
  add("of_a_vector", matmul(input("x", f32, {37, 65}), input("v", f32, {65})), "_lanes[");
  add("transposed", relu(matmul(rows, transpose(weight("w", f32, {30, 17})))), "w_packed[");
  return cases;
}

class DerivedProducts : public testing::TestWithParam<int> {};

TEST_P(DerivedProducts, AreWhatTheGraphSays) {
  Target target = Target::host();
  target.cores = GetParam();
  for (const auto& [product, part] : products()) {
    SCOPED_TRACE(product.name);
    const LoopNest nest = run_pipeline(product.graph, target).nest;
    EXPECT_NE(to_string(nest).find(part), std::string::npos) << to_string(nest);
    expect_same_as_graph(product.graph, nest, {0, 2}, 1e-4, target);
  }
}

INSTANTIATE_TEST_SUITE_P(Cores, DerivedProducts, testing::Values(1, 4));

}  // namespace
}  // namespace emulsion
