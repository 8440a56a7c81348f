#include "passes/fuse/fuse_epilogues.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/error.h"
#include "dsl/operators.h"
#include "tests/passes/op_of.h"

namespace emulsion {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const Axis m("m", 4), n("n", 8), k("k", 6);

Tensor dot(const std::string& name, const Tensor& x, const Tensor& w) {
  return compute(name, {m, n}, sum(k, x(m, k) * w(k, n)));
}

struct Linear {
  Tensor x = input("x", f32, {4, 6});
  Tensor w = weight("w", f32, {6, 8});
  Tensor b = weight("b", f32, {8});
  Tensor mm = dot("mm", x, w);
};

Tensor relu_of(const std::string& name, const Tensor& t) {
  return compute(name, {m, n}, max(t(m, n), 0.0f));
}

// The graph after the pass, verified; a second run must change nothing.
Graph fused(const Graph& graph, FusionReport* report = nullptr) {
  Graph result = fuse_epilogues(graph, always_fuse, report);
  verify_graph(result);
  Graph again = fuse_epilogues(result);
  EXPECT_EQ(again.ops(), result.ops());
  EXPECT_EQ(again.outputs(), result.outputs());
  return result;
}

std::vector<std::string> names(const std::vector<OpPtr>& ops) {
  std::vector<std::string> result;
  result.reserve(ops.size());
  for (const OpPtr& op : ops) result.push_back(op->name);
  return result;
}

std::vector<std::string> members(const Graph& graph, const std::string& group) {
  const OpPtr* found = graph.find(group);
  return found ? names((*found)->members) : std::vector<std::string>{"no such op"};
}

TEST(FuseEpilogues, ArgumentsKeepTheirOrder) {
  Linear l;
  const Graph graph(compute("y", {m, n}, l.b(n) + l.mm(m, n)));
  EXPECT_THAT(names(fused(graph).arguments()), ElementsAre("x", "w", "b"));
  const Graph stated = graph.arguments({l.b, l.x, l.w});
  EXPECT_THAT(names(fused(stated).arguments()), ElementsAre("b", "x", "w"));
}

// --- what fuses ---------------------------------------------------------------------------------

TEST(FuseEpilogues, MatmulBiasReluByHand) {
  Linear l;
  Tensor y = compute("y", {m, n}, max(l.mm(m, n) + l.b(n), 0.0f));
  Graph before(y);
  Graph after = fused(before);
  EXPECT_THAT(names(after.ops()), ElementsAre("x", "w", "b", "y"));
  const Op& group = *op_of(after, "y");
  EXPECT_EQ(group.kind, OpKind::fused);
  EXPECT_EQ(group.shape, y.shape());
  EXPECT_EQ(group.dtype, f32);
  EXPECT_THAT(group.members, ElementsAre(op_of(before, "mm"), op_of(before, "y")));
  EXPECT_EQ(after.outputs().front(), op_of(after, "y"));
}

TEST(FuseEpilogues, OperatorsFuseAsTheirComprehensions) {
  Linear l;
  Graph by_hand = fused(relu_of("y", compute("t", {m, n}, l.mm(m, n) + l.b(n))));
  Graph named = fused(relu(add(matmul(l.x, l.w, "mm"), l.b, "t"), "y"));
  EXPECT_THAT(members(by_hand, "y"), ElementsAre("mm", "t", "y"));
  EXPECT_EQ(members(named, "y"), members(by_hand, "y"));
}

TEST(FuseEpilogues, AChainOfFiveElementwiseOps) {
  Tensor t = input("x", f32, {4, 8});
  for (int i = 1; i <= 5; ++i) t = relu_of("t" + std::to_string(i), t);
  Graph after = fused(t);
  EXPECT_THAT(names(after.ops()), ElementsAre("x", "t5"));
  EXPECT_THAT(members(after, "t5"), ElementsAre("t1", "t2", "t3", "t4", "t5"));
}

TEST(FuseEpilogues, OneConsumerMayReadTheValueManyTimes) {
  Linear l;
  Graph after = fused(gelu(l.mm, Gelu::tanh, "y"));
  EXPECT_THAT(members(after, "y"), ElementsAre("mm", "y"));
}

TEST(FuseEpilogues, ConvolutionWithItsEpilogue) {
  Tensor x = input("x", f32, {1, 6, 6, 3}), w = weight("w", f32, {3, 3, 3, 5});
  Tensor b = weight("b", f32, {5});
  Graph after = fused(relu(add(conv2d(x, w, {}, "c"), b, "t"), "y"));
  EXPECT_THAT(members(after, "y"), ElementsAre("c", "t", "y"));
}

TEST(FuseEpilogues, BiasOnTheRowsOfASquareProduct) {
  Axis i("i", 4), j("j", 4), r("r", 4);
  Tensor x = input("x", f32, {4, 4}), w = weight("w", f32, {4, 4}), b = weight("b", f32, {4});
  Tensor mm = compute("mm", {i, j}, sum(r, x(i, r) * w(r, j)));
  Graph before(compute("y", {i, j}, mm(i, j) + b(i)));
  Graph after = fused(before);
  ASSERT_THAT(members(after, "y"), ElementsAre("mm", "y"));
  EXPECT_EQ(op_of(after, "y")->members.at(1), op_of(before, "y"));  // still reads b[i]
}

TEST(FuseEpilogues, AnOperandMayBeReadTransposed) {
  Axis i("i", 4), j("j", 4), r("r", 4);
  Tensor x = input("x", f32, {4, 4}), w = weight("w", f32, {4, 4});
  Tensor mm = compute("mm", {i, j}, sum(r, x(i, r) * w(r, j)));
  Graph after = fused(compute("y", {i, j}, mm(i, j) + x(j, i)));
  EXPECT_THAT(members(after, "y"), ElementsAre("mm", "y"));
}

TEST(FuseEpilogues, AxesMayHaveOtherNames) {
  Linear l;
  Axis rows("rows", 4), columns("columns", 8);
  Graph after = fused(compute("y", {rows, columns}, exp(l.mm(rows, columns))));
  EXPECT_THAT(members(after, "y"), ElementsAre("mm", "y"));
}

TEST(FuseEpilogues, CastsStay) {
  Linear l;
  Tensor wide = cast(l.mm, f64, "wide");
  Graph after = fused(cast(mul(wide, wide, "square"), f32, "y"));
  EXPECT_THAT(members(after, "square"), ElementsAre("no such op"));  // inside y
  EXPECT_THAT(members(after, "y"), ElementsAre("mm", "wide", "square", "y"));
  std::vector<DType> types;
  for (const OpPtr& member : op_of(after, "y")->members) types.push_back(member->dtype);
  EXPECT_THAT(types, ElementsAre(f32, f64, f64, f32));
  EXPECT_EQ(op_of(after, "y")->dtype, f32);
}

TEST(FuseEpilogues, AGroupHasTheTypeAndTheShapeOfItsResult) {
  const Tensor x = input("x", i32, {4, 6}), w = weight("w", i32, {6, 8});
  Tensor scaled = compute("scaled", {m, n}, cast(f32, dot("mm", x, w)(m, n)) * 0.5f);
  const Graph after = fused(Graph(scaled));
  const Op& group = *op_of(after, "scaled");
  EXPECT_EQ(group.kind, OpKind::fused);
  EXPECT_EQ(group.dtype, f32);
  EXPECT_EQ(group.members.front()->dtype, i32);
}

TEST(FuseEpilogues, RunTimeAndEmptyExtents) {
  Axis b("b", Extent::size("B")), none("none", 0);
  Tensor x = input("x", f32, {Extent::size("B"), 0}), w = weight("w", f32, {0, 8});
  Tensor mm = compute("mm", {b, n}, sum(none, x(b, none) * w(none, n)));
  EXPECT_THAT(members(fused(compute("y", {b, n}, max(mm(b, n), 0.0f))), "y"),
              ElementsAre("mm", "y"));
}

TEST(FuseEpilogues, RankZero) {
  Tensor s = input("s", f32, {});
  Graph after = fused(exp(neg(s, "t"), "y"));
  EXPECT_THAT(members(after, "y"), ElementsAre("t", "y"));
}

TEST(FuseEpilogues, ResidualWithOneContractionAndAnElementwiseBranch) {
  Linear l;
  Tensor skip = relu_of("skip", input("r", f32, {4, 8}));
  Graph after = fused(compute("y", {m, n}, skip(m, n) + l.mm(m, n)));
  EXPECT_THAT(members(after, "y"), ::testing::UnorderedElementsAre("skip", "mm", "y"));
  EXPECT_EQ(op_of(after, "y")->members.back()->name, "y");
}

TEST(FuseEpilogues, OfTwoContractionsTheFirstThatIsRead) {
  Linear l;
  Tensor other = dot("other", input("x2", f32, {4, 6}), weight("w2", f32, {6, 8}));
  FusionReport report;
  Graph after = fused(relu_of("y", compute("t", {m, n}, l.mm(m, n) + other(m, n))), &report);
  EXPECT_THAT(members(after, "y"), ElementsAre("mm", "t", "y"));
  EXPECT_EQ(op_of(after, "other")->kind, OpKind::compute);
  EXPECT_EQ(report.fused_count(), 2);
  EXPECT_THAT(to_string(report), HasSubstr("other -> t: not fused: expected at most one "
                                           "contraction in a group, got mm and other"));
}

TEST(FuseEpilogues, LayersFollowEachOther) {
  Axis p("p", 8), q("q", 3);
  Linear l;
  Tensor hidden = relu_of("hidden", l.mm);
  Tensor w2 = weight("w2", f32, {8, 3});
  Tensor mm2 = compute("mm2", {m, q}, sum(p, hidden(m, p) * w2(p, q)));
  Graph after = fused(compute("y", {m, q}, exp(mm2(m, q))));
  EXPECT_THAT(names(after.ops()), ElementsAre("x", "w", "w2", "hidden", "y"));
  EXPECT_THAT(members(after, "hidden"), ElementsAre("mm", "hidden"));
  EXPECT_THAT(members(after, "y"), ElementsAre("mm2", "y"));
  EXPECT_THAT(operands(*op_of(after, "y")),
              ElementsAre(op_of(after, "hidden"), op_of(after, "w2")));
}

TEST(FuseEpilogues, SharedWeightsAndInputs) {
  Linear l;
  Tensor second = dot("second", l.x, l.w);
  Graph after(fused(Graph(std::vector<Tensor>{relu_of("y1", l.mm), relu_of("y2", second)})));
  EXPECT_THAT(members(after, "y1"), ElementsAre("mm", "y1"));
  EXPECT_THAT(members(after, "y2"), ElementsAre("second", "y2"));
}

TEST(FuseEpilogues, AFurtherConsumerJoinsAGroup) {
  Linear l;
  Graph before(relu_of("y", compute("t", {m, n}, l.mm(m, n) + l.b(n))));
  OpPtr first = fuse(op_of(before, "mm"), op_of(before, "t"));
  EXPECT_THAT(names(first->members), ElementsAre("mm", "t"));
  OpPtr reads_group = replace_reads(op_of(before, "y"), {{op_of(before, "t").get(), first}});
  Graph half({op_of(before, "x"), op_of(before, "w"), op_of(before, "b"), first, reads_group},
             {reads_group});
  verify_graph(half);
  EXPECT_EQ(why_not_fusable(half, *first, *reads_group), std::nullopt);
  EXPECT_THAT(names(fuse(first, reads_group)->members), ElementsAre("mm", "t", "y"));
  EXPECT_THAT(members(fused(half), "y"), ElementsAre("mm", "t", "y"));
}

TEST(FuseEpilogues, AGroupGrowsWhileWhatItReadsIsFused) {
  Axis p("p", 8), q("q", 3);
  Linear l;
  Tensor hidden = relu_of("hidden", l.mm), w2 = weight("w2", f32, {8, 3});
  Tensor mm2 = compute("mm2", {m, q}, sum(p, hidden(m, p) * w2(p, q)));
  Tensor t = compute("t", {m, q}, exp(mm2(m, q)));
  Graph before(compute("y", {m, q}, t(m, q) * 2.0f));
  OpPtr group = fuse(op_of(before, "mm2"), op_of(before, "t"));
  OpPtr y = replace_reads(op_of(before, "y"), {{op_of(before, "t").get(), group}});
  std::vector<OpPtr> ops;
  for (const char* name : {"x", "w", "mm", "hidden", "w2"}) ops.push_back(op_of(before, name));
  ops.push_back(group);
  ops.push_back(y);
  Graph after = fused(Graph(ops, {y}));
  EXPECT_THAT(members(after, "hidden"), ElementsAre("mm", "hidden"));
  EXPECT_THAT(members(after, "y"), ElementsAre("mm2", "t", "y"));
}

// --- what stays as it is ------------------------------------------------------------------------

TEST(FuseEpilogues, NothingToFuseGivesTheSameNodes) {
  Linear l;
  Graph before(l.mm);
  Graph after = fused(before);
  EXPECT_EQ(after.ops(), before.ops());
  EXPECT_EQ(after.outputs(), before.outputs());
}

TEST(FuseEpilogues, OpsBesideAGroupAreTheSameNodes) {
  Linear l;
  Tensor total = sum(input("z", f32, {4, 8}), {1}, false, "total");
  Graph before(std::vector<Tensor>{relu_of("y", l.mm), total});
  Graph after = fused(before);
  for (const char* name : {"x", "w", "z", "total"}) {
    EXPECT_EQ(op_of(after, name), op_of(before, name)) << name;
  }
}

TEST(FuseEpilogues, OutputsKeepTheirOrder) {
  Linear l;
  Tensor first = relu_of("first", input("z", f32, {4, 8}));
  Graph before(std::vector<Tensor>{relu_of("y", l.mm), first});
  EXPECT_THAT(names(fused(before).outputs()), ElementsAre("y", "first"));
}

TEST(FuseEpilogues, APolicyDecides) {
  Linear l;
  Graph before(relu_of("y", compute("t", {m, n}, l.mm(m, n) + l.b(n))));
  std::vector<std::string> asked;
  auto policy = [&](const FusionCandidate& candidate) -> std::optional<std::string> {
    asked.push_back(candidate.pattern + ", " + candidate.producer.name + ">" +
                    candidate.consumer.name + ": " + std::to_string(candidate.members));
    if (candidate.producer.name == "mm") return std::nullopt;
    return "expected mm, got " + candidate.producer.name;
  };
  FusionReport report;
  Graph after = fuse_epilogues(before, policy, &report);
  verify_graph(after);
  EXPECT_THAT(asked, ElementsAre("contraction epilogue, mm>t: 2", "elementwise chain, t>y: 3"));
  EXPECT_THAT(members(after, "t"), ElementsAre("mm", "t"));
  EXPECT_EQ(op_of(after, "y")->kind, OpKind::compute);
  EXPECT_THAT(to_string(report),
              HasSubstr("elementwise chain, t -> y: not fused: expected mm, got t"));
}

TEST(FuseEpilogues, APolicyIsNotAskedWhatIsIllegal) {
  Linear l;
  Graph before(std::vector<Tensor>{l.mm, relu_of("y", l.mm)});
  Graph after = fuse_epilogues(before, [](const FusionCandidate&) -> std::optional<std::string> {
    throw InternalError("asked");
  });
  EXPECT_EQ(after.ops(), before.ops());
}

TEST(FuseEpilogues, StopsAtItsStepLimit) {
  Tensor t = input("x", f32, {4, 8});
  for (int i = 1; i <= 5; ++i) t = relu_of("t" + std::to_string(i), t);
  EXPECT_NO_THROW(fuse_epilogues(t, always_fuse, nullptr, 4));
  EXPECT_THAT([&] { fuse_epilogues(t, always_fuse, nullptr, 3); },
              ThrowsMessage<InternalError>(HasSubstr("more than 3 steps")));
}

// --- graphs that are large ----------------------------------------------------------------------

TEST(FuseEpilogues, TenThousandOpsInARow) {
  Tensor t = input("x", f32, {4, 8});
  for (int i = 0; i < 10000; ++i) t = relu_of("t" + std::to_string(i), t);
  FusionReport report;
  Graph after = fuse_epilogues(t, always_fuse, &report);
  // Two operations each, and one read: groups of 499.
  EXPECT_EQ(after.ops().size(), 22u);
  for (const OpPtr& op : after.ops()) {
    EXPECT_LE(op->members.size(), 499u) << op->name;
  }
  EXPECT_EQ(report.decisions.at(497).reason, "");
  EXPECT_EQ(report.decisions.at(498).reason,
            "expected at most 1000 operations when t498 is written out in t499, got 1001");
}

TEST(FuseEpilogues, AnOperandThatIsReadTwiceCountsTwice) {
  Tensor t = input("x", f32, {4, 8});
  for (int i = 0; i < 64; ++i) {
    t = compute("t" + std::to_string(i), {m, n}, t(m, n) * t(m, n));
  }
  // A group of 8: 2^8 reads.
  EXPECT_EQ(fused(t).ops().size(), 9u);
}

TEST(FuseEpilogues, ThousandsOfGroupsInARow) {
  Axis p("p", 8);
  Tensor w = weight("w", f32, {8, 8}), t = input("x", f32, {4, 8});
  for (int i = 0; i < 1000; ++i) {
    std::string suffix = std::to_string(i);
    t = relu_of("y" + suffix, compute("mm" + suffix, {m, n}, sum(p, t(m, p) * w(p, n))));
  }
  Graph after = fused(t);
  EXPECT_EQ(after.ops().size(), 1002u);
}

TEST(FuseEpilogues, ThousandsOfUsersOfOneOp) {
  Linear l;
  std::vector<Tensor> outputs;
  outputs.reserve(5000);
  for (int i = 0; i < 5000; ++i) outputs.push_back(relu_of("y" + std::to_string(i), l.mm));
  FusionReport report;
  Graph after = fused(Graph(outputs), &report);
  EXPECT_EQ(after.ops().size(), 5003u);
  EXPECT_EQ(report.decisions.size(), 5000u);
  EXPECT_EQ(report.fused_count(), 0);
  EXPECT_THAT(report.decisions[0].reason, HasSubstr("got 5000 (y0, y1, y2, ..)"));
}

}  // namespace
}  // namespace emulsion
