// What may be empty at run time is read only where it is not: programs whose reads hang on a size,
// each under schedules that move those reads, run for sizes from 0 up. In both interpreters, and
// compiled between pages that nobody may touch.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/operators.h"
#include "dsl/tensor.h"
#include "tests/random/check_schedule.h"

namespace emulsion {
namespace {

const Extent kB = Extent::size("B");

Tensor x() { return input("x", f32, {kB}); }
Expr B() { return size_value("B"); }
Expr clamped(const Expr& index) { return max(min(index, B() - 1), 0); }
// Something on the way that can be computed anywhere.
Tensor twice() {
  const Axis i("i", kB);
  return compute("p", {i}, x()(i) * 2.0f);
}
Expr number(const Axis& axis) { return cast(f32, Expr(axis)); }

Tensor first_under_a_size() {
  const Axis m("m", 9);
  return compute("y", {m}, select(B() > 0, x()(0) + number(m), -1.0f));
}
Tensor padded_by_hand() {
  const Axis m("m", kB + 5);
  return compute("y", {m}, select(m >= 2 && m < B() + 2, x()(clamped(Expr(m) - 2)), 7.0f));
}
Tensor prefix() {
  const Axis m("m", 9);
  return compute("y", {m}, select(m >= B(), 0.0f, twice()(clamped(m))));
}
Tensor first_in_rows() {
  const Axis m("m", 4), n("n", kB);
  return compute("y", {m, n}, twice()(0) + number(m) * number(n));
}
Tensor first_in_sums() {
  const Axis m("m", 4), n("n", kB);
  return compute("y", {m}, sum(n, twice()(0) * number(n) + number(m)));
}
Tensor joined() {
  const Tensor four = input("four", f32, {4}), other = input("other", f32, {Extent::size("B")});
  return concat({four, twice(), other, four}, 0, "y");
}
Tensor image() { return input("image", f32, {1, kB, 3, 2}); }
Tensor padded() { return pad(image(), {0, 2, 1, 0}, {0, 1, 1, 0}, 5, "y"); }
Tensor pooled() {
  PoolOptions options;
  options.window_h = options.window_w = 2;
  options.pad_top = options.pad_bottom = 1;
  return max_pool(image(), options, "y");
}
Tensor convolved() {
  Conv2dOptions same;
  same.pad_top = same.pad_bottom = same.pad_left = same.pad_right = 1;
  return conv2d(image(), weight("k", f32, {3, 3, 2, 4}), same, "y");
}

// The windows of a constant without values.
Tensor pooled_nothing() {
  const Tensor nothing = constant("c", {0, 5, 4}, std::vector<float>{});
  const Axis n("n", 0), y("y", 4), x("x", 4), k("k", 2);
  const Tensor s = compute("s", {n, y, x}, sum(k, nothing(n, Expr(y) + Expr(k), x)));
  const Tensor p = compute("p", {n, y, x}, s(n, y, x) / 2.0f);
  return compute("y", {n, y, x}, p(n, y, x) + p(n, y, x));
}

Tensor compared() {
  const Tensor x = input("x", i32, {kB, 5, 0});
  return less(x, x, "y");
}

struct Scheduled {
  const char* name;
  Tensor (*program)();
  ScheduleLines lines;
};

class EmptySizes : public testing::TestWithParam<Scheduled> {
 protected:
  static ScheduleProgram program(const Graph& graph) {
    ScheduleProgram result{"empty_sizes", graph, {}};
    for (int64_t size : {0, 1, 2, 5, 11}) result.runs.push_back({{"B", size}});
    return result;
  }
};

TEST_P(EmptySizes, ComputeTheSame) {
  const Graph graph(GetParam().program());
  EXPECT_NO_THROW(check_both_codes(program(graph), GetParam().lines));
}

const Scheduled kScheduled[] = {
    {"FirstUnderASize", first_under_a_size, {}},
    {"FirstUnderASizeInVectors", first_under_a_size, {"y.vectorize(m, 4)"}},
    {"PaddedByHand", padded_by_hand, {}},
    {"PaddedByHandInVectors", padded_by_hand, {"y.vectorize(m, 8)"}},
    {"PaddedByHandInMaskedVectors", padded_by_hand, {"y.vectorize(m, 8, predicate)"}},
    {"PrefixOfARoot", prefix, {"y.vectorize(m, 3)"}},
    {"PrefixInlined", prefix, {"p.compute_inline()", "y.vectorize(m, 3)"}},
    {"FirstAtTheBatch", first_in_rows, {"p.compute_at(y, n)"}},
    {"FirstOutsideTheRows", first_in_rows, {"y.reorder(m, n)", "p.compute_at(y, m)"}},
    {"FirstAtTilesOfTheBatch",
     first_in_rows,
     {"y.split(n, no, ni, 4)", "y.reorder(ni, m, no)", "p.compute_at(y, m)", "y.vectorize(ni)"}},
    {"FirstAtAFusedLoop", first_in_rows, {"y.fuse(m, n, t)", "p.compute_at(y, t)"}},
    {"FirstInASumAtItsSteps", first_in_sums, {"p.compute_at(y, n)"}},
    {"FirstInASumOfTwoSteps", first_in_sums, {"y.split(n, no, ni, 2)", "p.compute_at(y, no)"}},
    {"JoinedParts", joined, {"y.vectorize(i0, 4)"}},
    {"JoinedPartsInlined", joined, {"p.compute_inline()", "y.parallel(i0)"}},
    {"PaddedImage", padded, {}},
    {"PooledRows", pooled, {}},
    {"PooledRowsAtTheirWindow", pooled, {"y_pad.compute_at(y, y)"}},
    {"ConvolvedRows", convolved, {}},
    {"EmptyConstantInMaskedVectors",
     pooled_nothing,
     {"p.compute_at(y, n)", "p.vectorize(n, 4, predicate_stores)"}},
    {"EmptyConstantStaged",
     pooled_nothing,
     {"s.copy_in(c, copy)", "copy.compute_at(s, y)", "s.vectorize(x, 4)"}},
    {"NeverReadAndPrefetched", compared, {"y.prefetch(x, i1, 3)", "y.prefetch(x, i0, 1)"}},
    {"ConvolvedRowsAtTheirWindow", convolved, {"y_pad.compute_at(y, y)"}},
};

INSTANTIATE_TEST_SUITE_P(All, EmptySizes, testing::ValuesIn(kScheduled),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace emulsion
