// Rows that data rotate, pictures that are made larger and pixels that are shuffled, as derived:
// the kernels compute what the graph says at every size, on every kind of machine that this one can
// be.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bazel/testing/needs.h"
#include "dsl/operators.h"
#include "passes/pipeline.h"
#include "tests/backends/halide/nest_cases.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("B");

class DerivedTurns : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { SKIP_UNLESS_IT_RUNS(target_); }

  void expect_same(const Graph& graph, double tolerance = 0) const {
    expect_same_as_graph(graph, run_pipeline(graph, target_).nest,
                         {0, 1, 2, 5, 8, 16, 22, 33, 65, 71}, tolerance, target_);
  }

  const Target target_ = Target::parse(GetParam());
};

TEST_P(DerivedTurns, RowsThatDataRotate) {
  for (const DType type : {u8, i16, f32, f64}) {
    for (const Extent& width : {kSize, Extent(70)}) {
      const Axis i("i", 3), j("j", width), c("c", 3);
      const Tensor x = input("x", type, {3, width}), d = input("d", i32, {});
      const Tensor of_rows = input("e", i32, {3}), p = input("p", type, {3, width, 3});
      const Expr end = Expr(width);
      SCOPED_TRACE(to_string(type) + " " + width.to_string());
      expect_same(compute("y", {i, j}, x((Expr(i) + d()) % 3, (Expr(j) + d()) % end)));
      expect_same(compute("y", {i, j}, x(i, (Expr(j) - of_rows(i) + end) % end)));
      expect_same(compute("y", {i, j, c}, p(i, (Expr(j) + d()) % end, c)));
      const Expr s = max(min(d(), end - 1), 0), moved = Expr(j) + s;
      const Expr place = max(min(select(moved < end, moved, moved - end), end - 1), 0);
      expect_same(compute("y", {i, j}, x(i, place)));
    }
  }
}

// Values with names, of which Halide looks for bounds.
TEST_P(DerivedTurns, RowsThatRotateInsideOfWhatIsHeld) {
  for (const DType type : {u8, i32, f32}) {
    const Axis i("i", 3), j("j", kSize);
    const Tensor x = input("x", type, {3, kSize}), d = input("d", i32, {});
    for (const Expr& by : {Expr(1), Expr(d())}) {
      const Expr turned = cast(f32, x(i, max(min((Expr(j) + by) % kSize, Expr(kSize) - 1), 0)));
      expect_same(compute("y", {i, j}, max(min(turned, 71.0F), 1.0F)));
    }
  }
}

TEST_P(DerivedTurns, PicturesThatAreLarger) {
  for (const DType type : {u8, f32}) {
    for (const int64_t values : {1, 3, 4}) {
      for (const int64_t times : {2, 3}) {
        for (const Extent& width : {kSize, Extent(37)}) {
          const Axis i("i", times * 3), j("j", times * width), c("c", values);
          const Tensor x = input("x", type, {3, width, values});
          const auto near = static_cast<int>(times);
          expect_same(compute("y", {i, j, c}, x(i / near, j / near, c)));
        }
      }
    }
  }
}

// Each pixel of a mean of the two that are nearest, by turns of two weights.
TEST_P(DerivedTurns, PicturesWhosePixelsAreMeans) {
  for (const Extent& width : {kSize, Extent(41)}) {
    const Axis j("j", 2 * width), c("c", 3);
    const Tensor x = input("x", u8, {width, 3});
    const auto at = [&](const Expr& place) {
      return cast(i32, x(max(min(place, Expr(width) - 1), 0), c));
    };
    const Expr first = (Expr(j) - 1) / 2, weight = select(j % 2 == 0, 3, 1);
    const Expr sum = at(first) * (4 - weight) + at(first + 1) * weight;
    expect_same(compute("y", {j, c}, cast(u8, (sum + 2) / 4)));
  }
}

TEST_P(DerivedTurns, ShuffledPixels) {
  for (const Extent& width : {kSize, Extent(24)}) {
    const Tensor x = input("x", f32, {2, width, 12});
    const Axis i("i", 4), j("j", 2 * width), c("c", 3);
    expect_same(compute("y", {i, j, c}, x(i / 2, j / 2, c * 4 + i % 2 * 2 + j % 2)));
    const Tensor apart = reshape(x, {2, width, 3, 2, 2});
    expect_same(reshape(transpose(apart, {0, 3, 1, 4, 2}), {4, 2 * width, 3}, "y"));
  }
}

// The colours of a sensor whose pixels have one each.
TEST_P(DerivedTurns, ColoursByTurns) {
  for (const Extent& width : {kSize, Extent(40)}) {
    const Axis i("i", 4), j("j", 2 * width), c("c", 3);
    const Tensor x = input("x", u16, {4, 2 * width});
    const auto at = [&](int down, int right) {
      return cast(i32, x(max(min(Expr(i) + down, 3), 0),
                         max(min(Expr(j) + right, Expr(2 * width) - 1), 0)));
    };
    const Expr beside = (at(0, -1) + at(0, 1)) / 2, above = (at(-1, 0) + at(1, 0)) / 2;
    const Expr even_row = i % 2 == 0, even = j % 2 == 0;
    const Expr red = select(even_row, select(even, at(0, 0), beside), above);
    const Expr green = select(even_row, select(even, above, at(0, 0)), beside);
    const Expr colour = select(c == 0, red, select(c == 1, green, at(1, 1)));
    expect_same(compute("y", {i, j, c}, cast(u16, colour)));
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, DerivedTurns,
                         testing::Values("x86-64-v2,cores=1", "x86-64-v3,cores=1",
                                         "x86-64-v4,cores=1", "x86-64-v4,cores=4"));

}  // namespace
}  // namespace emulsion
