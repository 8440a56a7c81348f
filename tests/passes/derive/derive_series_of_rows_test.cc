// What derived schedules store between a norm and a series of it (gelu, tanh), a row at a time.

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "dsl/graph_text.h"
#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/pipeline.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

const Extent kSize = Extent::size("B");

// What follows a norm n of x by rows; v is x less the mean of its row.
using Behind = std::function<Tensor(const Tensor& n, const Tensor& v)>;

Graph behind_norm(const Extent& rows, int columns, const Behind& behind) {
  const Axis i("i", rows), k("k", columns), r("r", columns);
  const Tensor x = input("x", f32, {rows, columns});
  const float scale = 1.0F / static_cast<float>(columns);
  const Tensor average = compute("average", {i}, sum(r, x(i, r)) * scale);
  const Tensor v = compute("v", {i, k}, x(i, k) - average(i));
  const Tensor squares =
      compute("squares", {i}, sum(r, (x(i, r) - average(i)) * (x(i, r) - average(i))) * scale);
  const Tensor root = compute("root", {i}, sqrt(squares(i) + 1.0F));
  const Tensor n = compute("n", {i, k}, v(i, k) / root(i));
  return Graph(behind(n, v));
}

Tensor tanh_of(const Tensor& n, const Tensor& /*v*/) { return tanh(n, "y"); }
Tensor silu_of(const Tensor& n, const Tensor& /*v*/) { return mul(n, sigmoid(n), "y"); }
Tensor with_residual(const Tensor& n, const Tensor& /*v*/) {
  return add(tanh(n), input("z", f32, n.shape()), "y");
}
Tensor with_bias(const Tensor& n, const Tensor& /*v*/) {
  return add(tanh(n), input("b", f32, {n.shape().back()}), "y");
}
Tensor with_what_was_before(const Tensor& n, const Tensor& v) { return add(tanh(n), v, "y"); }

std::string text_of(const Behind& behind, const Extent& rows = 64, int columns = 20,
                    const char* level = "x86-64-v3") {
  return derived(behind_norm(rows, columns, behind), target_of(level, 1));
}

bool is_stored(const std::string& text) {
  return text.find("n.compute_at(y, ") != std::string::npos;
}
// Whether rows that are there at a time are one row of vectors.
bool is_flat(const std::string& text) {
  return text.find("y.fuse(row, i1, flat)\n") != std::string::npos;
}

TEST(DeriveSeriesOfRows, ANormIsStoredForATanhOfIt) {
  const std::string text = text_of(tanh_of);
  EXPECT_TRUE(is_stored(text) && is_flat(text)) << text;
  EXPECT_EQ(text.find("n.compute_inline()"), std::string::npos) << text;
}

TEST(DeriveSeriesOfRows, ForWhatReadsItTwice) { EXPECT_TRUE(is_stored(text_of(silu_of))); }

TEST(DeriveSeriesOfRows, RowsThatFillVectorsStayRows) {
  const std::string text = text_of(tanh_of, 64, 32);
  EXPECT_TRUE(is_stored(text) && !is_flat(text)) << text;
}

TEST(DeriveSeriesOfRows, WhatLiesOtherwiseIsReadRowByRow) {
  EXPECT_TRUE(is_flat(text_of(with_residual))) << text_of(with_residual);
  EXPECT_TRUE(is_stored(text_of(with_bias)) && !is_flat(text_of(with_bias)));
}

TEST(DeriveSeriesOfRows, ARunTimeNumberOfShortRows) {
  EXPECT_TRUE(is_stored(text_of(tanh_of, kSize)) && is_flat(text_of(tanh_of, kSize)));
  const std::string longer = text_of(tanh_of, kSize, 130);
  EXPECT_TRUE(is_stored(longer) && !is_flat(longer)) << longer;
}

TEST(DeriveSeriesOfRows, NotForWhatIsNoSeries) {
  EXPECT_FALSE(is_stored(text_of([](const Tensor& n, const Tensor&) { return relu(n, "y"); })));
}

TEST(DeriveSeriesOfRows, NotWhatIsReadBesideWhatItIsMadeOf) {
  EXPECT_FALSE(is_stored(text_of(with_what_was_before))) << text_of(with_what_was_before);
}

TEST(DeriveSeriesOfRows, NotWithoutRows) {
  const Tensor x = input("x", f32, {64, 20});
  const std::string text = derived(Graph(tanh(x * 0.5F, "y")), target_of("x86-64-v3", 1));
  EXPECT_EQ(text.find("compute_at"), std::string::npos) << text;
}

