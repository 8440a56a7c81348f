// What is joined or padded, as derived: the kernels compute what the graph says at every size, on
// every kind of machine that this one can be.

#include <gtest/gtest.h>

#include <vector>

#include "bazel/testing/needs.h"
#include "dsl/operators.h"
#include "passes/pipeline.h"
#include "tests/backends/halide/nest_cases.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("B");

class DerivedChoices : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { SKIP_UNLESS_IT_RUNS(target_); }

  void expect_same(const Graph& graph,
                   const std::vector<int64_t>& sizes = {0, 1, 3, 15, 16, 17, 33, 50}) const {
    expect_same_as_graph(graph, run_pipeline(graph, target_).nest, sizes, 0, target_);
  }

  const Target target_ = Target::parse(GetParam());
};

Tensor joined(const std::vector<Extent>& extents, int axis, const Extent& other) {
  std::vector<Tensor> parts;
  for (const Extent& extent : extents) {
    const Shape shape = axis == 0 ? Shape{extent, other} : Shape{other, extent};
    parts.push_back(input("x" + std::to_string(parts.size()), f32, shape));
  }
  return concat(parts, axis);
}

TEST_P(DerivedChoices, JoinedRowsAndColumns) {
  for (int axis : {0, 1}) {
    expect_same(Graph(joined({37, 1, 90}, axis, kSize)));
    expect_same(Graph(joined({kSize, 13}, axis, 19)));
    expect_same(Graph(joined({700, 301}, axis, 256)));
  }
  expect_same(Graph(concat({input("a", f32, {100000}), input("b", f32, {70001})}, 0)));
}

TEST_P(DerivedChoices, ManyParts) {
  for (int axis : {0, 1}) expect_same(Graph(joined(std::vector<Extent>(40, 3), axis, 5)));
}

TEST_P(DerivedChoices, Frames) {
  expect_same(Graph(pad(input("x", f32, {kSize, kSize}), {3, 2}, {1, 9}, 2)));
  expect_same(Graph(pad(input("x", u8, {5, kSize, 3}), {1, 2, 0}, {0, 3, 0}, 2)));
  expect_same(Graph(pad(input("x", f32, {400, 700}), {3, 2}, {1, 9}, 2)));
}

// Vectors of so short elements have no masks but on x86-64-v4. Rows of a vector or more have a way
// of their own elsewhere.
TEST_P(DerivedChoices, OfShortElements) {
  for (const DType type : {u8, i16, bool_}) {
    const Tensor x = input("x", type, {5, kSize}), z = input("z", type, {5, kSize});
    for (const Tensor& y : {concat({x, z, x}, 1), pad(x, {1, 3}, {0, 2}, 1)}) {
      expect_same(Graph(y), {0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 129});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, DerivedChoices,
                         testing::Values("x86-64-v2,cores=4", "x86-64-v3,cores=1",
                                         "x86-64-v4,cores=1", "x86-64-v4,cores=4"));

}  // namespace
}  // namespace emulsion
