// What does not fuse, one test a reason: the rule itself, and that the pass leaves the graph alone.

#include "passes/fuse/fusion_legality.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/error.h"
#include "dsl/operators.h"
#include "passes/fuse/fuse_epilogues.h"
#include "tests/passes/op_of.h"

namespace emulsion {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const Axis m("m", 4), n("n", 8), k("k", 6);

Tensor dot(const std::string& name, const Tensor& x, const Tensor& w) {
  return compute(name, {m, n}, sum(k, x(m, k) * w(k, n)));
}

class DoesNotFuse : public ::testing::Test {
 protected:
  Tensor x = input("x", f32, {4, 6});
  Tensor w = weight("w", f32, {6, 8});
  Tensor mm = dot("mm", x, w);

  static Tensor relu_of(const std::string& name, const Tensor& t) {
    return compute(name, {m, n}, max(t(m, n), 0.0f));
  }

  // Why `consumer` cannot take in `producer`; empty when it can.
  static std::string why_not(const Graph& graph, const std::string& producer,
                             const std::string& consumer) {
    return why_not_fusable(graph, *op_of(graph, producer), *op_of(graph, consumer)).value_or("");
  }

  // The reason is the expected one, and the pass leaves both ops alone and reports the same.
  static void expect_refused(const Graph& graph, const std::string& producer,
                             const std::string& consumer, const std::string& cause) {
    std::string reason = why_not(graph, producer, consumer);
    EXPECT_THAT(reason, HasSubstr(cause));
    EXPECT_EQ(reason.rfind("expected ", 0), 0u) << reason;
    FusionReport report;
    Graph after = fuse_epilogues(graph, always_fuse, &report);
    verify_graph(after);
    const OpPtr* kept = after.find(producer);
    ASSERT_NE(kept, nullptr) << producer << " was fused";
    EXPECT_EQ(*kept, op_of(graph, producer));
    bool reported = false;
    for (const FusionDecision& d : report.decisions) {
      if (d.producer != producer || d.consumer != consumer) continue;
      reported = true;
      EXPECT_FALSE(d.fused);
      EXPECT_EQ(d.reason, reason);
    }
    EXPECT_TRUE(reported);
  }
};

TEST_F(DoesNotFuse, WhenMatmulHasTwoUsers) {
  Graph graph(std::vector<Tensor>{relu_of("y", mm), relu_of("z", mm)});
  expect_refused(graph, "mm", "y", "expected mm to have one user, got 2 (y, z)");
  expect_refused(graph, "mm", "z", "expected mm to have one user");
}

TEST_F(DoesNotFuse, WhenMatmulIsAnOutput) {
  Graph graph(std::vector<Tensor>{relu_of("y", mm), mm});
  expect_refused(graph, "mm", "y", "expected mm to be no output of the graph");
}

TEST_F(DoesNotFuse, WhenAnIntermediateOfAChainIsAnOutput) {
  Tensor t = relu_of("t", mm);
  Graph graph(std::vector<Tensor>{t, relu_of("y", t)});
  EXPECT_THAT(why_not(graph, "t", "y"), HasSubstr("expected t to be no output"));
  Graph after = fuse_epilogues(graph);
  verify_graph(after);
  EXPECT_EQ(op_of(after, "t")->members.size(), 2u);  // with mm: that much is legal
  EXPECT_EQ(op_of(after, "y")->kind, OpKind::compute);
  EXPECT_EQ(operands(*op_of(after, "y")).front(), op_of(after, "t"));
}

TEST_F(DoesNotFuse, TheTopOfADiamondWithASideThatIsAnOutput) {
  Tensor left = relu_of("left", mm);
  Tensor right = compute("right", {m, n}, exp(mm(m, n)));
  Graph graph(std::vector<Tensor>{compute("y", {m, n}, left(m, n) * right(m, n)), right});
  expect_refused(graph, "mm", "left", "got 2 (left, right)");
  Graph after = fuse_epilogues(graph);
  EXPECT_EQ(op_of(after, "y")->members.size(), 2u);  // left and y
}

TEST_F(DoesNotFuse, TheTopOfADiamondWithAShortSideThatIsAnOutput) {
  Tensor gate = compute("gate", {m, n}, tanh(mm(m, n)));
  Graph graph(std::vector<Tensor>{compute("y", {m, n}, mm(m, n) * gate(m, n)), gate});
  expect_refused(graph, "mm", "gate", "got 2 (gate, y)");
  expect_refused(graph, "mm", "y", "got 2 (gate, y)");
}

TEST_F(DoesNotFuse, TwoContractions) {
  Tensor other = dot("other", input("x2", f32, {4, 6}), weight("w2", f32, {6, 8}));
  Graph graph(compute("y", {m, n}, mm(m, n) + other(m, n)));
  Graph after = fuse_epilogues(graph);
  EXPECT_THAT(why_not_fusable(after, *op_of(after, "other"), *op_of(after, "y")).value_or(""),
              HasSubstr("expected at most one contraction in a group, got mm and other"));
}

TEST_F(DoesNotFuse, AGroupWithAContractionIntoOneThatHasAnother) {
  Tensor other = relu_of("other_y", dot("other", input("x2", f32, {4, 6}), w));
  Graph graph(compute("y", {m, n}, mm(m, n) + other(m, n)));
  Graph after = fuse_epilogues(graph);
  verify_graph(after);
  EXPECT_THAT(why_not(after, "other_y", "y"), HasSubstr("got mm and other"));
}

TEST_F(DoesNotFuse, AReductionAsProducer) {
  Tensor s = compute("s", {m}, sum(k, x(m, k)));
  expect_refused(compute("y", {m}, exp(s(m))), "s", "y",
                 "expected a contraction or an elementwise producer, got reduction s");
}

TEST_F(DoesNotFuse, DataMovementAsProducer) {
  Tensor t = compute("t", {n, m}, mm(m, n));
  expect_refused(compute("y", {n, m}, exp(t(n, m))), "t", "y", "got data movement t");
}

TEST_F(DoesNotFuse, AReductionAsConsumer) {
  expect_refused(compute("s", {m}, sum(n, mm(m, n))), "mm", "s",
                 "expected an elementwise consumer, got reduction s");
}

TEST_F(DoesNotFuse, AContractionAsConsumer) {
  Axis q("q", 3);
  Tensor w2 = weight("w2", f32, {8, 3});
  Tensor hidden = relu_of("hidden", input("z", f32, {4, 8}));
  expect_refused(compute("mm2", {m, q}, sum(n, hidden(m, n) * w2(n, q))), "hidden", "mm2",
                 "expected an elementwise consumer, got contraction mm2");
}

TEST_F(DoesNotFuse, DataMovementAsConsumer) {
  expect_refused(transpose(mm, {}, "t"), "mm", "t",
                 "expected an elementwise consumer, got data movement t");
}

TEST_F(DoesNotFuse, WhenTheConsumerReadsOnlyAPart) {
  Axis few("few", 3);
  expect_refused(compute("y", {few, n}, exp(mm(few, n))), "mm", "y",
                 "expected y of the shape of mm, [4, 8], got [3, 8]");
}

TEST_F(DoesNotFuse, WhenTheConsumerBroadcasts) {
  Axis copies("copies", 2);
  expect_refused(compute("y", {copies, m, n}, exp(mm(m, n))), "mm", "y",
                 "expected y of the shape of mm, [4, 8], got [2, 4, 8]");
}

TEST_F(DoesNotFuse, WhenASquareMatmulIsReadTransposed) {
  Axis i("i", 4), j("j", 4), r("r", 4);
  Tensor a = input("a", f32, {4, 4}), b = input("b", f32, {4, 4});
  Tensor square = compute("square", {i, j}, sum(r, a(i, r) * b(r, j)));
  expect_refused(compute("y", {i, j}, exp(square(j, i))), "square", "y",
                 "expected y to read square at its own axes [i, j], got square[j, i]");
}

TEST_F(DoesNotFuse, WhenOneOfTwoReadsIsTransposed) {
  Axis i("i", 4), j("j", 4), r("r", 4);
  Tensor a = input("a", f32, {4, 4}), b = input("b", f32, {4, 4});
  Tensor square = compute("square", {i, j}, sum(r, a(i, r) * b(r, j)));
  expect_refused(compute("y", {i, j}, square(i, j) + square(j, i)), "square", "y",
                 "got square[j, i]");
}

TEST_F(DoesNotFuse, WhenOnlyTheLastIndexIsTheConsumersOwn) {
  const Axis i("i", 4), j("j", 4), l("l", 4);
  const Tensor cube = input("cube", f32, {4, 4, 4});
  Tensor t = compute("t", {i, j, l}, cube(i, j, l) + 1.0f);
  expect_refused(compute("y", {i, j, l}, exp(t(j, i, l))), "t", "y",
                 "expected y to read t at its own axes [i, j, l], got t[j, i, l]");
}

TEST_F(DoesNotFuse, WhenOneElementIsBroadcastOverAnExtentOfOne) {
  Axis one("one", 1);
  Tensor t = compute("t", {one}, input("s", f32, {1})(one) + 1.0f);
  expect_refused(compute("y", {one}, t(0) * 2.0f), "t", "y",
                 "expected y to read t at its own axes");
}

TEST_F(DoesNotFuse, AnInputAsProducer) {
  EXPECT_THAT(why_not(relu_of("y", mm), "x", "mm"),
              HasSubstr("expected a producer that is computed, got input x"));
  EXPECT_THAT(why_not(relu_of("y", mm), "w", "mm"), HasSubstr("got weight w"));
}

TEST_F(DoesNotFuse, AnInputAsConsumer) {
  EXPECT_THAT(why_not(relu_of("y", mm), "mm", "x"),
              HasSubstr("expected a consumer that is computed, got input x"));
}

TEST_F(DoesNotFuse, WhatIsNotRead) {
  Tensor t = relu_of("t", mm);
  EXPECT_THAT(why_not(relu_of("y", t), "mm", "y"), HasSubstr("expected y to read mm"));
}

TEST_F(DoesNotFuse, AnOpOfAnotherGraph) {
  Graph graph(relu_of("y", mm));
  Graph empty(input("z", f32, {4}));
  EXPECT_THAT(why_not_fusable(empty, *op_of(graph, "mm"), *op_of(graph, "y")).value_or(""),
              HasSubstr("expected mm to have one user, got 0"));
}

TEST_F(DoesNotFuse, AfterTwoOfThreeUsersBecameOneGroup) {
  Tensor gate = compute("gate", {m, n}, tanh(mm(m, n)));
  Tensor y = compute("y", {m, n}, mm(m, n) * gate(m, n));
  Graph after = fuse_epilogues(Graph(std::vector<Tensor>{y, relu_of("z", mm)}));
  ASSERT_EQ(op_of(after, "y")->members.size(), 2u);  // gate and y, both reading mm
  expect_refused(after, "mm", "y", "got 3 (gate, y, z)");
}

TEST_F(DoesNotFuse, ByForce) {
  Tensor s = compute("s", {m}, sum(k, x(m, k)));
  Graph graph(compute("y", {m}, exp(s(m))));
  EXPECT_THAT([&] { fuse(op_of(graph, "s"), op_of(graph, "y")); },
              ThrowsMessage<InternalError>(HasSubstr("fuse s into y: expected a contraction")));
  EXPECT_THAT([&] { fuse(op_of(graph, "x"), op_of(graph, "s")); },
              ThrowsMessage<InternalError>(HasSubstr("got input x")));
}

TEST_F(DoesNotFuse, TwoContractionsByForce) {
  Tensor other = dot("other", input("x2", f32, {4, 6}), weight("w2", f32, {6, 8}));
  Graph after = fuse_epilogues(compute("y", {m, n}, mm(m, n) + other(m, n)));
  EXPECT_THAT([&] { fuse(op_of(after, "other"), op_of(after, "y")); },
              ThrowsMessage<InternalError>(HasSubstr("at most one contraction")));
}

TEST(FusionLegality, FindsTheContractionOfAGroup) {
  Tensor x = input("x", f32, {4, 6}), w = weight("w", f32, {6, 8});
  Graph graph(relu(dot("mm", x, w), "y"));
  FusionLegality legality(graph);
  EXPECT_EQ(legality.contraction_in(*op_of(graph, "mm")), op_of(graph, "mm").get());
  EXPECT_EQ(legality.contraction_in(*op_of(graph, "y")), nullptr);
  EXPECT_EQ(legality.edge_count(), 3u);
  Graph after = fuse_epilogues(graph);
  EXPECT_EQ(legality.contraction_in(*op_of(after, "y")), op_of(graph, "mm").get());
}

}  // namespace
}  // namespace emulsion
