// Operations become loop groups of the graph: which, in what order, and what is left as it is.

#include "passes/derive/share_loops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "dsl/error.h"
#include "dsl/graph_text.h"
#include "dsl/operators.h"
#include "passes/fuse/fuse_epilogues.h"
#include "passes/fuse/fused_group.h"
#include "tests/passes/derive/attention_graphs.h"
#include "tests/passes/derive/row_graphs.h"
#include "tests/passes/derive/stencil_graphs.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/op_of.h"

namespace emulsion {
namespace {

using ::testing::HasSubstr;
using Names = std::vector<std::string>;
using Axes = std::vector<size_t>;

const Target kV3 = Target::parse("x86-64-v3,cores=1");

Graph shared(const Graph& graph, const Target& target = kV3, FusionReport* report = nullptr) {
  return share_loops(fuse_epilogues(graph), target, share_all_loops, report);
}
Names names_of(const std::vector<OpPtr>& ops) {
  Names names;
  for (const OpPtr& op : ops) names.push_back(op->name);
  return names;
}
bool shares_nothing(const Graph& graph, const Target& target = kV3) {
  const Graph grouped = fuse_epilogues(graph);
  return share_loops(grouped, target).ops() == grouped.ops() &&
         share_loops(grouped, target).loop_groups().empty();
}

TEST(ShareLoops, RowsOfASoftmax) {
  const Graph graph = shared(softmax_by_hand(64, 96));
  EXPECT_EQ(to_string(graph),
            "emulsion graph 1\n"
            "input x: f32[64, 96]\n"
            "fused_rows_max_sub_exp_sum_div y over [i] {\n"
            "  highest[i: 64] = max(r: 96) x[i, r]\n"
            "  p[i: 64, k: 96] = exp(x[i, k] - highest[i])\n"
            "  total[i: 64] = sum(r: 96) p[i, r]\n"
            "  y[i: 64, k: 96] = p[i, k] / total[i]\n"
            "}\n"
            "output y\n");
}

TEST(ShareLoops, OneNodeForANormOrASoftmax) {
  for (const auto& [name, graph] : row_graphs(64, 100)) {
    const Graph found = shared(graph);
    ASSERT_EQ(found.loop_groups().size(), 1U) << name;
    EXPECT_EQ(found.loop_groups()[0].kind, LoopGroupKind::rows) << name;
    EXPECT_EQ(found.loop_groups()[0].members.back()->name, "y") << name;
    size_t computed = 0;
    for (const OpPtr& op : found.ops()) computed += is_computed(*op) ? 1 : 0;
    EXPECT_EQ(found.loop_groups()[0].members.size(), computed) << name;
  }
}

TEST(ShareLoops, ColumnsOfASoftmaxOverChannels) {
  const Graph graph = shared(Graph(softmax(input("x", f32, {2, 5, 3, 64}), 1, "y")));
  EXPECT_EQ(to_string(graph),
            "emulsion graph 1\n"
            "input x: f32[2, 5, 3, 64]\n"
            "fused_columns_max_sub_exp_sum_div_mul y over [i0, i2, i3] {\n"
            "  y_max[i0: 2, i2: 3, i3: 64] = max(r1: 5) x[i0, r1, i2, i3]\n"
            "  y_exp[i0: 2, i1: 5, i2: 3, i3: 64] = exp(x[i0, i1, i2, i3] - y_max[i0, i2, i3])\n"
            "  y_sum[i0: 2, i2: 3, i3: 64] = sum(r1: 5) y_exp[i0, r1, i2, i3]\n"
            "  y[i0: 2, i1: 5, i2: 3, i3: 64] = y_exp[i0, i1, i2, i3] * (1f / y_sum[i0, i2, i3])\n"
            "}\n"
            "output y\n");
}

TEST(ShareLoops, OneNodeForAttention) {
  const Graph graph = shared(attention(4, 128, 128, 64));
  ASSERT_EQ(graph.loop_groups().size(), 1U);
  EXPECT_EQ(graph.loop_groups()[0].kind, LoopGroupKind::row_blocks);
  EXPECT_EQ(graph.loop_groups()[0].axes, (Axes{0, 1})) << "heads, and rows of each";
  EXPECT_THAT(to_string(graph), HasSubstr("\nfused_row_blocks_matmul_"));
}

// x w v, of `rows` rows.
Graph layers(const Extent& rows, int64_t width = 16) {
  const Tensor h = matmul(input("x", f32, {rows, width}), weight("w", f32, {width, width}), "h");
  return Graph(matmul(h, weight("v", f32, {width, width}), "y"));
}
const Target kSmallL2 = Target::parse("x86-64-v3,cores=1,l2=4096");

TEST(ShareLoops, LayersOfAnMlp) {
  const Graph graph = shared(layers(100), kSmallL2);
  EXPECT_THAT(to_string(graph), HasSubstr("\nfused_row_blocks_matmul_matmul y over [m] {\n"));
  ASSERT_EQ(graph.loop_groups().size(), 1U);
  EXPECT_EQ(graph.loop_groups()[0].kind, LoopGroupKind::row_blocks);
  EXPECT_EQ(graph.loop_groups()[0].axes, Axes{0});
  EXPECT_EQ(names_of(graph.loop_groups()[0].members), (Names{"h", "y"}));
  EXPECT_EQ(to_string(share_loops(graph, kSmallL2)), to_string(graph)) << "twice is as once";
}

TEST(ShareLoops, SaysWhyLayersStayApart) {
  FusionReport report;
  EXPECT_TRUE(shared(layers(64), kSmallL2, &report).loop_groups().empty());
  EXPECT_EQ(to_string(report),
            "layer blocks, h -> y: not fused: expected more than 4096 bytes, which the L2 cache "
            "holds, between h and y, got 4096\n");
}

TEST(ShareLoops, WindowsOfStencils) {
  const Graph graph = shared(blur_graph(200, 24), small_cache(1));
  ASSERT_EQ(graph.loop_groups().size(), 1U);
  EXPECT_EQ(graph.loop_groups()[0].kind, LoopGroupKind::windows);
  EXPECT_EQ(names_of(graph.loop_groups()[0].members), (Names{"bx", "y"}));
}

TEST(ShareLoops, SumsThatWait) {
  PoolOptions halves;
  halves.window_h = halves.window_w = halves.stride_h = halves.stride_w = 2;
  const Graph graph = shared(Graph(avg_pool(input("x", f32, {1, 64, 64, 32}), halves, "y")));
  ASSERT_EQ(graph.loop_groups().size(), 1U);
  EXPECT_EQ(graph.loop_groups()[0].kind, LoopGroupKind::waiting_sums);
  EXPECT_EQ(graph.loop_groups()[0].axes, (Axes{0, 1, 2, 3}));
}

TEST(ShareLoops, AMoveBetweenTwoMembersIsOne) {
  const Axis i("i", 64), k("k", 96), r("r", 96);
  const Tensor x = input("x", f32, {64, 96});
  const Tensor e = exp(sub(x, reduce_max(x, {1}, true, "peak"), "d"), "e");
  const Tensor turned = transpose(transpose(e, {1, 0}, "t"), {1, 0}, "u");
  const Tensor total = compute("total", {i}, sum(r, turned(i, r)));
  const Graph graph = shared(Graph(compute("y", {i, k}, turned(i, k) / total(i))));
  ASSERT_EQ(graph.loop_groups().size(), 1U) << to_string(graph);
  EXPECT_EQ(names_of(graph.loop_groups()[0].members), (Names{"peak", "e", "t", "u", "total", "y"}));
}

TEST(ShareLoops, AMoveBehindTheLastMemberIsNone) {
  const Tensor y = softmax(input("x", f32, {64, 96}), -1, "y");
  const Graph graph = shared(Graph(exp(transpose(y, {1, 0}, "t"), "z")));
  ASSERT_EQ(graph.loop_groups().size(), 1U) << to_string(graph);
  EXPECT_EQ(graph.loop_groups()[0].members.back()->name, "y");
}

// What moves a result is behind the loops, and not one of them.
TEST(ShareLoops, AMoveBehindAResultIsNone) {
  const Tensor y = softmax(input("x", f32, {64, 96}), -1, "y"), z = relu(y, "z");
  const Graph graph = shared(Graph({z, exp(transpose(y, {1, 0}, "t"), "v")}));
  ASSERT_EQ(graph.loop_groups().size(), 1U) << to_string(graph);
  EXPECT_EQ(names_of(graph.loop_groups()[0].members), (Names{"y_max", "y_exp", "y_sum", "y", "z"}));
  EXPECT_EQ(to_string(share_loops(graph, kV3)), to_string(graph)) << "twice is as once";
  const Tensor turned = slice(y, {63, 0}, {-1, 96}, {-1, 1}, "t");
  const Graph two = shared(Graph({z, softmax(turned, -1, "v")}));
  ASSERT_EQ(two.loop_groups().size(), 2U) << to_string(two);
  EXPECT_EQ(names_of(two.loop_groups()[1].members), (Names{"v_max", "v_exp", "v_sum", "v"}));
}

TEST(ShareLoops, TheReportNamesResultsBesideTheLast) {
  FusionReport report;
  const Tensor y = softmax(input("x", f32, {64, 96}), -1, "y");
  shared(Graph({y, relu(y, "z")}), kV3, &report);
  const auto is_y = [](const FusionDecision& d) {
    return d.pattern == kSharedRows && d.producer == "y";
  };
  const auto y_in_z = std::find_if(report.decisions.begin(), report.decisions.end(), is_y);
  ASSERT_NE(y_in_z, report.decisions.end()) << to_string(report);
  EXPECT_TRUE(y_in_z->fused);
  EXPECT_EQ(y_in_z->consumer, "z");
}

// g stands between members, and is needed by the last one alone: it goes in front of them.
TEST(ShareLoops, MembersStandTogether) {
  const Axis i("i", 64), k("k", 96), r("r", 96);
  const Tensor x = input("x", f32, {64, 96}), w = input("w", f32, {64, 96});
  const Tensor total = compute("total", {i}, sum(r, x(i, r)));
  const Tensor g = matmul(w, input("v", f32, {96, 96}), "g");
  const Tensor y = compute("y", {i, k}, x(i, k) / total(i) + g.at({Expr(i), Expr(95) - k}));
  const Graph grouped = fuse_epilogues(Graph(y));
  EXPECT_EQ(names_of(grouped.ops()), (Names{"x", "w", "v", "total", "g", "y"}));
  const Graph graph = share_loops(grouped, kV3);
  EXPECT_EQ(names_of(graph.ops()), (Names{"x", "w", "v", "g", "total", "y"}));
  ASSERT_EQ(graph.loop_groups().size(), 1U);
  EXPECT_EQ(names_of(graph.loop_groups()[0].members), (Names{"total", "y"}));
}

TEST(ShareLoops, TwiceIsAsOnce) {
  std::vector<std::pair<std::string, Graph>> graphs = row_graphs(64, 100);
  for (const auto& one : attention_graphs(64, 64)) graphs.push_back(one);
  for (const auto& [name, graph] : graphs) {
    const Graph once = shared(graph);
    EXPECT_EQ(to_string(share_loops(once, kV3)), to_string(once)) << name;
  }
}

TEST(ShareLoops, AreTakenApartAgain) {
  const Graph graph = softmax_by_hand(64, 96);
  EXPECT_EQ(to_string(unfuse(shared(graph))), to_string(graph));
}

TEST(ShareLoops, TheReportSaysWhatWasShared) {
  FusionReport report;
  shared(softmax_by_hand(64, 96), kV3, &report);
  ASSERT_EQ(report.decisions.size(), 3U);
  for (const FusionDecision& decision : report.decisions) {
    EXPECT_EQ(decision.pattern, kSharedRows);
    EXPECT_EQ(decision.consumer, "y");
    EXPECT_TRUE(decision.fused);
  }
}

TEST(ShareLoops, TheReportNamesAllReadersOfAMove) {
  const Tensor t = transpose(input("x", f32, {4, 24, 16}), {1, 0, 2}, "t");
  FusionReport report;
  shared(Graph({relu(t, "y"), neg(t, "z"), tanh(t, "u")}), kV3, &report);
  ASSERT_EQ(report.decisions.size(), 1U);
  EXPECT_EQ(report.decisions[0].pattern, kReadThrough);
  EXPECT_EQ(report.decisions[0].consumer, "y");
  EXPECT_EQ(report.decisions[0].other_consumers, (Names{"z", "u"}));
}

// t0 is the last of 32 that are computed by rows of y; s is one more.
TEST(ShareLoops, SumsDoNotWaitForWhatIsInOtherLoops) {
  const Axis i("i", 64), j("j", 32), k("k", 5), r("r", 32);
  const Tensor s = compute("s", {i, j}, sum(k, input("x", f32, {5, 64, 32})(k, i, j)));
  Tensor t = exp(s, "t0");
  for (int n = 1; n <= 30; ++n) t = neg(t, "t" + std::to_string(n));
  const Tensor total = compute("total", {i}, sum(r, t(i, r)));
  const Graph graph(compute("y", {i, j}, t(i, j) / total(i)));
  const Graph found = share_loops(graph, kV3);
  ASSERT_EQ(found.loop_groups().size(), 1U);
  EXPECT_EQ(found.loop_groups()[0].members.front()->name, "t0");
  EXPECT_EQ(found.loop_groups()[0].members.size(), 33U);
  EXPECT_EQ(share_loops(Graph(t), kV3).loop_groups().size(), 1U) << "s waits for t0";
}

TEST(ShareLoops, NotWhatThePolicyDoesNotWant) {
  const LoopPolicy none = [](const LoopCandidate& /*candidate*/) {
    return std::optional<std::string>("expected another day");
  };
  FusionReport report;
  const Graph grouped = fuse_epilogues(softmax_by_hand(64, 96));
  EXPECT_TRUE(share_loops(grouped, kV3, none, &report).loop_groups().empty());
  ASSERT_EQ(report.decisions.size(), 3U);
  EXPECT_EQ(report.decisions[0].reason, "expected another day");
  EXPECT_FALSE(report.decisions[0].fused);
}

TEST(ShareLoops, NotTheGroupsOfAnotherPolicy) {
  const Graph graph = shared(softmax_by_hand(64, 96));
  const LoopPolicy none = [](const LoopCandidate& /*candidate*/) {
    return std::optional<std::string>("expected another day");
  };
  EXPECT_TRUE(share_loops(graph, kV3, none).loop_groups().empty());
}

TEST(ShareLoops, NotALayer) {
  EXPECT_TRUE(shares_nothing(
      Graph(relu(matmul(input("x", f32, {64, 96}), weight("w", f32, {96, 96})), "y"))));
}

TEST(ShareLoops, NotElementwiseOperations) {
  const Tensor x = input("x", f32, {64, 96});
  EXPECT_TRUE(shares_nothing(Graph({exp(x, "y"), neg(x, "z")})));
}

TEST(ShareLoops, NotASumAlone) {
  EXPECT_TRUE(shares_nothing(Graph(sum(input("x", f32, {64, 96}), {1}))));
}

// There short rows pay, too.
Target without_l2() {
  Target target = kV3;
  target.l2_bytes = 64;
  return target;
}

TEST(ShareLoops, KeepsASumOfEachRowThatIsAnOutput) {
  const Axis i("i", 64), k("k", 96), r("r", 96);
  const Tensor x = input("x", f32, {64, 96});
  const Tensor p = compute("p", {i}, sum(r, x(i, r)));
  const Graph graph = shared(Graph({compute("y", {i, k}, x(i, k) * p(i)), p}), without_l2());
  ASSERT_EQ(graph.loop_groups().size(), 1U);
  EXPECT_EQ(graph.loop_groups()[0].members.size(), 2U);
  const std::string text = to_string(graph);
  EXPECT_EQ(to_string(parse_graph(text)), text);
}

// In the graph it stands in front of the loops; then behind them.
TEST(ShareLoops, KeepsASumOfEachRowThatTheOutsideReads) {
  const Axis i("i", 64), k("k", 96), r("r", 96), t("t", 64);
  const Tensor x = input("x", f32, {64, 96});
  const Tensor p = compute("p", {i}, sum(r, x(i, r)));
  const Tensor turned = compute("z", {t}, p.at({Expr(63) - t}));
  const Graph graph = shared(Graph({turned, compute("y", {i, k}, x(i, k) * p(i))}), without_l2());
  ASSERT_EQ(graph.loop_groups().size(), 1U);
  EXPECT_EQ(graph.ops().back()->name, "z");
}

// q is whole rows.
TEST(ShareLoops, NotRowsThatAreAnOutput) {
  const Axis i("i", 64), k("k", 96), r("r", 96);
  const Tensor x = input("x", f32, {64, 96});
  const Tensor q = compute("q", {i, k}, exp(x(i, k)));
  const Tensor p = compute("p", {i}, sum(r, q(i, r)));
  const Graph graph = shared(Graph({compute("y", {i, k}, q(i, k) * p(i)), q}));
  ASSERT_EQ(graph.loop_groups().size(), 1U);
  EXPECT_EQ(graph.loop_groups()[0].members.size(), 2U);
}

// What the report says of an operation that could be in other loops; "" where it says nothing.
std::string said_of(const std::string& name, const Graph& graph, const Target& target = kV3) {
  FusionReport report;
  shared(graph, target, &report);
  std::string said;
  for (const FusionDecision& d : report.decisions) {
    if (d.producer != name || !d.needed_elsewhere) continue;
    EXPECT_FALSE(d.fused);
    EXPECT_EQ(said, "") << "once";
    said = d.pattern + " of " + d.consumer + ": " + d.reason;
  }
  return said;
}

TEST(ShareLoops, SaysThatRowsAreAnOutput) {
  const Graph all = softmax_by_hand(64, 96);
  EXPECT_EQ(said_of("p", Graph({Tensor(op_of(all, "y")), Tensor(op_of(all, "p"))})),
            "shared rows of total: expected p to be no output of the graph");
}

TEST(ShareLoops, SaysInWhoseLoopsItCouldBeOfSeveralReaders) {
  const Axis i("i", 64), k("k", 96), r("r", 96), t("t", 64);
  const Tensor x = input("x", f32, {64, 96});
  const Tensor q = compute("q", {i, k}, exp(x(i, k)));
  const Tensor p = compute("p", {i}, sum(r, q(i, r)));
  const Tensor turned = compute("z", {t, k}, q.at({Expr(63) - t, k}));
  EXPECT_EQ(said_of("q", Graph({turned, compute("y", {i, k}, x(i, k) * p(i)), q})),
            "shared rows of p: expected q to be no output of the graph");
}

TEST(ShareLoops, SaysThatRowsAreReadOutside) {
  const Axis i("i", 64), k("k", 96), r("r", 96), t("t", 64);
  const Tensor x = input("x", f32, {64, 96});
  const Tensor q = compute("q", {i, k}, exp(x(i, k)));
  const Tensor p = compute("p", {i}, sum(r, q(i, r)));
  const Tensor turned = compute("z", {t, k}, q.at({Expr(63) - t, k}));
  EXPECT_EQ(said_of("q", Graph({compute("y", {i, k}, x(i, k) * p(i)), turned})),
            "shared rows of p: expected q to be read in the same loops alone, got z outside of "
            "them");
}

TEST(ShareLoops, SaysThatTheRowsOfAContractionAreAnOutput) {
  const Tensor scores = input("s", f32, {4, 64, 64}), v = input("v", f32, {4, 64, 32});
  const Tensor p = softmax(scores, -1, "p");
  EXPECT_EQ(said_of("p", Graph(matmul(p, v, "y"))), "");
  EXPECT_EQ(said_of("p", Graph({matmul(p, v, "y"), p})),
            "shared rows of y: expected p to be no output of the graph");
}

TEST(ShareLoops, SaysThatALayerIsAnOutput) {
  const Graph graph = layers(100);
  const Graph both({Tensor(op_of(graph, "y")), Tensor(op_of(graph, "h"))});
  EXPECT_EQ(said_of("h", both, kSmallL2),
            "layer blocks of y: expected h to be no output of the graph");
  EXPECT_EQ(said_of("h", both), "") << "there it would not pay";
}

TEST(ShareLoops, SaysThatColumnsAreAnOutput) {
  const Axis i("i", 8), n("n", 64);
  const Tensor x = input("x", f32, {8, 64});
  const Tensor p = compute("p", {i, n}, exp(x(i, n)));
  const Graph graph({compute("y", {n}, sum(i, p(i, n))), p});
  EXPECT_EQ(said_of("p", graph), "shared columns of y: expected p to be no output of the graph");
}

TEST(ShareLoops, SaysThatAWindowIsAnOutput) {
  const Graph blur = blur_graph(200, 24);
  EXPECT_EQ(
      said_of("bx", Graph({Tensor(op_of(blur, "y")), Tensor(op_of(blur, "bx"))}), small_cache(1)),
      "sliding windows of y: expected bx to be no output of the graph");
}

TEST(ShareLoops, SaysThatARowInPiecesIsAnOutput) {
  const Graph graph = piece_graphs(2, 4, 8, 6)[3].second;
  const auto with = [&](const std::string& other) {
    return said_of(other, Graph({Tensor(op_of(graph, "y")), Tensor(op_of(graph, other))}));
  };
  EXPECT_EQ(with("powers"), "shared rows of total: expected powers to be no output of the graph");
  EXPECT_EQ(with("total"), "shared rows of y: expected total to be no output of the graph");
}

TEST(ShareLoops, SaysWhyRowsAreNotWorthIt) {
  const Graph graph = piece_graphs(2, 4, 2, 6)[3].second;
  FusionReport report;
  shared(graph, kV3, &report);
  std::map<std::string, std::string> reasons;
  for (const FusionDecision& d : report.decisions) {
    EXPECT_EQ(d.pattern, kSharedRows);
    EXPECT_FALSE(d.fused || d.needed_elsewhere);
    EXPECT_TRUE(reasons.emplace(d.producer, d.reason).second) << "once";
  }
  const std::string reason = "expected rows of y in pieces of at least 192 bytes, got 12 elements";
  EXPECT_EQ(reasons, (std::map<std::string, std::string>{
                         {"highest", reason}, {"powers", reason}, {"total", reason}}));
}

// Of a norm the mean is computed in rows of its own, whatever could have been.
TEST(ShareLoops, SaysNothingOfWhatIsInOtherRows) {
  const Graph graph = piece_graphs(2, 4, 2, 6)[0].second;
  FusionReport report;
  shared(graph, kV3, &report);
  std::set<std::string> producers;
  for (const FusionDecision& d : report.decisions) {
    EXPECT_TRUE(producers.insert(d.producer).second) << d.producer;
  }
  EXPECT_EQ(producers.count("mean_sum"), 1U);
}

TEST(ShareLoops, SaysNothingWhereItWouldNotPay) {
  const Graph blur = blur_graph(200, 24);
  EXPECT_EQ(said_of("bx", Graph({Tensor(op_of(blur, "y")), Tensor(op_of(blur, "bx"))})), "");
  const Graph narrow = softmax_by_hand(5, 7);  // fewer rows than lanes
  EXPECT_EQ(said_of("p", Graph({Tensor(op_of(narrow, "y")), Tensor(op_of(narrow, "p"))})), "");
}

TEST(ShareLoops, SaysNothingOfWhatIsComputedInRegisterTiles) {
  const Tensor mm = matmul(input("x", f32, {64, 96}), weight("w", f32, {96, 96}), "mm");
  EXPECT_EQ(said_of("mm", Graph({sum(mm, {1}, false, "y"), mm})), "");
}

TEST(ShareLoops, SaysNothingOfElementwiseOperations) {
  const Tensor e = exp(input("x", f32, {64, 96}), "e");
  EXPECT_EQ(said_of("e", Graph({neg(e, "y"), tanh(e, "z"), e})), "");
}

TEST(ShareLoops, SaysItOncePerOperation) {
  const Axis i("i", 64), r("r", 96);
  const Tensor e = exp(input("x", f32, {64, 96}), "e");
  std::vector<Tensor> outputs;
  for (int n = 0; n < 40; ++n) {
    outputs.push_back(compute("s" + std::to_string(n), {i}, sum(r, e(i, r))));
  }
  EXPECT_EQ(said_of("e", Graph(outputs)),
            "shared rows of s0: expected e to be read in the same loops alone, got s1 outside of "
            "them");
}

TEST(ShareLoops, NotWindowsThatTheCacheHolds) {
  EXPECT_TRUE(shares_nothing(blur_graph(200, 24), Target::parse("x86-64-v3,cores=1")));
}

}  // namespace
}  // namespace emulsion
