// Elementwise values that sums of columns and the like read: which are computed in them, which are
// stored, and that the nests compute what the graphs say.

#include "passes/derive/values_in_sums.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/derive/derive_schedule.h"
#include "passes/derive/share_loops.h"
#include "passes/fuse/fuse_epilogues.h"
#include "passes/lower/lower.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/derive/derived_text.h"

namespace emulsion {
namespace {

using Names = std::set<std::string>;

// What the ledger says is read through on a target, which no nest stores; the nests are right.
Names values_in(const Graph& graph, const Target& target,
                const std::vector<int64_t>& batches = {0, 1, 5, 70}) {
  constexpr double kRounding = 1e-3;  // sums in another order, of up to a few thousand
  FusionReport report;
  share_loops(fuse_epilogues(graph), target, share_all_loops, &report);
  Names found;
  for (const FusionDecision& decision : report.decisions) {
    if (decision.fused && is_read_through(decision)) found.insert(decision.producer);
  }
  EXPECT_TRUE(derives(graph, target, batches, kRounding)) << target.to_string();
  const Schedule schedule = derive_schedule(graph, target);
  for (const Stage& stage : lower(graph, schedule).stages) {
    EXPECT_EQ(found.count(stage.name), 0U) << to_string(schedule);
  }
  return found;
}

// The same on every machine.
Names values_in(const Graph& graph, const std::vector<int64_t>& batches = {0, 1, 5, 70}) {
  const Names found = values_in(graph, target_of("x86-64-v3", 4), batches);
  for (const char* level : kLevels) {
    EXPECT_EQ(values_in(graph, target_of(level, 1), batches), found) << level;
  }
  return found;
}

constexpr int64_t kRows = 300;  // more than are walked column by column
Tensor x(const Extent& rows = kRows, const Extent& columns = 64) {
  return input("x", f32, {rows, columns});
}

Tensor squares() {
  const Tensor once = x();
  return mul(once, once, "v");
}

TEST(ValuesInSums, ASquareOfEachColumn) {
  const Tensor apart = sub(x(), input("t", f32, {kRows, 64}), "apart");
  for (const bool keepdims : {false, true}) {
    EXPECT_EQ(values_in(Graph(mean(mul(apart, apart, "v"), {0}, keepdims))), Names{"v"});
  }
}

TEST(ValuesInSums, OfMaximaToo) {
  EXPECT_EQ(values_in(Graph(reduce_max(abs(x(), "v"), {0}))), Names{"v"});
  EXPECT_EQ(values_in(Graph(reduce_min(exp(x(), "v"), {0}))), Names{"v"});
}

TEST(ValuesInSums, OfChannelsOfPictures) {
  const Tensor pictures = input("x", f32, {Extent::size("B"), 7, 9, 24});
  EXPECT_EQ(values_in(Graph(sum(mul(pictures, pictures, "v"), {0, 1, 2}))), Names{"v"});
  EXPECT_EQ(values_in(Graph(sum(abs(input("z", f32, {3, 20, 20, 24}), "v"), {0, 1, 2}))),
            Names{"v"});
}

TEST(ValuesInSums, OfARunTimeNumberOfRowsAndColumns) {
  const Tensor z = x(Extent::size("M"), Extent::size("N"));
  EXPECT_EQ(values_in(Graph(mean(mul(z, z, "v"), {0}))), Names{"v"});
}

// Nothing goes on with the columns.
TEST(ValuesInSums, OfFewRowsToo) {
  EXPECT_EQ(values_in(Graph(sum(abs(x(9, 37), "v"), {0}))), Names{"v"});
}

TEST(ValuesInSums, OfRowsThatNothingElseIsMadeOf) {
  const Tensor z = input("z", f32, {6, 5, 32});
  EXPECT_EQ(values_in(Graph(reduce_min(abs(z, "v"), {0, 2}))), Names{"v"});
}

// Element by element, for want of vectors: of a root, and of no series.
TEST(ValuesInSums, NoSeriesOfAFewElements) {
  const Tensor few = x(6, 5);
  const auto kept = [](const Tensor& value) {  // as [6, 1], for rows of other tensors
    const Axis i("i", 6), j("j", 7);
    const Tensor s = sum(value, {1}, true);
    return Graph(compute("y", {i, j}, s(5 - i, 0) + input("z", f32, {6, 7})(i, j)));
  };
  EXPECT_EQ(values_in(kept(exp(few, "v"))), Names{});
  EXPECT_EQ(values_in(kept(sqrt(abs(few), "v"))), Names{"v"});
  EXPECT_EQ(values_in(Graph(sum(exp(few, "v"), {1}, true))), Names{"v"}) << "a row in each lane";
}

// What is apart from the mean is as soon computed as loaded: by the variance and by the norm.
TEST(ValuesInSums, ANormOfColumns) {
  for (const Extent& batch : {Extent(5), Extent::size("B")}) {
    const Tensor pictures = input("x", f32, {batch, 9, 9, 32});
    const Tensor apart = sub(pictures, mean(pictures, {0, 1, 2}, true), "apart");
    const Tensor variance = mean(mul(apart, apart, "v"), {0, 1, 2}, true);
    const Graph norm(mul(apart, 1.0F / sqrt(variance + 1e-5F), "y"));
    EXPECT_EQ(values_in(norm), (Names{"apart", "v"}));
  }
}

// Of one core too, where a row of one step could be computed by itself.
TEST(ValuesInSums, InSumsThatWait) {
  const Graph graph(mean(squares(), {0}, true, "y"));
  for (const int cores : {1, 4}) {
    const std::string text = derived(graph, target_of("x86-64-v3", cores));
    EXPECT_TRUE(has(text, "y_sum.compute_at(y, tile)\n")) << text;
    EXPECT_TRUE(has(text, "v.compute_inline()\n")) << text;
  }
}

TEST(ValuesInSums, TheLedgerSaysWhoComputesThem) {
  const Tensor apart = sub(x(), input("z", f32, {64}), "apart");
  const Graph graph({sum(mul(apart, apart, "v"), {0}, false, "s"), exp(apart, "y")});
  FusionReport report;
  share_loops(fuse_epilogues(graph), target_of("x86-64-v3", 1), share_all_loops, &report);
  EXPECT_EQ(to_string(report),
            "moves read through, apart -> v, y: fused\nmoves read through, v -> s: fused\n");
}

TEST(ValuesInSums, NotAnOutput) {
  const Tensor v = squares();
  EXPECT_EQ(values_in(Graph({v, sum(v, {0})})), Names{});
}

// Two loads would be as many again.
TEST(ValuesInSums, NotWhatSeveralReadAndIsMadeOfSeveral) {
  const Tensor v = mul(x(), input("t", f32, {kRows, 64}), "v");
  EXPECT_EQ(values_in(Graph({sum(v, {0}), abs(v, "y")})), Names{});
}
TEST(ValuesInSums, NotWhatSeveralReadAndTakesLong) {
  const Tensor v = exp(x(), "v");
  EXPECT_EQ(values_in(Graph({sum(v, {0}), abs(v, "y")})), Names{});
}

// It adds work: a choice of its own (recompute_producers.h).
TEST(ValuesInSums, NotWhatNoSumReads) {
  const Tensor v = abs(x(), "v");
  EXPECT_EQ(values_in(Graph({exp(v, "y"), tanh(v, "z")})), Names{});
}

TEST(ValuesInSums, NotWhatAGroupOfRowsHas) {
  EXPECT_EQ(values_in(Graph(softmax(exp(x(), "v"), 1))), Names{});
}
// The sums are in loops that are made for what they read.
TEST(ValuesInSums, NotWhatSumsInAGroupOfRowsRead) {
  EXPECT_EQ(values_in(Graph(softmax(sum(abs(x(), "v"), {0}, true), 1))), Names{});
}

TEST(ValuesInSums, NotWhatAProductReads) {
  EXPECT_EQ(values_in(Graph(matmul(abs(x(), "v"), input("w", f32, {64, 32})))), Names{});
}
// One that would be a product with it is none.
TEST(ValuesInSums, NotWhatMakesAProduct) {
  const Axis i("i", 24), j("j", 32), k("k", 40);
  const Tensor a = input("a", f32, {40, 24}), b = input("b", f32, {40, 32});
  const Tensor v = compute("v", {i, k, j}, a(k, i) * b(k, j));
  const Graph graph(compute("y", {i, j}, sum(k, v(i, k, j))));
  EXPECT_EQ(values_in_sums(graph, target_of("x86-64-v3", 1), {}).inlined, Names{});
  EXPECT_EQ(values_in(graph), Names{});
}

TEST(ValuesInSums, NotWhatIsReadAgain) {
  const Axis i("i", 24), j("j", 64), k("k", 300), l("l", 2);
  const Tensor v = exp(input("z", f32, {300, 64}), "v"), t = input("t", f32, {2});
  EXPECT_EQ(values_in(Graph(compute("y", {j}, sum({k, l}, v(k, j) * t(l))))), Names{});
  EXPECT_EQ(values_in(Graph(compute("y", {j}, sum(k, v(k, j) * v(Expr(299) - k, j))))), Names{});
  EXPECT_EQ(
      values_in(Graph(compute("y", {i, j}, reduce_max(k, v(k, j) - input("s", f32, {24})(i))))),
      Names{});
}

TEST(ValuesInSums, NotWhatVectorsWouldCross) {
  const Axis i("i", kRows), j("j", 64);
  const Tensor turned = input("z", f32, {64, kRows});
  const Expr backwards = x()(i, j) * input("b", f32, {kRows, 64})(i, Expr(63) - j);
  for (const Expr& body : {abs(turned(j, i)), backwards}) {
    EXPECT_EQ(values_in(Graph(reduce_max(compute("v", {i, j}, body), {0}))), Names{});
  }
}

// Threads share what the value takes, and nobody the sums.
TEST(ValuesInSums, NotWhatManyThreadsShare) {
  const Graph graph(sum(exp(x(4000), "v"), {0}));
  EXPECT_EQ(values_in(graph, target_of("x86-64-v3", 1)), Names{"v"});
  EXPECT_EQ(values_in(graph, target_of("x86-64-v3", 4)), Names{});
  EXPECT_EQ(values_in(Graph(sum(exp(x(4000, 512), "v"), {0})), target_of("x86-64-v3", 4)),
            Names{"v"});
  EXPECT_EQ(values_in(Graph(sum(abs(x(4000), "v"), {0})), target_of("x86-64-v3", 4)), Names{"v"});
}

TEST(ValuesInSums, NotWhatThePolicyDoesNotWant) {
  const Graph graph(sum(abs(x(), "v"), {0}));
  const auto unwanted = [](const Op&) { return false; };
  EXPECT_EQ(values_in_sums(graph, target_of("x86-64-v3", 1), {}, unwanted).inlined, Names{});
}

TEST(ValuesInSums, NotOperatorByOperator) {
  DeriveOptions options;
  options.fuse = false;
  const Schedule schedule =
      derive_schedule(Graph(sum(abs(x(), "v"), {0})), target_of("x86-64-v3", 1), options);
  EXPECT_FALSE(has(to_string(schedule), "compute_inline"));
}

}  // namespace
}  // namespace emulsion
