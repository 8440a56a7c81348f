// Chains of stencils whose derived schedules keep windows that slide: the kernels compute what the
// graph says, bit for bit, at every size.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "dsl/operators.h"
#include "passes/pipeline.h"
#include "tests/backends/halide/nest_cases.h"
#include "tests/passes/derive/stencil_graphs.h"

namespace emulsion {
namespace {

Target on_this_machine(Target target) {
  target.features = Target::host().features;
  return target;
}

TEST(DerivedWindows, OfOneThread) {
  const Target target = on_this_machine(small_cache(1));
  for (const auto& [name, graph] : stencil_graphs()) {
    SCOPED_TRACE(name);
    expect_same_as_graph(graph, run_pipeline(graph, target).nest,
                         {0, 1, 2, 3, 15, 31, 32, 33, 64, 97}, 0, target);
  }
}

TEST(DerivedWindows, OfSeveralThreads) {
  const Target target = on_this_machine(small_cache(4));
  for (const auto& [name, graph] : large_stencil_graphs()) {
    SCOPED_TRACE(name);
    expect_same_as_graph(graph, run_pipeline(graph, target).nest, {0, 1, 2, 33}, 0, target);
  }
}

// Two stencils, of which the reader has sums of windows, which wait for it in registers.
Graph corners(const Extent& side) {
  const Axis more_i("i", side + 2), more_j("j", side + 2), i("i", side), j("j", side);
  const Axis a("a", 3), b("b", 3);
  const Tensor x = input("x", f32, {side + 4, side + 4});
  const Expr middle = x(more_i + 1, more_j + 1);
  const Tensor down = compute("down", {more_i, more_j}, x(more_i + 2, more_j + 1) - middle);
  const Tensor along = compute("along", {more_i, more_j}, x(more_i + 1, more_j + 2) - middle);
  const Expr d = down(i + a, j + b), e = along(i + a, j + b);
  const Tensor dd = compute("dd", {i, j}, sum({a, b}, d * d));
  const Tensor de = compute("de", {i, j}, sum({a, b}, d * e));
  return Graph(compute("y", {i, j}, dd(i, j) - de(i, j)));
}

// Small pictures are computed operation by operation, large ones in strips.
TEST(DerivedWindows, WhereSizesDecideWhetherTheyPay) {
  const Extent side = Extent::size("B");
  const Target target = on_this_machine(small_cache(4));
  for (const Graph& graph : {blur_graph(side, side), corners(side)}) {
    const LoopNest nest = run_pipeline(graph, target).nest;
    EXPECT_NE(to_string(nest).find("_sliding"), std::string::npos) << to_string(nest);
    expect_same_as_graph(graph, nest, {0, 1, 2, 15, 33, 70, 420, 431}, 0, target);
  }
}

// What a window finds beyond the borders is a number, or the element at the border: the interior
// compares nothing. Rows shorter than a vector have a way of their own.
TEST(DerivedWindows, OverBorders) {
  const Extent W = Extent::size("B");
  for (const DType type : {f32, u8}) {
    const Axis c("c", 2), i("i", 4), j("j", W), a("a", 3), b("b", 3);
    const Tensor x = input("x", type, {2, 4, W}), w = input("w", type, {2, 3, 3});
    const Expr row = i + a - 1, column = j + b - 1, end = extent_value(W);
    const Expr held = x(c, clamp(row, 0, 3), clamp(column, 0, end - 1));
    const Expr is_inside = row >= 0 && row < 4 && column >= 0 && column < end;
    for (const Expr& value : {select(is_inside, held, 0), held}) {
      const Graph graph(compute("y", {c, i, j}, sum({a, b}, value * w(c, a, b))));
      const LoopNest nest = run_pipeline(graph, Target::host()).nest;
      if (type == f32) {
        EXPECT_NE(to_string(nest).find("y_filled"), std::string::npos) << to_string(nest);
        EXPECT_NE(to_string(nest).find("j + b - 1]"), std::string::npos);
      }
      expect_same_as_graph(graph, nest, {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 64, 65},
                           0, Target::host());
    }
  }
}

// Four rows of long windows at a time, the last ones fewer; several vectors of a single row.
TEST(DerivedWindows, LongOnes) {
  const Extent size = Extent::size("B");
  const Axis i("i", size), j("j", size), a("a", 9), b("b", 9), k("k", 70);
  const Tensor x = input("x", f32, {size + 8, size + 8}), line = input("x", f32, {size + 69});
  for (const Graph& graph : {Graph(compute("y", {i, j}, sum({a, b}, x(i + a, j + b)))),
                             Graph(compute("y", {j}, sum(k, line(j + k))))}) {
    expect_same_as_graph(graph, run_pipeline(graph, Target::host()).nest,
                         {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, 65, 70}, 0, Target::host());
  }
}

// Rows of bytes have ways of their own: as long as a vector, or shorter.
TEST(DerivedWindows, OfBytes) {
  const Axis i("i", 5), j("j", Extent::size("B")), a("a", 3), b("b", 3);
  const Tensor x = input("x", u8, {7, j.extent() + 2});
  for (const int cores : {1, 4}) {
    const Target target = on_this_machine(small_cache(cores));
    for (const Expr& value :
         {reduce_max({a, b}, x(i + a, j + b)), sum({a, b}, x(i + a, j + b) * x(i + a, j + b))}) {
      const Graph graph(compute("y", {i, j}, value));
      expect_same_as_graph(graph, run_pipeline(graph, target).nest,
                           {0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 200}, 0, target);
    }
  }
}

}  // namespace
}  // namespace emulsion
