// What is derived to be computed row by row, and sums in lanes of run-time lengths: the kernels
// compute what the graph says at every size.

#include <gtest/gtest.h>

#include <vector>

#include "bazel/testing/needs.h"
#include "dsl/operators.h"
#include "passes/pipeline.h"
#include "tests/backends/halide/nest_cases.h"
#include "tests/passes/derive/row_graphs.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("B");

class DerivedRows : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { SKIP_UNLESS_IT_RUNS(target_); }

  void expect_same(const Graph& graph, int cores,
                   const std::vector<int64_t>& sizes = {0, 1, 2, 3, 15, 16, 17, 31, 33, 64, 97}) {
    target_.cores = cores;
    expect_same_as_graph(graph, run_pipeline(graph, target_).nest, sizes, 1e-4, target_);
  }

 private:
  Target target_ = Target::parse(GetParam());
};

TEST_P(DerivedRows, OfAnyNumber) {
  for (const auto& [name, graph] : row_graphs(kSize, 100)) {
    SCOPED_TRACE(name);
    expect_same(graph, 1);
  }
}

TEST_P(DerivedRows, OfAnyLength) {
  for (const auto& [name, graph] : row_graphs(5, kSize)) {
    SCOPED_TRACE(name);
    expect_same(graph, 1, {0, 1, 2, 3, 15, 16, 17, 31, 33, 64, 97, 129, 250, 257, 513});
  }
}

TEST_P(DerivedRows, OfAnyNumberAndLengthInThreads) {
  for (const auto& [name, graph] : row_graphs(kSize, kSize)) {
    SCOPED_TRACE(name);
    expect_same(graph, 4);
  }
}

TEST_P(DerivedRows, InThreads) {
  for (const auto& [name, graph] : row_graphs(64, 1000)) {
    SCOPED_TRACE(name);
    expect_same(graph, 4);
  }
}

TEST_P(DerivedRows, SumsOfRowsAndColumnsOfAnyLength) {
  Tensor x = input("x", f32, {kSize, kSize}), bytes = input("x", u8, {kSize, kSize});
  for (const Graph& graph : {Graph(sum(x, {0})), Graph(sum(x, {1})), Graph(sum(x, {0, 1})),
                             Graph(reduce_max(bytes, {1})), Graph(reduce_min(bytes, {0}))}) {
    expect_same(graph, 1);
    expect_same(graph, 4);
  }
}

// Of short elements the last vector of a row is loaded with what is behind it, but at the end of
// all.
TEST_P(DerivedRows, SumsOfShortElements) {
  const Axis r("r", kSize), c("c", kSize);
  for (const DType type : {u8, i16}) {
    const Tensor x = input("x", type, {kSize, kSize}), w = input("w", type, {kSize});
    const Expr product = cast(i32, x(r, c)) * cast(i32, w(c));
    for (const Graph& graph : {Graph(sum(x, {1})), Graph(reduce_min(x, {1})),
                               Graph(compute("y", {r}, sum(c, product)))}) {
      expect_same(graph, 1, {0, 1, 2, 5, 15, 16, 17, 31, 32, 33, 63, 64, 65, 97, 130});
    }
  }
}

// Enough of them for threads, and columns that fill the last vector and that do not.
TEST_P(DerivedRows, SumsOfManyRowsInThreads) {
  for (const Extent& columns : {Extent(4096), Extent(4101), kSize}) {
    const Graph graph(sum(input("x", f32, {67, columns}), {0}));
    for (int cores : {1, 2}) expect_same(graph, cores, {1, 4096, 4101});
  }
}

// Small ones, several at a time, and larger ones than are in the first cache; and with a border.
TEST_P(DerivedRows, PicturesOfAnySize) {
  const Tensor x = input("x", f32, {6, kSize, kSize}), bytes = input("x", u8, {6, kSize, kSize});
  const Tensor e = exp(x - reduce_max(x, {1, 2}, true));
  for (const Graph& graph :
       {Graph(sub(x, mean(x, {1, 2}, true))), Graph(div(e, sum(e, {1, 2}, true))),
        Graph(sub(reduce_max(bytes, {1, 2}, true), bytes)),
        Graph(pad(x, {0, 2, 3}, {0, 1, 2}, 1))}) {
    for (int cores : {1, 4}) expect_same(graph, cores, {0, 1, 2, 3, 7, 13, 16, 17, 33, 40});
  }
  // Means alone, a vector of them at a time.
  const Graph means(mean(input("x", f32, {32, kSize, kSize}), {1, 2}));
  expect_same(means, 1, {1, 7, 17});
}

TEST_P(DerivedRows, ProductsOfSquaresOfAnySize) {
  for (DType type : {f32, f64, i32}) {
    const Tensor x = input("x", type, {5, kSize, kSize}), w = input("w", type, {5, kSize, kSize});
    expect_same(Graph(relu(matmul(x, w))), 1, {0, 1, 2, 3, 4, 5, 8, 9, 17});
  }
}

TEST_P(DerivedRows, MeansOfWindows) {
  PoolOptions options;
  options.window_h = options.window_w = 3;
  options.stride_h = options.stride_w = 2;
  options.pad_top = options.pad_left = 1;
  for (int64_t channels : {1, 3, 16, 35}) {
    const Graph graph(relu(avg_pool(input("x", f32, {kSize, 9, 33, channels}), options)));
    for (int cores : {1, 4}) expect_same(graph, cores, {0, 1, 3});
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, DerivedRows,
                         testing::Values("x86-64-v2", "x86-64-v3", "x86-64-v4"));

}  // namespace
}  // namespace emulsion
