// Contractions as derived, on every kind of machine that this one can be: columns of a run-time
// size, bodies that are no product, few columns. Compared with the interpreter and with plain loops
// over the elements, at sizes below, at and above a panel's. Nothing past an argument is touched.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "backends/halide/jit.h"
#include "backends/interpreter/tensor_value.h"
#include "bazel/testing/needs.h"
#include "dsl/operators.h"
#include "passes/pipeline.h"
#include "tests/backends/halide/nest_cases.h"
#include "tests/passes/check_nest.h"
#include "tests/random/guarded_buffer.h"

namespace emulsion {
namespace {

// What a pair of elements adds, as the graph says it and in plain C++.
struct Body {
  std::string name;
  Expr (*expr)(const Expr&, const Expr&);
  float (*plain)(float, float);
  Combiner combiner = Combiner::sum;
};

std::vector<Body> bodies() {
  return {
      {"product", [](const Expr& x, const Expr& y) { return x * y; },
       [](float x, float y) { return x * y; }},
      {"squares", [](const Expr& x, const Expr& y) { return (x - y) * (x - y); },
       [](float x, float y) { return (x - y) * (x - y); }},
      {"apart", [](const Expr& x, const Expr& y) { return abs(x - y); },
       [](float x, float y) { return std::abs(x - y); }},
      {"largest", [](const Expr& x, const Expr& y) { return x + y; },
       [](float x, float y) { return x + y; }, Combiner::max},
  };
}

// y[m, n] over x[m, k] and w[k, n], or w[n, k].
Tensor pairs(const Body& body, const Extent& rows, const Extent& depth, const Extent& columns,
             bool by_columns) {
  const Axis m("m", rows), n("n", columns), k("k", depth);
  const Tensor x = input("x", f32, {rows, depth});
  const Tensor w = input("w", f32, by_columns ? Shape{columns, depth} : Shape{depth, columns});
  const Expr value = body.expr(x(m, k), by_columns ? w(n, k) : w(k, n));
  return compute("y", {m, n},
                 body.combiner == Combiner::sum ? sum(k, value) : reduce_max(k, value));
}

std::vector<float> plain_pairs(const Body& body, const TensorValue& x, const TensorValue& w,
                               bool by_columns) {
  const int64_t rows = x.shape[0], depth = x.shape[1], columns = w.shape[by_columns ? 0 : 1];
  std::vector<float> y;
  for (int64_t m = 0; m < rows; ++m) {
    for (int64_t n = 0; n < columns; ++n) {
      float made = body.combiner == Combiner::sum ? 0 : -INFINITY;
      for (int64_t k = 0; k < depth; ++k) {
        const int64_t at = by_columns ? n * depth + k : k * columns + n;
        const float value = body.plain(x.data<float>()[m * depth + k], w.data<float>()[at]);
        made = body.combiner == Combiner::sum ? made + value : std::max(made, value);
      }
      y.push_back(made);
    }
  }
  return y;
}

class DerivedContractions : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { SKIP_UNLESS_IT_RUNS(target_); }

  // Each argument ends where memory does.
  std::vector<float> run(const JitKernel& kernel, const TensorValue& x, const TensorValue& w,
                         int64_t columns, const SizeValues& sizes) const {
    TensorValue y = zeros(f32, {x.shape[0], columns});
    fill_with_poison(&y);
    std::map<std::string, JitBuffer> buffers;
    std::vector<GuardedBuffer> memory;
    memory.reserve(3);
    const std::vector<std::pair<std::string, const TensorValue*>> arguments = {
        {"x", &x}, {"w", &w}, {"y", &y}};
    for (const auto& [name, value] : arguments) {
      memory.emplace_back(value->bytes, GuardedBuffer::Side::end);
      buffers[name] = {f32, value->shape, memory.back().data()};
    }
    kernel.run(buffers, sizes);
    for (const GuardedBuffer& buffer : memory) EXPECT_TRUE(buffer.padding_is_intact());
    const auto* made = static_cast<const float*>(memory.back().data());
    return {made, made + y.element_count()};
  }

  void expect_plain(const Body& body, const Extent& rows, const Extent& depth,
                    const Extent& columns, bool by_columns,
                    const std::vector<SizeValues>& all_sizes) const {
    SCOPED_TRACE(body.name + (by_columns ? " by columns" : "") + ", " + rows.to_string() + " x " +
                 depth.to_string() + " x " + columns.to_string());
    const Graph graph(pairs(body, rows, depth, columns, by_columns));
    const JitKernel kernel(run_pipeline(graph, target_).nest, target_);
    for (const SizeValues& sizes : all_sizes) {
      const int64_t m = rows.evaluate(sizes), k = depth.evaluate(sizes),
                    n = columns.evaluate(sizes);
      const TensorValue x = random_integers(f32, {m, k}, 1);
      const TensorValue w = random_integers(
          f32, by_columns ? std::vector<int64_t>{n, k} : std::vector<int64_t>{k, n}, 2);
      EXPECT_EQ(run(kernel, x, w, n, sizes), plain_pairs(body, x, w, by_columns))
          << m << " x " << n;
    }
  }

