#include "passes/rewrite/apply_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/operators.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/op_of.h"
#include "tests/passes/rewrite/check_rewrite.h"

namespace emulsion {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Tensor wildcard() { return input("x", f32, {}); }

// -(-x) is x.
RewriteRule double_negation() {
  Tensor x = wildcard();
  return {"double_negation", -(-x), x};
}
// exp(x) * exp(x) is exp(x + x).
RewriteRule square_of_exp() {
  Tensor x = wildcard();
  return {"square_of_exp", exp(x) * exp(x), exp(x + x)};
}

TEST(ApplyRules, AnUnchangedGraphComesBackAsItIs) {
  Tensor x = input("x", f32, {4});
  const Graph graph(exp(x));
  const Rewritten result = rewritten(graph, {double_negation()});
  EXPECT_EQ(result.graph.ops(), graph.ops());
  EXPECT_THAT(result.decisions, IsEmpty());
}

TEST(ApplyRules, AnOperandInThePlaceOfAResult) {
  Tensor x = input("x", f32, {4});
  const Rewritten result = rewritten(exp(-(-tanh(x, "t")), "y"), {double_negation()});
  EXPECT_THAT(computed(result.graph), ElementsAre("t", "y"));
}

TEST(ApplyRules, AnOutputKeepsItsNameAndAnInputStays) {
  Tensor x = input("x", f32, {4});
  const Rewritten result = rewritten(neg(-x, "y"), {double_negation()});
  EXPECT_THAT(computed(result.graph), ElementsAre("y"));
  EXPECT_EQ(to_string(op_of(result.graph, "y")->body), "x[i0]");
}

TEST(ApplyRules, OutputsStayDistinct) {
  Tensor t = exp(input("x", f32, {4}), "t");
  const Rewritten result = rewritten(Graph({neg(-t, "y"), t, neg(-t, "z")}), {double_negation()});
  ASSERT_EQ(result.graph.outputs().size(), 3u);
  EXPECT_EQ(result.graph.outputs()[0]->name, "y");
  EXPECT_EQ(result.graph.outputs()[1]->name, "t");
  EXPECT_EQ(result.graph.outputs()[2]->name, "z");
}

TEST(ApplyRules, AnOperandThatBroadcastsIsCopied) {
  Tensor x = wildcard(), y = input("y", f32, {});
  const RewriteRule first{"first", exp(x) * exp(y) / exp(y), exp(x)};  // of reals
  Tensor a = input("a", f32, {1}), b = input("b", f32, {3, 4});
  Tensor value = exp(a, "ea") * exp(b, "eb") / exp(b, "ec");
  const Rewritten result = rewritten(Graph(relu(value, "out")), {first}, 1e-5);
  ASSERT_EQ(result.matches().size(), 1u);
  EXPECT_EQ(op_of(result.graph, "div")->shape, (Shape{3, 4}));
}

TEST(ApplyRules, AnOperandOfAnotherShapeIsCopied) {
  Tensor a = input("a", f32, {4});
  const Axis three("three", 3);
  Tensor part = compute("part", {three}, -(-a(three)));
  const Rewritten result = rewritten(exp(part, "y"), {double_negation()});
  EXPECT_EQ(result.matches().size(), 1u);
  EXPECT_THAT(computed(result.graph), ElementsAre("part", "y"));
}

TEST(ApplyRules, WhatNobodyNeedsGoesButNoArgument) {
  Tensor x = wildcard(), y = input("y", f32, {});
  const RewriteRule drop{"drop", min(max(x, y), x), x};
  Tensor a = input("a", f32, {4}), b = input("b", f32, {4});
  const Rewritten result = rewritten(min(max(a, exp(b)), a, "out"), {drop});
  EXPECT_THAT(computed(result.graph), ElementsAre("out"));
  EXPECT_EQ(result.graph.arguments().size(), 2u);
}

TEST(ApplyRules, WhatNobodyReadsStaysWhereItIsAnOutput) {
  Tensor x = wildcard(), y = input("y", f32, {});
  const RewriteRule drop{"drop", min(max(x, y), x), x};
  Tensor a = input("a", f32, {4}), e = exp(input("b", f32, {4}), "e");
  const Rewritten result = rewritten(Graph({min(max(a, e), a, "out"), e}), {drop});
  EXPECT_EQ(result.matches().size(), 1u);
  EXPECT_THAT(computed(result.graph), ElementsAre("e", "out"));
}

TEST(ApplyRules, OneRewriteMayMakeWayForAnother) {
  Tensor t = input("a", f32, {4});
  for (int i = 0; i < 7; ++i) t = -t;
  const Rewritten result = rewritten(Graph(neg(t, "y")), {double_negation()});
  EXPECT_EQ(result.matches().size(), 4u);
  EXPECT_THAT(computed(result.graph), ElementsAre("y"));
}

TEST(ApplyRules, ARefusalIsLiftedWhenTheOtherUserGoes) {
  // exp(a) has a user outside of its square until that one is rewritten, later in the sweep.
  Tensor a = input("a", f32, {4});
  Tensor e = exp(a, "e");
  Tensor x = wildcard(), y = input("y", f32, {});
  const RewriteRule drop{"drop", min(max(x, y), x), x};
  const Rewritten result = rewritten(Graph({min(max(a, e), a, "first"), mul(e, e, "square")}),
                                     {square_of_exp(), drop}, 1e-6);
  std::vector<std::string> rules;
  for (const RewriteDecision& decision : result.decisions) rules.push_back(decision.rule);
  EXPECT_THAT(rules, ElementsAre("drop", "square_of_exp"));
}

TEST(ApplyRules, TheLongerPatternIsFoundFirst) {
  Tensor x = wildcard(), y = input("y", f32, {});
  const RewriteRule longer{"longer", relu(exp(x) + y), max(y - -exp(x), 0)};
  Tensor a = input("a", f32, {4}), b = input("b", f32, {4});
  const RewriteRule one_step{"one_step", exp(x) + y, y - -exp(x)};
  for (const std::vector<RewriteRule>& rules :
       {std::vector<RewriteRule>{longer, one_step}, std::vector<RewriteRule>{one_step, longer}}) {
    const Rewritten both = rewritten(Graph(relu(exp(a) + b)), rules);
    ASSERT_EQ(both.matches().size(), 1u);
    EXPECT_EQ(both.matches()[0].rule, "longer");
  }
}

TEST(ApplyRules, TheFirstRuleWins) {
  RewriteRule other = double_negation();
  other.name = "other";
  const Rewritten result = rewritten(exp(-(-input("a", f32, {4}))), {other, double_negation()});
  ASSERT_EQ(result.matches().size(), 1u);
  EXPECT_EQ(result.matches()[0].rule, "other");
}

TEST(ApplyRules, NamesOfWhatIsMadeAreNew) {
  Tensor x = wildcard();
  const RewriteRule rule{"tanh", tanh(x, "t"), add(mul(x, 2, "inner"), -x)};
  Tensor a = input("a", f32, {4});
  Tensor taken = exp(a, "y_inner");
  const Rewritten result = apply_rules(Graph({tanh(taken, "y_"), tanh(a, "y")}), {rule});
  verify_graph(result.graph);
  EXPECT_THAT(computed(result.graph),
              ElementsAre("y_inner", "y_inner_2", "y_neg_1", "y_", "y_inner_1", "y_neg", "y"));
}

TEST(ApplyRules, ArgumentsKeepTheirOrder) {
  Tensor a = input("a", f32, {4}), b = input("b", f32, {4});
  const Graph graph = Graph(sub(-(-a), b, "y")).arguments({b, a});
  const Graph after = rewritten(graph, {double_negation()}).graph;
  ASSERT_EQ(after.arguments().size(), 2u);
  EXPECT_EQ(after.arguments()[0]->name, "b");
}

// Expressions are no larger than they may be long before the steps are.
TEST(ApplyRules, ReplacementsThatGrowAndMatchTheirOwnPatternAreAnError) {
  const Tensor x = wildcard(), a = input("a", f32, {4});
  const char* const expected =
      "rewriting: expected the rules to come to an end, got grow at y until no expression may be "
      "larger; legal: replacements that do not match their own pattern";
  const auto in_one = [](int times, Expr value) {
    for (int i = 0; i < times; ++i) value = abs(value);
    return value;
  };
  for (const int levels : {2, 300}) {  // as a replacement makes them
    const RewriteRule grow{"grow", abs(x), compute("taller", {}, in_one(levels, x()))};
    EXPECT_ERROR(apply_rules(Graph(abs(a, "y")), {grow}), expected);
  }
  Expr wide = x();
  for (int i = 0; i < 8; ++i) wide = wide + wide;
  const RewriteRule grow{"grow", abs(x), compute("wider", {}, abs(wide))};
  EXPECT_ERROR(apply_rules(Graph(abs(a, "y")), {grow}), expected);
}

// Of an expression that was that large without the rule.
TEST(ApplyRules, ReplacementsThatAreTooLargeAreRefused) {
  const Tensor x = wildcard();
  const Axis i("i", 4);
  Expr tall = input("a", f32, {4})(i);
  for (int n = 0; n < 997; ++n) tall = -tall;
  const RewriteRule grow{"grow", abs(x), compute("taller", {}, exp(log(x())))};
  const Rewritten after = apply_rules(Graph(compute("y", {i}, abs(tall))), {grow});
  EXPECT_TRUE(after.matches().empty());
  ASSERT_EQ(after.decisions.size(), 1u);
  EXPECT_NE(after.decisions[0].reason.find("expected a replacement that is legal here, got: "),
            std::string::npos);
}

TEST(ApplyRules, RulesThatUndoEachOtherAreAnError) {
  Tensor x = wildcard(), y = input("y", f32, {});
  const RewriteRule there{"there", exp(x) * exp(y), exp(x + y)};
  const RewriteRule back{"back", exp(x + y), exp(x) * exp(y)};
  Tensor a = input("a", f32, {4}), b = input("b", f32, {4});
  EXPECT_ERROR(apply_rules(Graph(exp(a) * exp(b)), {there, back}),
               "expected the rules to come to an end within 1050 steps, got more");
  EXPECT_ERROR(apply_rules(Graph(exp(a) * exp(b)), {there, back}, {3}), "within 3 steps");
}

TEST(ApplyRules, AsManyStepsAsTheLimitAreTaken) {
  Tensor y = input("a", f32, {4});
  for (int i = 0; i < 3; ++i) y = exp(-(-y));
  EXPECT_EQ(apply_rules(Graph(y), {double_negation()}, {3}).decisions.size(), 3u);
  EXPECT_ERROR(apply_rules(Graph(y), {double_negation()}, {2}), "within 2 steps");
}

TEST(ApplyRules, AReplacementThatMatchesItsOwnPatternIsAnError) {
  Tensor x = wildcard();
  EXPECT_ERROR(apply_rules(Graph(exp(input("a", f32, {4}))), {{"grow", exp(x), exp(x) + 1}}),
               "the next one is grow at");
}

TEST(ApplyRules, RefusesTwoRulesOfOneName) {
  EXPECT_ERROR(apply_rules(Graph(exp(input("a", f32, {}))), {double_negation(), double_negation()}),
               "expected rules of distinct names, got two named double_negation");
}

TEST(ApplyRules, RefusesAReplacementThatIsNotLegalHere) {
  // a[i] is read only where B is at least 1: the replacement would read it anywhere.
  Tensor x = wildcard();
  const RewriteRule rule{"chosen", where(less(x, 1), exp(x), 1), exp(min(x, 1))};
  Tensor c = input("c", bool_, {}), y = input("y", f32, {});
  const RewriteRule always{"always", where(c, exp(x), y), exp(x) + y};
  const Extent batch = Extent::size("B");
  Tensor a = input("a", f32, {batch});
  const Axis i("i", 4);
  const Expr element = a(max(min(i, extent_value(batch) - 1), 0));
  const Graph graph(compute("out", {i}, select(extent_value(batch) > 0, exp(element), 0.0f)));
  const Rewritten result = apply_rules(graph, {rule, always});
  ASSERT_EQ(result.decisions.size(), 1u);
  EXPECT_FALSE(result.decisions[0].applied);
  EXPECT_THAT(result.decisions[0].reason,
              HasSubstr("expected a replacement that is legal here, got: out_exp: read of a"));
  EXPECT_EQ(result.graph.ops(), graph.ops());
}

TEST(ApplyRules, StackedDiamondsDoNotBlowUp) {
  Tensor t = input("a", f32, {4});
  for (int i = 0; i < 64; ++i) {
    Tensor e = exp(t);
    t = e * e;
  }
  const Rewritten result = apply_rules(Graph(t), {square_of_exp(), double_negation()});
  EXPECT_EQ(result.matches().size(), 64u);
  verify_graph(result.graph);
}

TEST(ApplyRules, TenThousandOperations) {
  Tensor t = input("a", f32, {1024});
  for (int i = 0; i < 2500; ++i) t = exp(tanh(-(-t)));
  const Rewritten result = apply_rules(Graph(t), {square_of_exp(), double_negation()});
  EXPECT_EQ(result.matches().size(), 2500u);
  EXPECT_EQ(computed(result.graph).size(), 5000u);
}

}  // namespace
}  // namespace emulsion
