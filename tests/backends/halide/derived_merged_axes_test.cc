// Axes that are merged in derived schedules: the kernels compute what the graph says.

#include <gtest/gtest.h>

#include <vector>

#include "bazel/testing/needs.h"
#include "dsl/operators.h"
#include "passes/pipeline.h"
#include "tests/backends/halide/nest_cases.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("B");

class DerivedMergedAxes : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { SKIP_UNLESS_IT_RUNS(target_); }

  void expect_same(const Tensor& y) {
    const Graph graph(y);
    for (const int cores : {1, 2}) {
      target_.cores = cores;
      expect_same_as_graph(graph, run_pipeline(graph, target_).nest, {0, 1, 2, 7, 16, 2500}, 1e-4,
                           target_);
    }
  }
  static Tensor maps(int side) { return input("x", f32, {3, 5, side, side}); }

 private:
  Target target_ = Target::parse(GetParam());
};

TEST_P(DerivedMergedAxes, OfFeatureMaps) {
  for (const int side : {3, 5, 7, 14}) {
    const Tensor scale = input("s", f32, {5, 1, 1});
    expect_same(relu(maps(side) + input("z", f32, {3, 5, side, side})));
    expect_same(gelu(maps(side) * scale));
    expect_same(mean(maps(side), {2, 3}));
    expect_same(reduce_max(maps(side), {1, 2, 3}));
    expect_same(softmax(maps(side) * scale, 1));
  }
}

TEST_P(DerivedMergedAxes, OfShortRows) {
  const Tensor x = input("x", f32, {kSize, 10});
  expect_same(sigmoid(x) * x);
  expect_same(cast(x, i32) * 3);
  expect_same(sum(input("x", f32, {17, 10}), {0, 1}));
  expect_same(clamp(input("x", u8, {kSize, 4, 7}), 10, 200));
}

TEST_P(DerivedMergedAxes, OfNormsOfFeatureMaps) {
  for (const std::vector<int>& axes : {std::vector<int>{2, 3}, {1, 2, 3}}) {
    const Tensor x = maps(7), centred = x - mean(x, axes, true);
    expect_same(centred / sqrt(mean(centred * centred, axes, true) + 1e-5f));
  }
}

TEST_P(DerivedMergedAxes, OfRows) {
  for (const int rows : {1, 3, 6}) {
    const Tensor x = input("x", f32, {kSize, rows, 18}), g = input("g", f32, {18});
    expect_same(softmax(x));
    expect_same(gelu(layer_norm(x, g, g), Gelu::tanh));
    expect_same(layer_norm(gelu(x), g, g));
    expect_same(softmax(input("z", f32, {40, rows, 60})));
    expect_same(rms_norm(input("z", f32, {2, 30, rows, 18}), g));
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, DerivedMergedAxes,
                         testing::Values("x86-64-v2", "x86-64-v3", "x86-64-v4"));

}  // namespace
}  // namespace emulsion