TEST(DeriveSeriesOfRows, NotWhatThereIsOnceInARow) {
  const Graph graph = parse_graph(
      "emulsion graph 1\n"
      "size H\n"
      "input x: f32[4, H, H]\n"
      "s[i: 4, j: H] = sum(k: H) x[i, j, k]\n"
      "c[i: 4, j: H] = select(j >= 9, s[i, j], 1f)\n"
      "y[i: 4, j: H] = c[i, j] * erf(c[i, j])\n"
      "output y\n");
  for (const char* level : kLevels) {
    const Lowered lowered = run_pipeline(graph, target_of(level, 2));
    ASSERT_EQ(lowered.grouped.loop_groups().size(), 1u);
    EXPECT_FALSE(has(to_string(lowered.schedule), "c.compute_at")) << to_string(lowered.schedule);
    for (const int64_t size : {0, 1, 9, 18}) {
      EXPECT_TRUE(computes(lowered.nest, graph, {{"H", size}}, 1e-5)) << level << " " << size;
    }
  }
}

// log(sum(exp(x - m))) + m of each row, with the maximum m of the row, or of another function.
Graph log_of_sums(const Extent& rows, int columns,
                  Tensor (*of)(const Tensor&, const std::string&) = exp) {
  const Tensor x = input("x", f32, {rows, columns});
  const Tensor m = reduce_max(x, {-1}, true, "m");
  const Tensor s = sub(x, m, "s"), e = of(s, "e");
  return Graph(add(log(sum(e, {-1}, true), "l"), m, "y"));
}
std::string sums_of(const Extent& rows, int columns,
                    Tensor (*of)(const Tensor&, const std::string&) = exp) {
  return derived(log_of_sums(rows, columns, of), target_of("x86-64-v4", 1));
}

// What it reads differs along the row and is stored before it: each row has its own maximum.
TEST(DeriveSeriesOfRows, ASeriesThatIsSummedUpGoesThroughRowsThatFillNoVectors) {
  for (const int rows : {4, 64, 997}) {
    for (const int columns : {26, 36, 50}) {
      const std::string text = sums_of(rows, columns);
      EXPECT_TRUE(has(text, "e.fuse(i0, i1, flat)\n")) << text;
      EXPECT_TRUE(has(text, "s.compute_at(y, i0)\n") && !has(text, "s.fuse")) << text;
    }
  }
  const std::string run_time = sums_of(kSize, 36);
  EXPECT_TRUE(has(run_time, "e.fuse(i0, i1, flat)\n") && has(run_time, "s.compute_at(y, i0)\n"))
      << run_time;
  EXPECT_TRUE(has(sums_of(997, 36), "y.split(i0, i0, row, 63, shift_inwards)\n"));
}

TEST(DeriveSeriesOfRows, ASeriesThatIsSummedUpGoesAlongOtherRows) {
  EXPECT_FALSE(has(sums_of(64, 32), "flat"));
  EXPECT_FALSE(has(sums_of(kSize, 130), "e.fuse"));
  EXPECT_TRUE(has(sums_of(kSize, 130), "s.compute_inline()\n")) << sums_of(kSize, 130);
  EXPECT_FALSE(has(sums_of(3, 36), "e.fuse"));
  EXPECT_FALSE(has(sums_of(64, 36, sqrt), "e.fuse"));
  EXPECT_TRUE(has(sums_of(64, 32), "s.compute_inline()\n")) << sums_of(64, 32);
}

TEST(DeriveSeriesOfRows, SumsOfASeriesHaveRowsOfAnyNumberAndLength) {
  for (const char* level : kLevels) {
    for (const int columns : {5, 10, 13, 20, 33}) {
      for (const int rows : {1, 4, 67, 131, 997}) {
        EXPECT_TRUE(derives(log_of_sums(rows, columns), target_of(level, 2), {0}, 1e-5))
            << level << " " << rows << " x " << columns;
      }
    }
  }
}

// Of which the memory of an output holds what is summed up.
TEST(DeriveSeriesOfRows, LongRowsOfASoftmax) {
  const Graph graph(tanh(softmax(input("x", f32, {3, 6000})), "y"));
  EXPECT_TRUE(derives(graph, target_of("x86-64-v3", 1), {0}, 1e-5));
}

TEST(DeriveSeriesOfRows, ComputesRowsOfAnyNumberAndLength) {
  for (const char* level : kLevels) {
    for (const Behind& behind :
         {Behind(tanh_of), Behind(silu_of), Behind(with_residual), Behind(with_bias)}) {
      for (const int columns : {3, 13, 20, 32}) {
        for (const Extent& rows : {Extent(1), Extent(7), Extent(64), Extent(67), kSize}) {
          EXPECT_TRUE(
              derives(behind_norm(rows, columns, behind), target_of(level, 2), {0, 1, 5}, 1e-5))
              << level << " " << rows.to_string() << " x " << columns;
        }
      }
    }
  }
}

}  // namespace
}  // namespace emulsion
