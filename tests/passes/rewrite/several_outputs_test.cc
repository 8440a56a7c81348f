// Patterns of several outputs: what they find, where their replacements stand, and what they
// refuse.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/graph_text.h"
#include "dsl/operators.h"
#include "passes/rewrite/apply_rules.h"
#include "passes/rewrite/match_pattern.h"
#include "passes/rewrite/replace_pattern.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/op_of.h"
#include "tests/passes/rewrite/check_rewrite.h"

namespace emulsion {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Tensor wildcard(const std::string& name = "x") { return input(name, f32, {}); }
Tensor vector(const std::string& name = "a") { return input(name, f32, {4}); }

// exp(x) and exp(-x), of any shape, of one exp.
RewriteRule both_ways() {
  const Tensor x = wildcard(), e = exp(x, "e");
  return {"both_ways", Graph({exp(x), exp(-x)}), Graph({e, 1 / e})};
}

// x + y and x - y: the difference is made of the sum.
RewriteRule sum_and_difference() {
  const Tensor x = wildcard(), y = wildcard("y"), s = add(x, y, "s");
  return {"sum_and_difference", Graph({x + y, x - y}), Graph({max(s, s), s - (y + y)})};
}

// Two products of one input as one over weights side by side, and two slices.
RewriteRule wide_product() {
  const Extent m = Extent::size("M"), k = Extent::size("K");
  constexpr int kFirst = 3, kSecond = 5;
  const Tensor x = input("x", f32, {m, k});
  const Tensor w = input("w", f32, {k, kFirst}), u = input("u", f32, {k, kSecond});
  const Tensor wide = matmul(x, concat({w, u}, 1, "weights"), "wide");
  const Axis row("row", m), first("first", kFirst), second("second", kSecond);
  return {"wide_product", Graph({matmul(x, w), matmul(x, u)}),
          Graph({compute("left", {row, first}, wide(row, first)),
                 compute("right", {row, second}, wide(row, second + kFirst))})};
}

Tensor product(const Tensor& x, int columns, const std::string& name) {
  return matmul(x, weight("w_" + name, f32, {6, columns}), name);
}

std::string reason(const Graph& graph, const RewriteRule& rule) {
  const Rewritten result = rewritten(graph, {rule}, 1e-6);
  return result.decisions.empty()           ? "no decision"
         : result.decisions.front().applied ? "applied"
                                            : result.decisions.front().reason;
}

// --- what is found -------------------------------------------------------------------------------

TEST(SeveralOutputs, AllTakeTheirPlacesInOrder) {
  const Tensor a = vector();
  const Graph graph({exp(-a, "down"), exp(a, "up")});
  const Rewritten result = rewritten(graph, {both_ways()}, 1e-6);
  ASSERT_EQ(result.matches().size(), 1u);
  const RewriteDecision match = result.matches()[0];
  EXPECT_EQ(match.result, "up");
  EXPECT_THAT(match.other_results, ElementsAre("down"));
  EXPECT_THAT(match.inner, ElementsAre("neg"));
  EXPECT_THAT(computed(result.graph), ElementsAre("up", "down"));
  EXPECT_EQ(to_string(op_of(result.graph, "down")->body), "1f / up[i0]");
  EXPECT_EQ(result.graph.outputs()[0]->name, "down");
}

TEST(SeveralOutputs, ProductsOfOneInput) {
  const Tensor x = input("x", f32, {Extent::size("B"), 6});
  const Graph graph({relu(product(x, 3, "q"), "a"), relu(product(x, 5, "k"), "b")});
  const Rewritten result = rewritten(graph, {wide_product()});
  ASSERT_EQ(result.matches().size(), 1u);
  EXPECT_THAT(computed(result.graph), ElementsAre("q_weights", "q_wide", "q", "k", "a", "b"));
  EXPECT_EQ(op_of(result.graph, "q_wide")->shape, (Shape{Extent::size("B"), 8}));
  EXPECT_EQ(to_string(op_of(result.graph, "k")->body), "q_wide[row, second + 3]");
}

TEST(SeveralOutputs, OneOnTheWayToAnother) {
  // exp(x) has users besides the match, and is no inner value: it is one of the results.
  const Tensor x = wildcard(), t = neg(neg(exp(x), "n"), "t");
  const RewriteRule rule{"rule", Graph({exp(x) + 1, exp(x)}), Graph({t - (-1.0f), t})};
  const Tensor e = exp(vector(), "e");
  const Rewritten result = rewritten(Graph({neg(e, "y"), add(e, 1.0f, "z")}), {rule});
  ASSERT_EQ(result.matches().size(), 1u);
  EXPECT_EQ(result.matches()[0].result, "z");
  EXPECT_THAT(result.matches()[0].other_results, ElementsAre("e"));
  EXPECT_THAT(computed(result.graph), ElementsAre("z_exp", "z_n", "e", "y", "z"));
}

TEST(SeveralOutputs, WhatReadsOneMayStandBeforeTheOther) {
  const Tensor a = vector();
  const Tensor up = exp(a, "up"), user = neg(up, "user"), down = exp(-a, "down");
  const Rewritten first = rewritten(Graph(mul(user, down, "y")), {both_ways()}, 1e-6);
  EXPECT_EQ(first.matches().size(), 1u);
  EXPECT_THAT(computed(first.graph), ElementsAre("up", "down", "user", "y"));
  const Tensor early = exp(-a, "early"), reads = neg(early, "reads"), late = exp(a, "late");
  const Rewritten second = rewritten(Graph(mul(reads, late, "y")), {both_ways()}, 1e-6);
  EXPECT_EQ(second.matches().size(), 1u);
  EXPECT_THAT(computed(second.graph), ElementsAre("late", "early", "reads", "y"));
}

TEST(SeveralOutputs, AMatchMayLeadToAnother) {
  const Tensor a = vector();
  const Tensor s = sub(vector("b"), exp(a, "up"), "s");
  const Graph graph({exp(s, "s_up"), exp(-s, "s_down"), exp(-a, "down")});
  const Rewritten result = rewritten(graph, {both_ways()}, 1e-5);
  EXPECT_EQ(result.matches().size(), 2u);
  EXPECT_EQ(to_string(result.graph),
            to_string(apply_rules(graph, {both_ways()}).graph));  // the same names and order
}

TEST(SeveralOutputs, ThreeOfOne) {
  const Tensor x = wildcard(), e = exp(x, "e");
  const RewriteRule rule{"rule", Graph({exp(x), exp(-x), exp(x) * 2}),
                         Graph({max(e, e), 1 / e, e + e})};
  const Tensor a = input("a", f32, {3, Extent::size("N")});
  const Graph graph({exp(-a, "n"), mul(exp(a, "other"), 2.0f, "t"), exp(a, "e")});
  const Rewritten result = rewritten(graph, {rule}, 1e-6);
  ASSERT_EQ(result.matches().size(), 1u);
  EXPECT_THAT(result.matches()[0].other_results, ElementsAre("n", "t"));
}

TEST(SeveralOutputs, ASumOverRowsBesideAnother) {
  const Extent m = Extent::size("M"), n = Extent::size("N");
  const Tensor x = input("x", f32, {m, n});
  const Axis i("i", m), k("k", n);
  const Tensor low = compute("low", {i}, reduce_min(k, x(i, k)));
  const Tensor high = compute("high", {i}, reduce_max(k, x(i, k)));
  const Tensor negated = compute("negated", {i}, reduce_max(k, -x(i, k)));
  const RewriteRule rule{"rule", Graph({low, high}),
                         Graph({-negated, compute("top", {i}, reduce_max(k, x(i, k) * 1.0f))})};
  const Tensor a = input("a", f32, {3, 7});
  const Rewritten result =
      rewritten(Graph({reduce_max(a, {1}, false, "h"), reduce_min(a, {1}, false, "l")}), {rule});
  ASSERT_EQ(result.matches().size(), 1u);
  EXPECT_EQ(result.matches()[0].result, "l");
}

TEST(SeveralOutputs, BesideRulesOfOne) {
  const Tensor x = wildcard();
  const RewriteRule twice{"twice", -(-x), x};
  const Tensor a = vector();
  const Rewritten result =
      rewritten(Graph({exp(-(-a), "up"), exp(-a, "down")}), {both_ways(), twice}, 1e-6);
  ASSERT_EQ(result.matches().size(), 2u);
  EXPECT_EQ(result.matches()[0].rule, "twice");  // of which the other waits for a new sweep
  EXPECT_EQ(result.matches()[1].rule, "both_ways");
}

// --- what is refused -----------------------------------------------------------------------------

TEST(SeveralOutputs, NotWhenOneIsComputedOfAnother) {
  const Tensor x = input("x", f32, {6, 6});
  const Tensor q = product(x, 3, "q");
  const Axis i("i", 6), j("j", 5);
  const Tensor w = compute("w", {i, j}, q(i, 0) * 2.0f);  // weights made of the first product
  const Graph graph(matmul(x, w, "k"));
  EXPECT_EQ(reason(graph, wide_product()),
            "expected w, which the match reads, to depend on none of its results (q, k)");
}

TEST(SeveralOutputs, NotThroughWhatIsFarAway) {
  const Tensor x = input("x", f32, {6, 6});
  Tensor w = product(x, 3, "q");
  for (int i = 0; i < 5; ++i) w = tanh(w);
  const Axis i("i", 6), j("j", 5);
  const Tensor columns = compute("columns", {i, j}, w(i, 1));
  EXPECT_THAT(reason(Graph(matmul(x, neg(columns, "last"), "k")), wide_product()),
              HasSubstr("to depend on none of its results (q, k)"));
}

TEST(SeveralOutputs, NotWhenOneReadsAnother) {
  const Tensor x = wildcard(), y = wildcard("y"), z = wildcard("z");
  const RewriteRule rule{"rule", Graph({x * y, x + z}), Graph({y * x * 1, z + x + 0})};
  const Tensor a = vector(), p = mul(a, vector("b"), "p");
  EXPECT_EQ(reason(Graph(add(a, p, "s")), rule),
            "expected p, which the match reads, to depend on none of its results (p, s)");
}

// n takes the place of what s reads before p and s are looked at.
TEST(SeveralOutputs, NotWhenOneReadsAnotherThroughWhatWasReplaced) {
  const Tensor x = wildcard(), y = wildcard("y"), z = wildcard("z");
  const RewriteRule rule{"rule", Graph({x * y, x + z}), Graph({z + (x * y - z), z + x})};
  const RewriteRule drop{"drop", min(max(x, y), x), x};
  const Tensor a = vector(), p = mul(a, vector("b"), "p"), n = neg(p, "n");
  const Tensor s = add(a, min(max(n, vector("c")), n), "s");
  const Rewritten result = rewritten(Graph(s), {rule, drop});
  ASSERT_EQ(result.matches().size(), 1u);
  EXPECT_EQ(result.matches()[0].rule, "drop");
  EXPECT_EQ(result.decisions.at(1).reason,
            "expected n, which the match reads, to depend on none of its results (p, s)");
}

TEST(SeveralOutputs, NotWhenAnInnerValueHasAnotherUser) {
  const Tensor a = vector(), n = neg(a, "n");
  EXPECT_EQ(reason(Graph({exp(a, "up"), exp(n, "down"), relu(n, "other")}), both_ways()),
            "expected n to have no user outside of the match, got 1 (other)");
  EXPECT_EQ(reason(Graph({exp(a, "up"), exp(n, "down"), n}), both_ways()),
            "expected n to be no output of the graph");
}

TEST(SeveralOutputs, NotOfDifferentValues) {
  EXPECT_EQ(reason(Graph({exp(vector("a"), "up"), exp(-vector("b"), "down")}), both_ways()),
            "no decision");
  const Tensor x = vector("x"), y = vector("y");
  EXPECT_EQ(reason(Graph({add(x, y, "s"), sub(y, x, "d")}), sum_and_difference()), "applied");
  EXPECT_EQ(reason(Graph({add(x, y, "s"), sub(x, x, "d")}), sum_and_difference()), "no decision");
}

TEST(SeveralOutputs, NotTwoSlicesOfOneProduct) {
  // Each of them is a product of x, with some of the columns.
  const Axis i("i", 6), j("j", 3), k("k", 5);
  const Tensor wide = product(input("x", f32, {6, 6}), 8, "wide");
  const Graph graph(
      {compute("left", {i, j}, wide(i, j)), compute("right", {i, k}, wide(i, k + 3))});
  EXPECT_EQ(reason(graph, wide_product()), "no decision");
}

TEST(SeveralOutputs, NotOneOperationForTwo) {
  const Tensor x = input("x", f32, {6, 6});
  const Extent m = Extent::size("M"), k = Extent::size("K"), n = Extent::size("N");
  const Tensor a = input("x", f32, {m, k}), w = input("w", f32, {k, n}),
               u = input("u", f32, {k, n});
  const RewriteRule rule{"rule", Graph({matmul(a, w), matmul(a, u)}),
                         Graph({matmul(a, w) * 1, matmul(a, u) * 1})};
  EXPECT_EQ(reason(Graph(product(x, 3, "q")), rule), "no decision");
  const Tensor p = wildcard(), y = wildcard("y"), z = wildcard("z");
  const RewriteRule pointwise{"rule", Graph({p * y, p * z}), Graph({-(-p * y), -(-p * z)})};
  EXPECT_EQ(reason(Graph(mul(vector("a"), vector("b"), "m")), pointwise), "no decision");
}

TEST(SeveralOutputs, NotOfDifferentShapes) {
  const Tensor a = vector();
  const Axis i("i", 3), j("j", 4);
  const Tensor wide = compute("wide", {i, j}, exp(-a(j)));
  EXPECT_EQ(reason(Graph({exp(a, "up"), wide}), both_ways()), "no decision");
}

TEST(SeveralOutputs, NotBehindManyOperations) {
  const Tensor a = vector();
  std::vector<Tensor> outputs;
  for (size_t i = 0; i + 1 < kMostCandidates; ++i) {
    outputs.push_back(mul(a, static_cast<float>(i), "o" + std::to_string(i)));
  }
  outputs.push_back(exp(a, "up"));
  const Tensor down = exp(-a, "down");
  outputs.push_back(down);
  EXPECT_EQ(reason(Graph(outputs), both_ways()), "no decision");
  outputs.erase(outputs.begin(), outputs.begin() + 8);
  EXPECT_EQ(reason(Graph(outputs), both_ways()), "applied");
}

TEST(SeveralOutputs, NotWhatTheRuleDoesNotWant) {
  RewriteRule rule = both_ways();
  rule.why_not = [](const Match& match) -> std::optional<std::string> {
    return fmt::format("expected nothing of {} and {}", match.results()[0]->name,
                       match.other_results[0]->name);
  };
  const Tensor a = vector();
  EXPECT_EQ(reason(Graph({exp(a, "up"), exp(-a, "down")}), rule),
            "expected nothing of up and down");
}

TEST(SeveralOutputs, TheStepLimitCounts) {
  const Tensor x = wildcard();
  const Graph pattern({exp(x), exp(-x)});
  const Tensor a = vector();
  EXPECT_ERROR(replace_pattern(Graph({exp(a, "up"), exp(-a, "down")}), pattern, pattern, {7}),
               "expected the rules to come to an end within 7 steps, got more; the next one is "
               "pattern at up");
}

// --- rules that are none -------------------------------------------------------------------------

TEST(SeveralOutputs, RefusesAnotherNumberOfThem) {
  const Tensor x = wildcard();
  EXPECT_ERROR(check_rule({"r", Graph({exp(x), log(x)}), x}),
               "expected a replacement of as many outputs as the pattern has, 2, got 1");
  EXPECT_ERROR(check_rule({"r", exp(x), Graph({exp(x), log(x)})}), "has, 1, got 2");
}

TEST(SeveralOutputs, RefusesOneOfAnotherTypeOrShape) {
  const Tensor x = input("x", f32, {Extent::size("N")});
  EXPECT_ERROR(check_rule({"r", Graph({exp(x, "e"), sum(x, {0}, false, "s")}),
                           Graph({exp(x, "e"), tanh(x, "t")})}),
               "expected a replacement of the pattern's type and shape, s of f32[], got t of");
}

TEST(SeveralOutputs, RefusesOneThatNothingJoinsToTheOthers) {
  const Tensor x = wildcard(), y = wildcard("y");
  EXPECT_ERROR(check_rule({"r", Graph({exp(x, "e"), exp(y, "f")}), Graph({exp(x), exp(y)})}),
               "expected f to read a wildcard that an output before it reads, got none");
}

TEST(SeveralOutputs, RefusesAWildcardAsAnOutput) {
  const Tensor x = wildcard();
  EXPECT_ERROR(check_rule({"r", Graph({exp(x), x}), Graph({exp(x), x})}),
               "expected a pattern that computes something, got x alone");
}

}  // namespace
}  // namespace emulsion
