// Elementwise values that a sum, a maximum or the like alone reads: which are computed in it, which
// are stored, and that the nests compute what the graphs say.

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/derive/derive_schedule.h"
#include "passes/derive/read_through.h"
#include "passes/derive/share_loops.h"
#include "passes/fuse/fusion_report.h"
#include "tests/passes/derive/moves_read_through.h"

namespace emulsion {
namespace {

using Names = std::set<std::string>;

Names read_by_sums(const Graph& graph) {
  constexpr double kRounding = 1e-3;  // sums in another order, of up to a few thousand
  return moves_read_through(graph, {0, 1, 5, 70}, kRounding);
}

Tensor x() { return input("x", f32, {24, 64}); }
Tensor squares() {
  const Tensor once = x();
  return mul(once, once, "v");
}

TEST(ReadBySums, AMeanOfSquares) {
  const Tensor apart = sub(x(), input("t", f32, {24, 64}), "apart");
  for (const bool keepdims : {false, true}) {
    EXPECT_EQ(read_by_sums(Graph(mean(mul(apart, apart, "v"), {0, 1}, keepdims))), Names{"v"});
  }
}

TEST(ReadBySums, ALargestAndALeast) {
  EXPECT_EQ(read_by_sums(Graph(reduce_max(abs(x(), "v"), {0, 1}))), Names{"v"});
  EXPECT_EQ(read_by_sums(Graph(reduce_min(exp(input("z", f32, {1001}), "v"), {0}))), Names{"v"});
}

TEST(ReadBySums, ARunTimeNumberOfRows) {
  const Tensor z = input("z", f32, {Extent::size("B"), 37}), s = input("s", f32, {37});
  EXPECT_EQ(read_by_sums(Graph(mean(mul(z, z, "v"), {0, 1}))), Names{"v"});
  EXPECT_EQ(read_by_sums(Graph(sum(abs(mul(z, s), "v"), {0, 1}))), Names{"v"});
}

TEST(ReadBySums, RowsOfARunTimeLength) {
  const Tensor z = input("z", f32, {9, Extent::size("B")});
  EXPECT_EQ(read_by_sums(Graph(sum(mul(z, z, "v"), {0, 1}))), Names{"v"});
}

// The variance: of what another sum of all says.
TEST(ReadBySums, WhatIsMadeOfAnotherSum) {
  const Tensor once = x();
  const Tensor apart = sub(once, mean(once, {0, 1}), "apart");
  EXPECT_EQ(read_by_sums(Graph(mean(mul(apart, apart, "v"), {0, 1}))), Names{"v"});
}

TEST(ReadBySums, TheLedgerSaysSo) {
  const Graph graph(sum(squares(), {0, 1}, false, "y"));
  FusionReport report;
  share_loops(graph, Target::parse("x86-64-v3"), share_all_loops, &report);
  EXPECT_EQ(to_string(report), "moves read through, v -> y: fused\n");
}

TEST(ReadBySums, NotWhatSeveralRead) {
  const Tensor v = squares();
  EXPECT_EQ(read_by_sums(Graph({sum(v, {0, 1}), reduce_max(v, {0, 1})})), Names{});
}

TEST(ReadBySums, NotAnOutput) {
  const Tensor v = squares();
  EXPECT_EQ(read_by_sums(Graph({v, sum(v, {0, 1})})), Names{});
}

// Those are computed in one group of loops.
TEST(ReadBySums, NotWhatSeveralSumsRead) {
  const Tensor v = squares();
  EXPECT_EQ(read_by_sums(Graph(sum(v, {1}))), Names{});
  EXPECT_EQ(read_by_sums(Graph(sum(v, {0}))), Names{});
  EXPECT_EQ(read_by_sums(Graph(reduce_min(abs(input("z", f32, {6, 5, 32}), "v"), {0, 2}))),
            Names{});
}

// The softmax of a row and the product share its loops.
TEST(ReadBySums, NotWhatIsMadeOfSumsOfRows) {
  const Tensor v = mul(softmax(x(), -1, "p"), input("t", f32, {24, 64}), "v");
  EXPECT_EQ(read_by_sums(Graph(sum(v, {0, 1}))), Names{});
}

TEST(ReadBySums, NotWhatIsReadAgain) {
  const Axis i("i", 24), j("j", 2), k("k", 64);
  const Tensor v = exp(input("z", f32, {64}), "v");
  EXPECT_EQ(read_by_sums(Graph(compute("y", {i}, reduce_max(k, v(k) + x()(i, k))))), Names{});
  const Expr twice = v(k) * input("s", f32, {2})(j);
  EXPECT_EQ(read_by_sums(Graph(compute("y", {}, sum({k, j}, twice)))), Names{});
  EXPECT_EQ(read_by_sums(Graph(compute("y", {}, sum(k, v(k) * v(Expr(63) - k))))), Names{});
}

TEST(ReadBySums, NotWhatAProductReads) {
  const Tensor v = abs(x(), "v");
  EXPECT_EQ(read_by_sums(Graph(matmul(v, input("w", f32, {64, 32})))), Names{});
  EXPECT_EQ(read_by_sums(Graph(matmul(input("w", f32, {32, 24}), v))), Names{});
}

TEST(ReadBySums, NotWhatVectorsWouldCross) {
  const Axis i("i", 24), j("j", 64);
  const Tensor v = compute("v", {i, j}, abs(input("z", f32, {64, 24})(j, i)));
  EXPECT_EQ(read_by_sums(Graph(reduce_max(v, {0, 1}))), Names{});
}

TEST(ReadBySums, NotWhatDataChoose) {
  const Tensor table = input("table", f32, {10}), places = input("places", u8, {24});
  const Axis i("i", 24);
  const Tensor v = compute("v", {i}, abs(table(min(cast(i32, places(i)), 9))));
  EXPECT_EQ(read_by_sums(Graph(reduce_max(v, {0}))), Names{});
}

TEST(ReadBySums, NotWhatThePolicyDoesNotWant) {
  const Graph graph(sum(squares(), {0, 1}));
  const auto unwanted = [](const Op&) { return false; };
  EXPECT_EQ(read_through(graph, Target::parse(kReadThroughTargets[0]), unwanted).moves, Names{});
}

TEST(ReadBySums, NotOperatorByOperator) {
  DeriveOptions options;
  options.fuse = false;
  const Graph graph(sum(squares(), {0, 1}));
  const Schedule schedule = derive_schedule(graph, Target::parse("x86-64-v3"), options);
  EXPECT_EQ(to_string(schedule).find("compute_inline"), std::string::npos);
}

}  // namespace
}  // namespace emulsion
