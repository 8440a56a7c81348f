// Chains of stencils whose derived schedules keep windows that slide: the kernels compute what the
// graph says, bit for bit, at every size.

#include <gtest/gtest.h>

#include <utility>
#include <vector>

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
