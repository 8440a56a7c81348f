// What is derived for combinations whose places data choose: the kernels compute what the graph
// says at every size, of places outside of the result too.

#include <gtest/gtest.h>

#include <vector>

#include "bazel/testing/needs.h"
#include "dsl/operators.h"
#include "passes/pipeline.h"
#include "tests/backends/halide/nest_cases.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("B");

class DerivedChosenPlaces : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { SKIP_UNLESS_IT_RUNS(target_); }

  // Arguments are from -4 to 4: of any number of places some are outside.
  void expect_same(const Tensor& y, int cores = 1) {
    target_.cores = cores;
    const Graph graph(y);
    const LoopNest nest = run_pipeline(graph, target_).nest;
    expect_same_as_graph(graph, nest, {0, 1, 2, 3, 8, 17, 130}, 1e-5, target_);
    CompileOptions checked;
    checked.checked = true;
    expect_same_as_graph(graph, nest, {0, 3, 17}, 1e-5, target_, checked);
  }

 private:
  Target target_ = Target::parse(GetParam());
};

TEST_P(DerivedChosenPlaces, SumsByClass) {
  for (const Extent& classes : {Extent(9), kSize}) {
    for (const Extent& columns : {Extent(3), Extent(16), Extent(37), kSize}) {
      const Axis c("c", classes), d("d", columns), m("m", kSize);
      const Tensor x = input("x", f32, {kSize, columns}), which = input("which", i32, {kSize});
      expect_same(compute("y", {c, d}, sum(m, select(which(m) == Expr(c), x(m, d), 0.0F))), 2);
      expect_same(
          compute("y", {c, d}, reduce_max(m, select(which(m) == Expr(c), x(m, d), -INFINITY))));
    }
  }
}

TEST_P(DerivedChosenPlaces, OfOtherTypesAndWithMoreConditions) {
  const Axis c("c", 11), d("d", 40), m("m", kSize), k("k", 3);
  const Tensor x = input("x", i16, {kSize, 3, 40}), which = input("which", i8, {kSize, 3});
  const Expr place = cast(i32, which(m, k)) + 2;
  const Expr is_above = x(m, k, d) > cast(i16, 0);
  expect_same(compute("y", {c, d},
                      sum({m, k}, select(place == Expr(c) && is_above, x(m, k, d), cast(i16, 0)))));
}

TEST_P(DerivedChosenPlaces, Histograms) {
  for (const Extent& places : {Extent(200), kSize}) {
    const Axis c("c", places), m("m", kSize);
    const Tensor which = input("which", i32, {kSize});
    expect_same(compute("y", {c}, sum(m, cast(i32, which(m) == Expr(c)))));
  }
}

// A place along each of two axes.
TEST_P(DerivedChosenPlaces, OfTwoAxes) {
  const Axis c("c", 9), d("d", kSize), m("m", 50);
  const Tensor a = input("a", i32, {50}), b = input("b", i32, {50}), x = input("x", f32, {50});
  const Expr both = a(m) == Expr(c) && Expr(d) == b(m);
  expect_same(compute("y", {c, d}, sum(m, select(both, x(m), 0.0F))));
}

INSTANTIATE_TEST_SUITE_P(Targets, DerivedChosenPlaces,
                         testing::Values("x86-64-v2", "x86-64-v3", "x86-64-v4"));

}  // namespace
}  // namespace emulsion