  Target target_ = Target::parse(GetParam());
};

const Extent kM = Extent::size("M"), kN = Extent::size("N"), kK = Extent::size("K");

std::vector<SizeValues> columns_of(const std::vector<int64_t>& columns) {
  std::vector<SizeValues> sizes;
  for (int64_t n : columns) sizes.push_back({{"N", n}});
  return sizes;
}

TEST_P(DerivedContractions, OfRunTimeColumns) {
  const std::vector<int64_t> columns = {0, 1, 7, 15, 16, 17, 31, 48, 63, 64, 65, 200};
  for (const Body& body : bodies()) {
    expect_plain(body, 13, 20, kN, false, columns_of(columns));
    expect_plain(body, 100, 9, kN, true, columns_of(columns));
  }
}

TEST_P(DerivedContractions, OfRunTimeSizesAll) {
  std::vector<SizeValues> sizes;
  for (int64_t m : {0, 1, 2, 5, 29}) {
    for (int64_t n : {0, 1, 9, 64, 65}) sizes.push_back({{"M", m}, {"N", n}, {"K", m + 3}});
  }
  for (const Body& body : {bodies()[1], bodies()[3]}) {
    for (bool by_columns : {false, true}) expect_plain(body, kM, kK, kN, by_columns, sizes);
  }
}

TEST_P(DerivedContractions, OfFewColumns) {
  const Body product = bodies()[0], largest = bodies()[3];
  for (int columns : {1, 2, 3, 4, 5, 8, 15}) expect_plain(product, 21, 67, columns, false, {{}});
  expect_plain(largest, 21, 67, 2, false, {{}});
  expect_plain(product, kM, 64, 1, false, {{{"M", 0}}, {{"M", 1}}, {{"M", 6}}});
  expect_plain(largest, 2, 64, kN, true, columns_of({0, 1, 4, 11}));
}

// What goes with the steps, the columns and the rows of both, by rows and by columns.
TEST_P(DerivedContractions, OfSeveralOperandsOfRunTimeSizes) {
  const Extent size = Extent::size("B"), depth = Extent::size("B");
  for (const Extent& steps : {Extent(5), depth}) {
    const Axis m("m", size + 3), n("n", size), k("k", steps);
    const Tensor x = input("x", f32, {m.extent(), steps}), c = input("c", f32, {steps});
    const Tensor d = input("d", f32, {size}), e = input("e", f32, {m.extent()});
    const Tensor w = input("w", f32, {steps, size}), z = input("z", f32, {size, steps});
    for (const Expr& value : {x(m, k) * w(k, n) * c(k), x(m, k) * z(n, k) * d(n) * c(k),
                              (x(m, k) - w(k, n)) * (x(m, k) - w(k, n)) * c(k) * d(n) * e(m)}) {
      const Graph graph(compute("y", {m, n}, sum(k, value)));
      expect_same_as_graph(graph, run_pipeline(graph, target_).nest, {0, 1, 7, 8, 15, 16, 17, 70},
                           1e-4, target_);
    }
  }
}

TEST_P(DerivedContractions, OfARunTimeMatrixTimesAVector) {
  const Extent rows = Extent::size("B"), depth = Extent::size("B");
  for (const auto& [m, k] : {std::pair(rows, depth), {Extent(7), depth}, {rows, Extent(100)}}) {
    for (DType type : {f32, f64}) {
      const Graph graph(matmul(input("x", type, {m, k}), input("v", type, {k})));
      expect_same_as_graph(graph, run_pipeline(graph, target_).nest,
                           {0, 1, 3, 4, 5, 15, 16, 17, 31, 100}, 1e-4, target_);
    }
  }
}

// A size of a body is not the axis of its name.
TEST_P(DerivedContractions, OfAxesThatHaveTheNameOfASize) {
  const Extent size = Extent::size("B");
  for (int named = 0; named < 3; ++named) {
    const auto axis = [&](int number, const char* other) {
      return Axis(number == named ? "B" : other, size);
    };
    const Axis m = axis(0, "m"), n = axis(1, "n"), k = axis(2, "k");
    const Tensor x = input("x", f32, {size, size}), w = input("w", f32, {size, size});
    const Tensor sums = compute("sums", {m, n}, sum(k, x(m, k) * w(k, n)));
    const Axis i = axis(0, "i"), j = axis(1, "j");
    const Expr last = size_value("B") - 1;
    const Graph graph(
        compute("y", {i, j}, select(i < last, sums(i, j), 0.5F * sums(j, min(i + 1, last)))));
    const LoopNest nest = run_pipeline(graph, target_).nest;
    expect_same_as_graph(graph, nest, {0, 1, 15, 16, 17, 40}, 1e-4, target_);
    for (int64_t b : {0, 1, 17}) EXPECT_TRUE(computes(nest, graph, {{"B", b}}, 1e-4));
  }
}

// Sums in registers, of columns and of points side by side.
TEST_P(DerivedContractions, OfNoContractionButSumsOfARunTimeNumber) {
  const Extent size = Extent::size("B");
  const Axis i("i", size), r("r", 3);
  const Tensor points = input("x", f32, {size, 3});
  const Tensor sums = sum(input("x", f32, {2, 5, size}), {1});
  for (const Tensor& y : {compute("y", {i}, sum(r, points(i, r) * points(i, r))), sums, relu(sums),
                          reduce_max(input("x", f64, {size, 2}), {1})}) {
    const Graph graph(y);
    expect_same_as_graph(graph, run_pipeline(graph, target_).nest,
                         {0, 1, 7, 8, 15, 16, 17, 33, 100}, 1e-4, target_);
  }
}

TEST_P(DerivedContractions, OfAttention) {
  const Extent batch = Extent::size("B");
  const Axis h("h", 2), s("s", batch), t("t", batch), d("d", 10);
  const Shape heads = {2, batch, 10};
  const Tensor q = input("q", f32, heads), k = input("k", f32, heads), v = input("v", f32, heads);
  const Tensor scores = compute("scores", {h, s, t}, sum(d, q(h, s, d) * k(h, t, d)));
  const Graph graph(compute("mixed", {h, s, d}, sum(t, scores(h, s, t) * v(h, t, d))));
  expect_same_as_graph(graph, run_pipeline(graph, target_).nest, {0, 1, 17, 70}, 1e-4, target_);
}

// As frameworks write it, with nine reshapes and transposes that are read through.
TEST_P(DerivedContractions, OfAttentionWithHeads) {
  const Extent batch = Extent::size("B");
  for (const auto& [steps, heads, depth] : {std::tuple(50, 3, 10), {9, 2, 16}, {1, 2, 64}}) {
    const int width = heads * depth;
    const Tensor x = input("x", f32, {batch * Extent(steps), width});
    const auto in_heads = [&, steps = steps, heads = heads, depth = depth](const char* name) {
      const Tensor rows = matmul(x, weight(name, f32, {width, width})) * 0.0625F;
      return transpose(reshape(rows, {batch, steps, heads, depth}), {0, 2, 1, 3});
    };
    const Tensor q = in_heads("wq"), k = in_heads("wk"), v = in_heads("wv");
    const Tensor scores = softmax(matmul(q, transpose(k, {0, 1, 3, 2})) * 0.25F);
    const Tensor said = transpose(matmul(scores, v), {0, 2, 1, 3});
    const Graph graph(
        matmul(reshape(said, {batch * Extent(steps), width}), weight("wo", f32, {width, width})));
    expect_same_as_graph(graph, run_pipeline(graph, target_).nest, {0, 1, 3}, 1e-4, target_);
  }
}

// Whatever is beyond the clamp, the values are those of the clamped index.
TEST_P(DerivedContractions, WhatIsClampedByHandIsTheSame) {
  const Extent batch = Extent::size("B");
  const Axis r("r", 3), i("i", 64), n("n", batch + 5);
  const Tensor x = input("x", f32, {3, 40});
  const Expr end = size_value("B");
  for (const Tensor& y :
       {compute("y", {r, i}, x(r, min(Expr(i), 39)) * 2.0f),
        compute("y", {r, i}, x(r, min(Expr(i), 20)) + x(r, max(Expr(i) - 24, 0))),
        compute("y", {r, n}, x(r, min(max(Expr(n) - end, 0), 39))),
        compute("y", {r, n}, x(r, max(min(Expr(n) - 3, 17), 0)) + x(r, max(Expr(n) - end + 20, 2))),
        compute("y", {i}, input("v", f32, {40})(max(min(Expr(i) - 3, 39), 0))),
        compute("y", {r, n}, select(Expr(n) < end, x(r, min(Expr(n), 39)), 1.0f)),
        compute("y", {r, i}, x(r, min(Expr(i), 12) * 3 + 1) - x(r, min(Expr(i), 19) * 2)),
        compute("y", {r, i}, x(r, min(Expr(i), 9) * 4) + x(r, min(Expr(i), 7) * 5 + 4)),
        compute("y", {r, n}, input("z", f32, {3, 2 * batch + 2})(r, min(Expr(n), end) * 2 + 1)),
        compute("y", {r, n}, input("z", f32, {3, batch + 1})(r, min(Expr(n), end)))}) {
    const Graph graph(y);
    expect_same_as_graph(graph, run_pipeline(graph, target_).nest, {0, 1, 15, 16, 70}, 0, target_);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, DerivedContractions,
                         testing::Values("x86-64-v2,cores=1", "x86-64-v3,cores=4",
                                         "x86-64-v4,cores=1"));

}  // namespace
}  // namespace emulsion
