// Values with several users, all of which come into one group.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/operators.h"
#include "passes/fuse/fuse_epilogues.h"
#include "tests/passes/op_of.h"

namespace emulsion {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Axis m("m", 4), n("n", 8), k("k", 6);

Tensor product(const std::string& name, const std::string& operands) {
  const Tensor x = input("x" + operands, f32, {4, 6}), w = weight("w" + operands, f32, {6, 8});
  return compute(name, {m, n}, sum(k, x(m, k) * w(k, n)));
}

// The graph after the pass, verified; a second run must change nothing.
Graph fused(const Graph& graph, FusionReport* report = nullptr) {
  Graph result = fuse_epilogues(graph, always_fuse, report);
  verify_graph(result);
  EXPECT_EQ(fuse_epilogues(result).ops(), result.ops());
  return result;
}

// The members of a group, or the operation alone.
std::vector<std::string> members(const Graph& graph, const std::string& name) {
  std::vector<std::string> names;
  for (const OpPtr& member : op_of(graph, name)->members) names.push_back(member->name);
  return names;
}

TEST(FuseEpiloguesShared, AProductTimesItsOwnSigmoid) {
  const Tensor mm = product("mm", "");
  FusionReport report;
  const Graph after = fused(mul(mm, sigmoid(mm, "gate"), "y"), &report);
  EXPECT_THAT(members(after, "y"), ElementsAre("mm", "gate", "y"));
  EXPECT_EQ(after.ops().size(), 3U) << "x, w and the group";
  EXPECT_EQ(to_string(report),
            "elementwise chain, gate -> y: fused\ncontraction epilogue, mm -> y: fused\n");
}

TEST(FuseEpiloguesShared, WhatStandsBeforeAndBehindThemComesToo) {
  const Tensor b = weight("b", f32, {8});
  const Tensor t = add(product("mm", ""), b, "t");
  const Graph after = fused(relu(mul(t, sigmoid(t, "gate"), "silu"), "y"));
  EXPECT_THAT(members(after, "y"), ElementsAre("mm", "t", "gate", "silu", "y"));
}

TEST(FuseEpiloguesShared, TheLastOneNeedNotReadThem) {
  const Tensor t = relu(input("x", f32, {4, 8}), "t");
  const Graph after = fused(add(tanh(t, "a"), sigmoid(t, "b"), "y"));
  EXPECT_THAT(members(after, "y"), ElementsAre("t", "a", "b", "y"));
}

TEST(FuseEpiloguesShared, OneInsideOfAnother) {
  const Tensor t = relu(input("x", f32, {4, 8}), "t");
  const Tensor u = mul(t, tanh(t, "a"), "u");
  const Graph after = fused(sub(mul(u, exp(u, "e"), "v"), t, "y"));
  EXPECT_THAT(members(after, "y"), ElementsAre("t", "a", "u", "e", "v", "y"));
}

TEST(FuseEpiloguesShared, AGroupThatIsThereTakesThem) {
  const Tensor t = relu(input("x", f32, {4, 8}), "t");
  const Tensor gate = sigmoid(t, "gate"), y = mul(t, gate, "y");
  const OpPtr group = fuse(gate.op(), y.op());
  const Graph before({t.op()->body->args[0]->tensor, t.op(), group}, {group});
  EXPECT_EQ(why_not_fusable(before, *t.op(), *group).value_or(""), "") << "it has both users";
  const Graph after = fused(before);
  EXPECT_THAT(members(after, "y"), ElementsAre("t", "gate", "y"));
}

// p has all its users when q, with all that waits for others of its own, comes in.
TEST(FuseEpiloguesShared, TwoAtOnce) {
  const Tensor x = input("x", f32, {4, 8});
  std::vector<Tensor> outputs = {Tensor()};
  Expr sum_of_three = constant(f32, 0);
  for (const char* number : {"1", "2", "3"}) {
    const Tensor r = tanh(x, std::string("r") + number);
    outputs.push_back(exp(r, std::string("z") + number));
    sum_of_three = sum_of_three + r(m, n);
  }
  const Tensor p = relu(x, "p"), q = compute("q", {m, n}, sum_of_three);
  const Tensor a = exp(p, "a"), b = exp(q, "b");
  outputs[0] = compute("y", {m, n}, a(m, n) + p(m, n) + b(m, n) + q(m, n));
  EXPECT_THAT(members(fused(Graph(outputs)), "y"), ElementsAre("p", "a", "q", "b", "y"));
}

TEST(FuseEpiloguesShared, AUserOutsideKeepsTheValueStored) {
  const Tensor t = relu(input("x", f32, {4, 8}), "t");
  const Tensor y = mul(t, sigmoid(t, "gate"), "y");
  FusionReport report;
  const Graph after = fused(Graph(std::vector<Tensor>{y, exp(t, "z")}), &report);
  EXPECT_THAT(members(after, "y"), ElementsAre("gate", "y"));
  EXPECT_TRUE(members(after, "t").empty());
  EXPECT_THAT(to_string(report), HasSubstr("t -> y: not fused: expected t to have one user, got 3 "
                                           "(gate, y, z)"));
}

TEST(FuseEpiloguesShared, AnOutputStaysStored) {
  const Tensor t = relu(input("x", f32, {4, 8}), "t");
  FusionReport report;
  const Graph after =
      fused(Graph(std::vector<Tensor>{t, mul(t, sigmoid(t, "gate"), "y")}), &report);
  EXPECT_THAT(members(after, "y"), ElementsAre("gate", "y"));
  EXPECT_THAT(to_string(report), HasSubstr("t -> y: not fused: expected t to be no output"));
}

TEST(FuseEpiloguesShared, AReaderOfOtherElementsKeepsTheValueStored) {
  const Tensor t = relu(input("x", f32, {8, 8}), "t");
  const Axis i("i", 8), j("j", 8);
  const Tensor turned = compute("turned", {i, j}, exp(t(j, i)));
  FusionReport report;
  EXPECT_THAT(members(fused(mul(t, turned, "y"), &report), "y"), ElementsAre("turned", "y"));
  EXPECT_THAT(to_string(report), HasSubstr("expected turned to read t at its own axes"));
  const Tensor total = sum(t, {1}, true, "total");
  EXPECT_TRUE(members(fused(div(t, total, "y")), "y").empty()) << "a sum is no part of a group";
}

TEST(FuseEpiloguesShared, AtMostOneOfThemIsAContraction) {
  const Tensor a = product("a", "1"), b = product("b", "2");
  FusionReport report;
  const Graph after = fused(add(mul(b, sigmoid(b, "gate"), "silu"), a, "y"), &report);
  EXPECT_THAT(members(after, "y"), ElementsAre("b", "gate", "silu", "y"));
  EXPECT_THAT(to_string(report),
              HasSubstr("a -> y: not fused: expected at most one contraction in a group"));
}

TEST(FuseEpiloguesShared, APolicyIsAskedOnceAllUsersAreThere) {
  const Tensor mm = product("mm", "");
  const Graph before(mul(mm, sigmoid(mm, "gate"), "y"));
  std::vector<std::string> asked;
  FusionReport report;
  const auto policy = [&](const FusionCandidate& c) -> std::optional<FusionRefusal> {
    asked.push_back(c.producer.name + ">" + c.consumer.name + ": " + std::to_string(c.members));
    if (c.producer.name != "mm") return std::nullopt;
    FusionRefusal refusal("expected less");
    refusal.measured = true;
    return refusal;
  };
  const Graph after = fuse_epilogues(before, policy, &report);
  verify_graph(after);
  EXPECT_THAT(asked, ElementsAre("gate>y: 2", "mm>y: 3"));
  EXPECT_THAT(members(after, "y"), ElementsAre("gate", "y"));
  int measured = 0;
  for (const FusionDecision& decision : report.decisions) {
    if (decision.producer != "mm") continue;
    EXPECT_EQ(decision.reason, "expected less") << "of both edges";
    measured += decision.measured ? 1 : 0;
  }
  EXPECT_EQ(measured, 2);
}

// Written out, each doubles what is before it.
TEST(FuseEpiloguesShared, StackedDiamondsEndAtTheLimitOfAGroup) {
  Tensor t = relu(input("x", f32, {4, 8}), "t");
  for (int i = 0; i < 64; ++i) {
    const std::string at = std::to_string(i);
    t = add(tanh(t, "a" + at), sigmoid(t, "b" + at), "t" + at);
  }
  const Graph after = fused(t);
  EXPECT_GT(after.ops().size(), 8U);
  EXPECT_LT(after.ops().size(), 32U);
}

TEST(FuseEpiloguesShared, TenThousandInARow) {
  Tensor t = relu(input("x", f32, {4, 8}), "t");
  for (int i = 0; i < 5000; ++i) {
    const std::string at = std::to_string(i);
    t = mul(t, sigmoid(t, "g" + at), "t" + at);
  }
  EXPECT_LT(fused(t).ops().size(), 1700U);
}

}  // namespace
}  // namespace emulsion
