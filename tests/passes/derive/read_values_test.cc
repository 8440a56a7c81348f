// Elementwise values that a move alone reads: which are computed where their elements go, which are
// not, and that the nests compute what the graphs say.

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/derive/derive_schedule.h"
#include "passes/derive/read_borders.h"
#include "passes/derive/read_through.h"
#include "passes/derive/share_loops.h"
#include "passes/fuse/fuse_epilogues.h"
#include "passes/fuse/fused_group.h"
#include "passes/lower/lower.h"
#include "tests/passes/check_nest.h"

namespace emulsion {
namespace {

using Names = std::set<std::string>;

const char* const kTargets[] = {"x86-64-v2,cores=1", "x86-64-v3,cores=4", "x86-64-v4,cores=1"};

// What is stored, of every machine the same; the kernel is right.
Names stored(const Graph& graph, double tolerance = 1e-5) {
  Names found;
  for (const char* name : kTargets) {
    const Target target = Target::parse(name);
    EXPECT_TRUE(derives(graph, target, {0, 1, 5, 70}, tolerance)) << name;
    Names here;
    const Schedule schedule = derive_schedule(graph, target);
    for (const OpPtr& op : graph.ops()) {
      if (!is_computed(*op)) continue;
      for (const Stage& stage : lower(graph, schedule).stages) {
        if (stage.name == op->name) here.insert(op->name);
      }
    }
    EXPECT_TRUE(name == kTargets[0] || here == found) << name << "\n" << to_string(schedule);
    found = here;
  }
  return found;
}

Tensor x() { return input("x", f32, {24, 64}); }
Tensor a() { return relu(x(), "a"); }

// --- what is computed where it goes --------------------------------------------------------------

TEST(ReadValues, BetweenTwoShapes) {
  const Tensor r = reshape(a(), {96, 16}, "r");
  EXPECT_EQ(stored(Graph(tanh(r, "y"))), Names{"y"});
}

// Each of the group's means is read by four neighbours.
TEST(ReadValues, WithWhatNeighboursShare) {
  const Extent size = Extent::size("N");
  const Tensor r = reshape(input("x", f32, {size, 20, 32}), {size, 20, 8, 4}, "r");
  const Tensor e = sub(r, input("m", f32, {size, 1, 8, 1}), "e");
  EXPECT_EQ(stored(Graph(reshape(e, {size, 20, 32}, "y"))), Names{"y"});
}

TEST(ReadValues, NotWithWhatVectorsTakeFromRowsFarApart) {
  const Tensor r = reshape(input("x", f32, {5, 20, 33}), {5, 20, 11, 3}, "r");
  const Tensor e = sub(r, input("m", f32, {5, 1, 11, 1}), "e");
  EXPECT_EQ(stored(Graph(reshape(e, {5, 20, 33}, "y"))), (Names{"e", "y"}));
}

TEST(ReadValues, AMoveThatIsTheResult) {
  EXPECT_EQ(stored(Graph(reshape(a(), {96, 16}, "y"))), Names{"y"});
  EXPECT_EQ(stored(Graph(transpose(a(), {1, 0}, "y"))), Names{"y"});
  EXPECT_EQ(stored(Graph(slice(a(), {2, 8}, {20, 48}, {1, 1}, "y"))), Names{"y"});
}

TEST(ReadValues, AChainOfSeveralOperands) {
  const Tensor bias = input("bias", f32, {64}), scale = input("scale", f32, {24, 1});
  const Tensor chain = mul(add(exp(x(), "e"), bias, "b"), scale, "a");
  EXPECT_EQ(stored(Graph(relu(reshape(chain, {12, 2, 64}, "r"), "y"))), Names{"y"});
}

TEST(ReadValues, ThroughSeveralMoves) {
  const Tensor heads = transpose(reshape(a(), {24, 4, 16}, "r"), {1, 0, 2}, "t");
  EXPECT_EQ(stored(Graph(tanh(heads, "y"))), Names{"y"});
}

TEST(ReadValues, ARunTimeNumberOfRows) {
  const Extent rows = Extent::size("B");
  const Tensor value = relu(input("x", f32, {rows, 64}), "a");
  EXPECT_EQ(stored(Graph(tanh(reshape(value, {rows, 4, 16}, "r"), "y"))), Names{"y"});
  EXPECT_EQ(stored(Graph(transpose(value, {1, 0}, "y"))), Names{"y"});
}

// A norm reads it twice, and is computed row by row of the shape that it has then.
TEST(ReadValues, InRowsOfAnotherShape) {
  const Tensor r = reshape(a(), {96, 16}, "r");
  EXPECT_EQ(
      derive_schedule(Graph(softmax(r, -1, "y")), Target::parse(kTargets[1])).stages().count("a"),
      1U);
  EXPECT_EQ(stored(Graph(softmax(r, -1, "y"))).count("a"), 0U);
}

TEST(ReadValues, PartsOfWhatIsJoined) {
  const Tensor c = concat({relu(x(), "a"), neg(input("z", f32, {40, 64}), "b")}, 0, "c");
  EXPECT_EQ(stored(Graph(c)), Names{"c"});
  EXPECT_EQ(stored(Graph(tanh(c, "y"))), Names{"y"});
}

// Every second element: the value's own vectors would take them so, too.
TEST(ReadValues, ValuesOfNeighboursThatAreJoined) {
  for (const Extent& half : {Extent(80), Extent::size("B")}) {
    const Axis i("i", 24), j("j", half);
    const Tensor x = input("x", f32, {24, half * Extent(2)});
    const Expr even = x(i, 2 * Expr(j)), odd = x(i, 2 * Expr(j) + 1);
    const Tensor low = compute("low", {i, j}, (even + odd) * 0.5f);
    const Tensor high = compute("high", {i, j}, (even - odd) * 0.5f);
    EXPECT_EQ(stored(Graph(concat({low, high}, 1, "y"))), Names{"y"});
    EXPECT_EQ(stored(Graph(concat({low, high}, 0, "y"))), Names{"y"});
  }
}

// Vectors of the reader are none of the value's; data say where to read.
TEST(ReadValues, NotOtherValuesThatAreJoined) {
  const Axis i("i", 80), j("j", 80);
  const Tensor x = input("x", f32, {80, 161}), bytes = input("b", u8, {80, 80});
  const Tensor low = compute("low", {i, j}, x(i, 2 * Expr(j)) + x(i, 2 * Expr(j) + 1));
  const Axis k("k", 160);
  const Expr first = low(min(Expr(k), 79), i), second = bytes(i, max(Expr(k) - 80, 0));
  EXPECT_EQ(stored(Graph(compute("y", {i, k}, select(k < 80, first, cast(f32, second))))),
            (Names{"low", "y"}));
  const Tensor far = compute("far", {i, j}, x(i, cast(i32, bytes(i, j)) % 161) + 1.0f);
  EXPECT_EQ(stored(Graph(concat({far, input("z", f32, {80, 80})}, 1, "y"))), (Names{"far", "y"}));
}

// Elsewhere than in what is joined a value of neighbours stays stored: it could share loops.
TEST(ReadValues, NotNeighboursInAMove) {
  const Axis i("i", 24), j("j", 80);
  const Tensor x = input("x", f32, {24, 81});
  const Tensor low = compute("low", {i, j}, x(i, j) + x(i, Expr(j) + 1));
  EXPECT_EQ(stored(Graph(reshape(low, {24, 8, 10}, "y"))), (Names{"low", "y"}));
}

TEST(ReadValues, WhatIsPadded) {
  const Tensor p = pad(exp(x(), "a"), {1, 1}, {1, 1}, 0, "p");
  EXPECT_EQ(stored(Graph(p)), Names{"p"});
  EXPECT_EQ(stored(Graph(tanh(p, "y"))), Names{"y"});
}

// As frameworks write a rotary embedding.
Graph rotary(const Tensor& q, int64_t half) {
  const Tensor cosines = input("cosines", f32, {q.shape()[q.shape().size() - 2], 2 * half});
  const Tensor sines = input("sines", f32, {q.shape()[q.shape().size() - 2], 2 * half});
  const size_t rank = q.shape().size();
  std::vector<Extent> from(rank, 0), middle(rank, 0), to = q.shape(), end = q.shape();
  const std::vector<int64_t> steps(rank, 1);
  middle.back() = half;
  to.back() = half;
  const Tensor first = slice(q, from, to, steps, "first");
  const Tensor second = slice(q, middle, end, steps, "second");
  const Tensor turned =
      concat({neg(second, "negative"), first}, static_cast<int>(rank) - 1, "turned");
  return Graph(add(mul(q, cosines, "straight"), mul(turned, sines, "across"), "y"));
}

TEST(ReadValues, ARotaryEmbedding) {
  EXPECT_EQ(stored(rotary(input("q", f32, {2, 24, 128}), 64)), Names{"y"});
  EXPECT_EQ(stored(rotary(input("q", f32, {4, Extent::size("S"), 128}), 64)), Names{"y"});
  const Tensor q = matmul(input("tokens", f32, {24, 32}), weight("w", f32, {32, 128}), "q");
  EXPECT_EQ(stored(rotary(q, 64)), (Names{"q", "y"}));
}

TEST(ReadValues, AProductMayBeRead) {
  const Tensor product = matmul(x(), weight("w", f32, {64, 32}), "m");
  const Graph graph({tanh(reshape(relu(product, "a"), {48, 16}, "r"), "y"), neg(product, "z")});
  EXPECT_EQ(stored(graph), (Names{"m", "y", "z"}));
}

TEST(ReadValues, TheLedgerSaysSo) {
  const Graph graph(tanh(reshape(relu(exp(x(), "e"), "a"), {96, 16}, "r"), "y"));
  FusionReport report;
  share_loops(fuse_epilogues(graph), Target::parse(kTargets[0]), share_all_loops, &report);
  EXPECT_EQ(to_string(report),
            "moves read through, a -> r: fused\nmoves read through, r -> y: fused\n");
}

// What a sum needs as well is stored; what is made of it alone is not.
TEST(ReadValues, OfWhatIsNeededElsewhere) {
  const Tensor e = exp(x(), "e");
  const Graph graph({reshape(relu(e, "a"), {96, 16}, "y"), sum(e, {1}, false, "s")});
  const Names names = stored(graph);
  EXPECT_EQ(names.count("a"), 0U);
  EXPECT_EQ(names.count("e"), 1U);
}

// --- what stays stored ---------------------------------------------------------------------------

TEST(ReadValues, NotOfSeveralReaders) {
  const Tensor value = a();
  const Graph graph({reshape(value, {96, 16}, "r"), transpose(value, {1, 0}, "t")});
  EXPECT_EQ(stored(graph), (Names{"a", "r", "t"}));
}

TEST(ReadValues, NotAnOutput) {
  const Tensor value = a();
  EXPECT_EQ(stored(Graph({reshape(value, {96, 16}, "r"), value})), (Names{"a", "r"}));
}

TEST(ReadValues, NotForMoreElementsThanItHas) {
  const Axis i("i", 24), k("k", 3), j("j", 64);
  const Tensor value = exp(x(), "a");
  EXPECT_EQ(stored(Graph(compute("y", {k, i, j}, value(i, j)))), (Names{"a", "y"}));
  const Extent size = Extent::size("B");
  const Axis many("many", size);
  EXPECT_EQ(stored(Graph(compute("y", {many, i, j}, value(i, j)))), (Names{"a", "y"}));
}

TEST(ReadValues, NotWhatIsReadTwice) {
  const Axis i("i", 24), j("j", 62);
  const Tensor value = exp(x(), "a");
  EXPECT_EQ(stored(Graph(compute("y", {i, j}, value(i, j) + value(i, Expr(j) + 2)))),
            (Names{"a", "y"}));
}

TEST(ReadValues, NotAtPlacesThatDataChoose) {
  const Axis i("i", 10), j("j", 64);
  const Tensor rows = input("rows", u8, {10});
  EXPECT_EQ(stored(Graph(compute("y", {i, j}, a()(min(cast(i32, rows(i)), 23), j)))),
            (Names{"a", "y"}));
  const Tensor table = input("table", f32, {10, 64});
  const Axis m("m", 24);
  const Tensor words =
      compute("a", {m, j}, exp(table(min(cast(i32, input("w", u8, {24})(m)), 9), j)));
  EXPECT_EQ(stored(Graph(reshape(words, {96, 16}, "y"))), (Names{"a", "y"}));
}

TEST(ReadValues, NotIntoSums) {
  EXPECT_EQ(stored(Graph(sum(reshape(a(), {32, 24, 2}, "r"), {2}, false, "y"))).count("a"), 1U)
      << "where it is stored, r reads it";
  const Tensor product = matmul(reshape(a(), {96, 16}, "r"), weight("w", f32, {16, 32}), "y");
  EXPECT_EQ(stored(Graph(product)), (Names{"a", "y"})) << "r is read through, as of an argument";
}

// Softmax is computed row by row, its quotient with its sums.
TEST(ReadValues, NotTheEndOfRows) {
  const Graph graph(transpose(softmax(x(), -1, "s"), {1, 0}, "y"));
  FusionReport report;
  share_loops(fuse_epilogues(graph), Target::parse(kTargets[1]), share_all_loops, &report);
  for (const FusionDecision& decision : report.decisions) {
    EXPECT_FALSE(decision.fused && decision.consumer == "y") << decision.producer;
  }
}

TEST(ReadValues, NotWhatIsComputedWithASumOfItsRow) {
  const Tensor rows = x(), centred = sub(rows, mean(rows, {1}, true, "mean"), "a");
  EXPECT_EQ(stored(Graph(transpose(centred, {1, 0}, "y"))).count("a"), 1U);
}

// A transpose that would be read across the vectors of a reshape is stored in place of the value.
TEST(ReadValues, AMoveAcrossVectorsIsStored) {
  const Tensor z = input("z", f32, {64, 24});
  const Tensor both = add(x(), transpose(z, {1, 0}, "t"), "a");
  EXPECT_EQ(stored(Graph(reshape(both, {48, 32}, "y"))), (Names{"t", "y"}));
}

TEST(ReadValues, NotAcrossSeveralOperands) {
  const Tensor z = input("z", f32, {24, 64});
  EXPECT_EQ(stored(Graph(transpose(add(x(), z, "a"), {1, 0}, "y"))), (Names{"a", "y"}));
  EXPECT_EQ(stored(Graph(transpose(add(x(), input("bias", f32, {64}), "a"), {1, 0}, "y"))),
            Names{"y"})
      << "of a row one element is for all lanes";
}

TEST(ReadValues, NotWhatThePolicyDoesNotWant) {
  const Graph graph(reshape(a(), {96, 16}, "y"));
  const Target target = Target::parse(kTargets[0]);
  Names asked;
  const auto wanted = [&](const Op& op) { return !asked.insert(op.name).second; };
  EXPECT_EQ(read_through(graph, target, wanted).moves, Names{});
  EXPECT_EQ(asked, Names{"a"});
  EXPECT_EQ(read_through(graph, target, wanted).moves, Names{"a"});
}

// What fuse_epilogues() was not to fuse is not computed in its reader all the same.
TEST(ReadValues, NotInAReaderOfItsOwnAxes) {
  const Graph graph(tanh(a(), "y"));
  EXPECT_EQ(read_through(graph, Target::parse(kTargets[0])).moves, Names{});
}

TEST(ReadValues, NotWhatIsLarge) {
  Tensor value = x();
  for (int i = 0; i < 60; ++i) value = add(mul(value, 0.5F), 1.0F, "a" + std::to_string(i));
  EXPECT_EQ(stored(Graph(reshape(value, {96, 16}, "y"))), (Names{"a59", "y"}));
}

TEST(ReadValues, NotOperatorByOperator) {
  DeriveOptions options;
  options.fuse = false;
  const Graph graph(reshape(a(), {96, 16}, "y"));
  const Schedule schedule = derive_schedule(graph, Target::parse(kTargets[1]), options);
  EXPECT_EQ(to_string(schedule).find("compute_inline"), std::string::npos);
}

}  // namespace
}  // namespace emulsion
