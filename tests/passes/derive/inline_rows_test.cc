// Values of a row that are computed where they are read, and not stored: which are, and that the
// nests compute what the graphs say. row_graphs has more of them, of which derive_rows_test
// computes every size.

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "dsl/operators.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"
#include "tests/passes/derive/row_graphs.h"

namespace emulsion {
namespace {

const Extent kColumns = 100;
const Axis kI("i", 5), kK("k", kColumns), kR("r", kColumns);
const Tensor kX = input("x", f32, {5, kColumns}), kZ = input("z", f32, {5, kColumns});
const Tensor kHighest = compute("highest", {kI}, reduce_max(kR, kX(kI, kR)));

// d is read by sums and by y.
std::string twice(const Expr& value, const Target& target = target_of("x86-64-v3", 1)) {
  const Tensor d = compute("d", {kI, kK}, value);
  const Tensor s = compute("s", {kI}, sum(kR, d(kI, kR)));
  const Graph graph(compute("y", {kI, kK}, d(kI, kK) - s(kI)));
  EXPECT_TRUE(derives(graph, target, {0}, 1e-4));
  return derived(graph, target);
}

// d is read by `sums` alone.
std::string once(const Expr& value, const std::function<Expr(const Tensor&)>& sums,
                 const Target& target = target_of("x86-64-v3", 1)) {
  const Tensor d = compute("d", {kI, kK}, value);
  const Tensor s = compute("s", {kI}, sums(d));
  const Graph graph(compute("y", {kI, kK}, kZ(kI, kK) - s(kI)));
  EXPECT_TRUE(derives(graph, target, {0}, 1e-4));
  return derived(graph, target);
}
Expr sum_of(const Tensor& d) { return sum(kR, d(kI, kR)); }

const std::string kInline = "d.compute_inline()";

TEST(InlineRows, WhatOneSumReadsIs) {
  for (const char* level : kLevels) {
    const Target target = target_of(level, 1);
    EXPECT_TRUE(has(once(exp(kX(kI, kK) - kHighest(kI)), sum_of, target), kInline)) << level;
    EXPECT_TRUE(has(once(kX(kI, kK) * kZ(kI, kK) / kHighest(kI), sum_of, target), kInline));
  }
}

TEST(InlineRows, WhatIsReadFasterThanItIsComputedIsStored) {
  EXPECT_FALSE(has(twice(exp(kX(kI, kK) - kHighest(kI))), kInline));
  EXPECT_FALSE(has(twice(kX(kI, kK) / kHighest(kI)), kInline)) << "no fast operation";
  EXPECT_FALSE(has(twice((kX(kI, kK) - kHighest(kI)) * 0.5F + 1.0F), kInline)) << "three of them";
  EXPECT_FALSE(has(twice(kX(kI, kK) * kZ(kI, kK)), kInline)) << "two rows are read";
}

TEST(InlineRows, WhatCostsNoMoreThanToReadItIsComputedForEachReader) {
  for (const char* level : kLevels) {
    const Target target = target_of(level, 4);
    EXPECT_TRUE(has(twice(kX(kI, kK) - kHighest(kI), target), kInline)) << level;
    EXPECT_TRUE(has(twice(max((kX(kI, kK) - kHighest(kI)), -50.0F), target), kInline)) << level;
  }
}

// Not d at its own place, or not each element once.
TEST(InlineRows, WhatIsReadElsewhereIsStored) {
  const Expr value = exp(kX(kI, kK));
  const Axis r("r", 50), t("t", kColumns);
  EXPECT_FALSE(has(once(value, [&](const Tensor& d) { return sum(r, d(kI, r)); }), kInline));
  EXPECT_FALSE(
      has(once(value, [&](const Tensor& d) { return sum(kR, d(kI, 99 - Expr(kR))); }), kInline));
  EXPECT_FALSE(has(once(value, [&](const Tensor& d) { return sum({kR, t}, d(kI, t)); }), kInline));
  EXPECT_FALSE(
      has(once(value, [&](const Tensor& d) { return sum(kR, d(kI, kR) * d(kI, 0)); }), kInline));
}

// What is stored for a row may be computed in the loop of its first sums, and is there then.
TEST(InlineRows, WhatReadsAStoredRowIsStored) {
  const Tensor p = compute("p", {kI, kK}, exp(kX(kI, kK) - kHighest(kI)));
  const Tensor d = compute("d", {kI, kK}, p(kI, kK) * p(kI, kK));
  const Tensor s = compute("s", {kI}, sum(kR, d(kI, kR)));
  const Graph graph(compute("y", {kI, kK}, p(kI, kK) - s(kI)));
  EXPECT_TRUE(derives(graph, target_of("x86-64-v3", 1), {0}, 1e-4));
  EXPECT_FALSE(has(derived(graph, target_of("x86-64-v3", 1)), kInline));
}

// exp() of a value that is inline itself.
TEST(InlineRows, AllOfALogSoftmaxButItsSums) {
  const Tensor d = compute("d", {kI, kK}, kX(kI, kK) - kHighest(kI));
  const Tensor e = compute("e", {kI, kK}, exp(d(kI, kK)));
  const Tensor s = compute("s", {kI}, sum(kR, e(kI, kR)));
  const Graph graph(compute("y", {kI, kK}, d(kI, kK) - log(s(kI))));
  for (const char* level : kLevels) {
    const Target target = target_of(level, 4);
    EXPECT_TRUE(derives(graph, target, {0}, 1e-4)) << level;
    const std::string text = derived(graph, target);
    EXPECT_TRUE(has(text, kInline)) << text;
    EXPECT_TRUE(has(text, "e.compute_inline()")) << text;
    // One vector of sums under way, read whole.
    const std::string lanes = std::to_string(target.vector_lanes(f32));
    EXPECT_TRUE(has(text, "s.split(r, r, lane, " + lanes + ")")) << text;
    EXPECT_TRUE(has(text, "s.split(lane, lane, lane" + lanes + ", " + lanes + ")") || lanes == "4")
        << text;
  }
}

// In a lane each, a few at a time, and by itself: what is inline is so in each of them.
TEST(InlineRows, RowsOfRunTimeLengthHaveTheSameInEveryWay) {
  for (const auto& [name, graph] : row_graphs(Extent::size("R"), Extent::size("C"))) {
    if (name != "log_softmax_of_operators") continue;
    const std::string text = derived(graph, target_of("x86-64-v4", 1));
    EXPECT_TRUE(has(text, "below.compute_inline()")) << text;
    EXPECT_FALSE(has(text, "below_few") || has(text, "below_short")) << text;
  }
}

// Memory for rows of run-time length is asked for once for many blocks; what is inline has none.
TEST(InlineRows, RowsInBlocksToo) {
  const Extent length = Extent::size("T");
  const Tensor scores = matmul(input("q", f32, {8, 16}), input("k", f32, {16, length}), "scores");
  const Tensor d = sub(scores, reduce_max(scores, {1}, true, "highest"), "d");
  const Tensor e = exp(d, "e");
  const Tensor weights = mul(d, e / sum(e, {1}, true), "weights");
  const Graph graph(matmul(weights, input("v", f32, {length, 16}), "y"));
  for (const char* level : kLevels) {
    const Target target = target_of(level, 1);
    EXPECT_TRUE(derives(graph, target, {1, 3, 40}, 1e-4)) << level;
    const std::string text = derived(graph, target);
    EXPECT_TRUE(has(text, "e.hoist_storage(")) << text;
    EXPECT_TRUE(has(text, kInline)) << text;
  }
}

}  // namespace
}  // namespace emulsion
