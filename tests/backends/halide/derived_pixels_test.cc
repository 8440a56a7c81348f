// Pixels side by side in vectors, as derived: the kernels compute what the graph says at every
// size, on every kind of machine that this one can be.

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "bazel/testing/needs.h"
#include "dsl/operators.h"
#include "passes/pipeline.h"
#include "tests/backends/halide/nest_cases.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("B");

class DerivedPixels : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { SKIP_UNLESS_IT_RUNS(target_); }

  void expect_same(const Tensor& y) const {
    expect_same_as_graph(Graph(y), run_pipeline(Graph(y), target_).nest,
                         {0, 1, 3, 7, 8, 9, 15, 16, 17, 50}, 0, target_);
  }

  const Target target_ = Target::parse(GetParam());
};

TEST_P(DerivedPixels, ComputedInOneWay) {
  for (const DType type : {u8, i16, i32, f32, f64}) {
    for (const int64_t values : {2, 3, 4}) {
      for (const Extent& count : {kSize, Extent(40), Extent(43)}) {
        const Axis p("p", count), c("c", values);
        const Tensor x = input("x", type, {count, values}), z = input("z", type, {count, values}),
                     grey = input("grey", type, {count}), tint = input("tint", type, {values});
        expect_same(compute("y", {p, c}, x(p, c) * x(p, 1) + z(p, c) * tint(c)));
        expect_same(compute("y", {p, c}, select(x(p, c) > grey(p), tint(c), z(p, 0))));
        expect_same(compute("y", {p, c}, cast(f32, x(p, c)) * cast(f32, tint(c))));
      }
    }
  }
}

TEST_P(DerivedPixels, MadeOfTheirColours) {
  for (const DType type : {f32, i32}) {
    for (const int64_t values : {2, 3, 4}) {
      for (const int64_t steps : {2, 3, 4}) {
        for (const Extent& count : {kSize, Extent(40), Extent(43), Extent(5)}) {
          const Tensor x = input("x", type, {count, steps});
          const Tensor sums = matmul(x, input("w", type, {steps, values}));
          expect_same(add(sums, input("b", type, {values}), "y"));
          expect_same(matmul(x, weight("w", type, {steps, values}), "y"));
        }
      }
    }
  }
}

// Several sums of what is in memory before it is stored to, in one loop.
TEST_P(DerivedPixels, TurnedByRowsOfAMatrix) {
  for (const Extent& count : {kSize, Extent(50)}) {
    const Axis p("p", count), i("i", 3), k("k", 3);
    const Tensor x = input("x", f32, {count, 3}), w = input("w", f32, {3, 4});
    const Tensor turned = compute("turned", {p, i}, sum(k, w(i, k) * x(p, k)));
    expect_same(compute("y", {p, i}, turned(p, i) + w(i, 3)));
    expect_same(compute("y", {p, i}, reduce_max(k, x(p, k) + w(k, i))));
    expect_same(compute("y", {p, i}, sum(k, x(p, k) * x(p, i))));
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, DerivedPixels,
                         testing::Values("x86-64-v2,cores=4", "x86-64-v3,cores=1",
                                         "x86-64-v4,cores=1", "x86-64-v4,cores=4"));

}  // namespace
}  // namespace emulsion
