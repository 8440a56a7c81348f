// What a pattern finds and what it does not: through apply_rules(), as users meet it.

#include "passes/rewrite/match_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/operators.h"
#include "passes/fuse/fuse_epilogues.h"
#include "tests/passes/op_of.h"
#include "tests/passes/rewrite/check_rewrite.h"

namespace emulsion {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// matmul + bias + relu, of any shape, becomes a group.
RewriteRule linear_relu() {
  const Extent m = Extent::size("M"), k = Extent::size("K"), n = Extent::size("N");
  Tensor x = input("x", f32, {m, k});
  Tensor w = input("w", f32, {k, n});
  Tensor b = input("b", f32, {n});
  Graph pattern(relu(matmul(x, w) + b));
  return {"linear_relu", pattern, fuse_epilogues(pattern)};
}

// x * sigmoid(x), of any shape, becomes x / (1 + exp(-x)).
RewriteRule silu() {
  Tensor x = input("x", f32, {});
  return {"silu", Graph(x * sigmoid(x)), Graph(x / (1 + exp(-x)))};
}

struct Linear {
  Tensor x = input("x", f32, {5, 6});
  Tensor w = weight("w", f32, {6, 7});
  Tensor b = weight("b", f32, {7});
};

std::vector<RewriteDecision> matches(const Graph& graph, const RewriteRule& rule) {
  return rewritten(graph, {rule}, 1e-6).matches();
}
int count(const Graph& graph, const RewriteRule& rule) {
  return static_cast<int>(matches(graph, rule).size());
}
// Why the only candidate was refused.
std::string refusal(const Graph& graph, const RewriteRule& rule) {
  const Rewritten result = rewritten(graph, {rule}, 1e-6);
  if (result.decisions.size() != 1) return std::to_string(result.decisions.size()) + " decisions";
  return result.decisions.front().applied ? "applied" : result.decisions.front().reason;
}

Tensor balanced_sum(std::vector<Tensor> values) {
  while (values.size() > 1) {
    std::vector<Tensor> sums;
    for (size_t i = 0; i < values.size(); i += 2) sums.push_back(values[i] + values[i + 1]);
    values = sums;
  }
  return values.front();
}

// --- what matches
// ---------------------------------------------------------------------------------

TEST(MatchPattern, OperatorsOfOtherSizesAndNames) {
  Linear l;
  const Graph graph(relu(add(matmul(l.x, l.w, "fc"), l.b, "biased"), "out"));
  const std::vector<RewriteDecision> found = matches(graph, linear_relu());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].result, "out");
  EXPECT_THAT(found[0].inner, UnorderedElementsAre("biased", "fc"));
  const Rewritten result = rewritten(graph, {linear_relu()});
  EXPECT_THAT(computed(result.graph), ElementsAre("out"));
  EXPECT_EQ(op_of(result.graph, "out")->kind, OpKind::fused);
}

TEST(MatchPattern, RunTimeSizes) {
  Tensor x = input("x", f32, {Extent::size("B") * 2 + 1, 6});
  Tensor w = weight("w", f32, {6, 7}), b = weight("b", f32, {7});
  EXPECT_EQ(count(relu(matmul(x, w) + b), linear_relu()), 1);
}

TEST(MatchPattern, CommutedOperands) {
  Linear l;
  EXPECT_EQ(count(relu(l.b + matmul(l.x, l.w)), linear_relu()), 1);
  EXPECT_EQ(count(max(0.0f, l.b + matmul(l.x, l.w)), linear_relu()), 1);
  const Axis m("m", 5), n("n", 7), k("k", 6);
  Tensor mm = compute("mm", {m, n}, sum(k, l.w(k, n) * l.x(m, k)));
  EXPECT_EQ(count(relu(mm + l.b), linear_relu()), 1);
}

TEST(MatchPattern, HandWrittenComprehensions) {
  Linear l;
  const Axis row("row", 5), column("column", 7), inner("inner", 6);
  Tensor product = compute("p", {row, column}, sum(inner, l.x(row, inner) * l.w(inner, column)));
  Tensor y = compute("y", {row, column}, max(l.b(column) + product(row, column), 0.0f));
  EXPECT_EQ(count(y, linear_relu()), 1);
}

TEST(MatchPattern, ReluAsMaxWithAScalarTensor) {
  Linear l;
  EXPECT_EQ(count(max(matmul(l.x, l.w) + l.b, scalar(0.0f)), linear_relu()), 1);
}

TEST(MatchPattern, BroadcastFormsOfTheBias) {
  Linear l;
  Tensor row = weight("row", f32, {1, 7}), one = weight("one", f32, {1});
  EXPECT_EQ(count(relu(matmul(l.x, l.w) + row), linear_relu()), 1);
  EXPECT_EQ(count(relu(matmul(l.x, l.w) + one), linear_relu()), 1);
  EXPECT_EQ(count(relu(matmul(l.x, l.w) + 1), linear_relu()), 1);
}

TEST(MatchPattern, SquareShapesAndShapesOfOne) {
  for (int64_t extent : {1, 4}) {
    Tensor x = input("x", f32, {extent, extent}), w = weight("w", f32, {extent, extent});
    Tensor b = weight("b", f32, {extent});
    EXPECT_EQ(count(relu(matmul(x, w) + b), linear_relu()), 1) << extent;
  }
}

TEST(MatchPattern, AWildcardForAnExpression) {
  Linear l;
  const Axis m("m", 5), n("n", 7), k("k", 6);
  Tensor mm = compute("mm", {m, n}, sum(k, (l.x(m, k) - 1) * l.w(k, n)));
  EXPECT_EQ(count(relu(mm + l.b), linear_relu()), 1);
}

TEST(MatchPattern, AWildcardForATransposedRead) {
  Linear l;
  Tensor stored = weight("stored", f32, {7, 6});
  const Axis m("m", 5), n("n", 7), k("k", 6);
  Tensor mm = compute("mm", {m, n}, sum(k, l.x(m, k) * stored(n, k)));
  EXPECT_EQ(count(relu(mm + l.b), linear_relu()), 1);
}

TEST(MatchPattern, CopiesAreSeenThrough) {
  Linear l;
  const Axis i("i", 7), j("j", 5);
  Tensor turned = compute("turned", {i, j}, (matmul(l.x, l.w) + l.b)(j, i));
  const Axis m("m", 5), n("n", 7);
  EXPECT_EQ(count(compute("y", {m, n}, max(turned(n, m), 0.0f)), linear_relu()), 1);
}

TEST(MatchPattern, AnyRankOfAPointwisePattern) {
  for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 3, 4}, Shape{Extent::size("B"), 4}}) {
    Tensor x = input("x", f32, shape);
    EXPECT_EQ(count(x * sigmoid(x), silu()), 1) << to_string(shape);
    EXPECT_EQ(count(sigmoid(x) * x, silu()), 1) << to_string(shape);
  }
}

TEST(MatchPattern, AnExpressionInAPointwisePattern) {
  Tensor x = input("x", f32, {4});
  const Axis i("i", 4);
  const Expr inside = x(i) * 2 - 1;
  const Expr decayed = exp(-abs(inside));
  const Expr sigmoid_of = select(0 > inside, decayed, constant(f32, 1)) / (decayed + 1);
  EXPECT_EQ(count(compute("y", {i}, sigmoid_of * inside), silu()), 1);
}

TEST(MatchPattern, ReductionAxesInAnyOrder) {
  // Their numbers tell them apart: the graph has them the other way round.
  Tensor x = input("x", f32, {2, Extent::size("B"), 4}), y = input("y", f32, {2, 4});
  const Axis b("b", Extent::size("B")), a("a", 2), c("c", 4);
  Tensor found = compute("found", {b}, sum({a, c}, x(a, b, c) * y(a, c)));
  const RewriteRule rule{"named", found, fuse_epilogues(Graph(relu(found)))};
  // The replacement is another value: only the match is looked at.
  Tensor p = input("p", f32, {2, 3, 4}), q = input("q", f32, {2, 4});
  const Axis i("i", 2), j("j", 3), k("k", 4);
  const Graph graph(compute("z", {j}, sum({k, i}, q(i, k) * p(i, j, k))));
  EXPECT_EQ(apply_rules(graph, {rule}).matches().size(), 1u);
}

TEST(MatchPattern, OneWildcardForWhatIsWrittenTwice) {
  Tensor a = input("a", f32, {});
  const RewriteRule square{"square", Graph(a * a), Graph(pow(a, scalar(2.0f)))};
  Tensor x = input("x", f32, {4, 4}), v = input("v", f32, {4});
  EXPECT_EQ(count((x + v) * (x + v), square), 1);
  EXPECT_EQ(count(transpose(x) * transpose(x), square), 1);
  Tensor r = relu(x);  // which both read
  EXPECT_EQ(count((r + v) * (r + v), square), 1);
  Tensor sum_of_rows = sum(x, {1});
  EXPECT_EQ(count(exp(sum_of_rows) * exp(sum_of_rows), square), 1);
}

// As in the pattern, where the transpose is an operation too.
TEST(MatchPattern, OneWildcardAsItIsAndTransposed) {
  const Extent n = Extent::size("N");
  Tensor g = input("g", f32, {n, n}), x = input("x", f32, {4, 4});
  const RewriteRule behind{"behind", Graph(g - transpose(g)), Graph(g + (-transpose(g)))};
  EXPECT_EQ(count(x - transpose(x), behind), 1);
  EXPECT_EQ(count(exp(x) - transpose(exp(x)), behind), 1);
  const RewriteRule before{"before", Graph(transpose(g) - g), Graph(transpose(g) + (-g))};
  EXPECT_EQ(count(transpose(x) - x, before), 1);
  const Axis i("i", 4), j("j", 4);
  EXPECT_EQ(count(compute("y", {i, j}, x(j, i) - x(i, j)), before), 1);
}

TEST(MatchPattern, SizesAsValues) {
  const Extent n = Extent::size("N"), m = Extent::size("M");
  Tensor x = input("x", f32, {m, n});
  const RewriteRule rule{"mean", mean(x, {1}), sum(x / 2, {1}) * 2 / 3};  // of another value
  Tensor known = input("known", f32, {4, 3}), unknown = input("u", f32, {4, Extent::size("B")});
  EXPECT_EQ(apply_rules(Graph(mean(known, {1})), {rule}).matches().size(), 1u);
  EXPECT_EQ(apply_rules(Graph(mean(unknown, {1})), {rule}).matches().size(), 1u);
  EXPECT_EQ(apply_rules(Graph(sum(known, {1}) / 3), {rule}).matches().size(), 1u);
  EXPECT_THAT(apply_rules(Graph(sum(known, {1}) / 5), {rule}).decisions, IsEmpty());
}

TEST(MatchPattern, SoftmaxIsOnePattern) {
  Tensor x = input("x", f32, {Extent::size("M"), Extent::size("N")});
  Tensor powers = exp(x - reduce_max(x, {1}, true));
  const RewriteRule rule{"softmax", softmax(x), powers / sum(powers, {1}, true)};
  Tensor own = input("own", f32, {3, 5});
  const Rewritten result = apply_rules(Graph(softmax(own * 2, -1, "y")), {rule});
  ASSERT_EQ(result.decisions.size(), 1u);
  EXPECT_THAT(result.decisions[0].inner, UnorderedElementsAre("y_exp", "y_max", "y_sum"));
}

TEST(MatchPattern, AnotherTypeNeedsAPatternOfThatType) {
  Tensor x = input("x", f64, {4});
  EXPECT_EQ(count(x * sigmoid(x), silu()), 0);
}

// --- what does not
// --------------------------------------------------------------------------------

TEST(MatchPattern, DoesNotMatchBiasOnTheRowsOfASquareProduct) {
  Tensor x = input("x", f32, {4, 4}), w = weight("w", f32, {4, 4}), b = weight("b", f32, {4});
  const Axis i("i", 4), j("j", 4);
  Tensor mm = matmul(x, w);
  EXPECT_EQ(count(compute("y", {i, j}, max(mm(i, j) + b(i), 0.0f)), linear_relu()), 0);
}

TEST(MatchPattern, DoesNotMatchAResidualForABias) {
  Linear l;
  Tensor residual = input("residual", f32, {5, 7});
  EXPECT_EQ(count(relu(matmul(l.x, l.w) + residual), linear_relu()), 0);
}

TEST(MatchPattern, DoesNotMatchAnotherOperator) {
  Linear l;
  EXPECT_EQ(count(min(matmul(l.x, l.w) + l.b, 0.0f), linear_relu()), 0);
  EXPECT_EQ(count(relu(matmul(l.x, l.w) - l.b), linear_relu()), 0);
  EXPECT_EQ(count(max(matmul(l.x, l.w) + l.b, 1.0f), linear_relu()), 0);
  EXPECT_EQ(count(max(matmul(l.x, l.w) + l.b, -0.0f), linear_relu()), 0);
}

TEST(MatchPattern, DoesNotMatchAnotherCombiner) {
  Linear l;
  const Axis m("m", 5), n("n", 7), k("k", 6);
  Tensor mm = compute("mm", {m, n}, reduce_max(k, l.x(m, k) * l.w(k, n)));
  EXPECT_EQ(count(relu(mm + l.b), linear_relu()), 0);
}

TEST(MatchPattern, DoesNotMatchOperandsOfADifferenceTheOtherWayRound) {
  Tensor x = input("x", f32, {}), y = input("y", f32, {});
  const RewriteRule rule{"difference", exp(x) - y, exp(x) * 2 - (y + exp(x))};
  Tensor a = input("a", f32, {4}), b = input("b", f32, {4});
  EXPECT_EQ(count(b - exp(a), rule), 0);
  EXPECT_EQ(apply_rules(Graph(exp(a) - b), {rule}).matches().size(), 1u);
}

TEST(MatchPattern, DoesNotMatchTwoValuesForOneWildcard) {
  Tensor x = input("x", f32, {4}), z = input("z", f32, {4});
  EXPECT_EQ(count(x * sigmoid(z), silu()), 0);
  const Axis i("i", 4), j("j", 4);
  Tensor square = input("square", f32, {4, 4});
  Tensor s = sigmoid(square);
  EXPECT_EQ(count(compute("y", {i, j}, square(i, j) * s(j, i)), silu()), 0);
}

TEST(MatchPattern, DoesNotMatchWhatIsWrittenTwiceOtherwise) {
  Tensor a = input("a", f32, {});
  const RewriteRule square{"square", Graph(a * a), Graph(pow(a, scalar(2.0f)))};
  Tensor x = input("x", f32, {4, 4}), z = input("z", f32, {4, 4}), v = input("v", f32, {4});
  EXPECT_EQ(count((x + v) * (z + v), square), 0);
  EXPECT_EQ(count((x + v) * (x - v), square), 0);
  EXPECT_EQ(count((x + 1) * (x + 2), square), 0);
  EXPECT_EQ(count(x * transpose(x), square), 0);
  EXPECT_EQ(count(exp(x) * exp(transpose(x)), square), 0);
  EXPECT_EQ(count(sum(x, {1}) * sum(x, {1}), square), 0);  // sums are not written out
  const Extent n = Extent::size("N");
  Tensor g = input("g", f32, {n, n});
  const RewriteRule odd{"odd", Graph(g - transpose(g)), Graph(g + (-transpose(g)))};
  EXPECT_EQ(count(x - transpose(z), odd), 0);
  EXPECT_EQ(count(x - transpose(exp(x)), odd), 0);
  Tensor t = transpose(x, {1, 0}, "t");
  EXPECT_EQ(refusal(Graph({x - t, t}), odd), "expected t to be no output of the graph");
}

TEST(MatchPattern, DoesNotMatchExtentsThatDiffer) {
  const Extent n = Extent::size("N");
  Tensor x = input("x", f32, {n, n});
  const RewriteRule square{"square", sum(exp(x), {1}), sum(exp(x) * 1, {1})};
  EXPECT_EQ(count(sum(exp(input("a", f32, {4, 4})), {1}), square), 1);
  EXPECT_EQ(count(sum(exp(input("a", f32, {4, 5})), {1}), square), 0);
}

TEST(MatchPattern, DoesNotMatchANumberOfThePatternByAnother) {
  Tensor x = input("x", f32, {Extent::size("M"), 8});
  const RewriteRule eight{"eight", sum(x, {1}), sum(x + x, {1}) / 2};
  EXPECT_EQ(count(sum(input("a", f32, {4, 9}), {1}), eight), 0);
  EXPECT_EQ(count(sum(input("a", f32, {4, Extent::size("B")}), {1}), eight), 0);
}

TEST(MatchPattern, DoesNotMatchPartOfAnExtent) {
  Tensor x = input("x", f32, {Extent::size("N") + 1});
  const Axis i("i", Extent::size("N"));
  const RewriteRule steps{"steps", compute("d", {i}, x(i + 1) - x(i)),
                          compute("d", {i}, -(x(i) - x(i + 1)))};
  Tensor a = input("a", f32, {8});
  const Axis seven("seven", 7), six("six", 6);
  EXPECT_EQ(count(compute("y", {seven}, a(1 + seven) - a(seven)), steps), 1);
  EXPECT_EQ(count(compute("y", {six}, a(six + 1) - a(six)), steps), 0);
  EXPECT_EQ(count(compute("y", {six}, a(six + 2) - a(six)), steps), 0);
}

TEST(MatchPattern, DoesNotMatchAComputedValueForAWeight) {
  Tensor x = input("x", f32, {Extent::size("N")}), w = weight("w", f32, {Extent::size("N")});
  const RewriteRule rule{"scaled", exp(x) * w, exp(x) / (1 / w)};
  Tensor a = input("a", f32, {4}), v = weight("v", f32, {4}), u = input("u", f32, {4});
  EXPECT_EQ(count(exp(a) * v, rule), 1);
  EXPECT_EQ(count(exp(a) * (v + 1), rule), 1);
  EXPECT_EQ(count(exp(a) * 2, rule), 1);
  EXPECT_EQ(count(exp(a) * u, rule), 0);
  EXPECT_EQ(count(exp(a) * (v + u), rule), 0);
}

TEST(MatchPattern, AWeightIsKnownWhereAllOfItIs) {
  Tensor x = input("x", f32, {Extent::size("N")}), w = weight("w", f32, {Extent::size("N")});
  const RewriteRule rule{"scaled", exp(x) * w, exp(x) / (1 / w)};
  Tensor a = input("a", f32, {4}), v = weight("v", f32, {4}), u = input("u", f32, {4});
  EXPECT_EQ(count(exp(a) * (u + v), rule), 0) << "the last operand alone is known";
  EXPECT_EQ(count(exp(a) * (v + u), rule), 0) << "the first operand alone is known";
}

TEST(MatchPattern, DoesNotLookIntoGroups) {
  Linear l;
  const Graph graph = fuse_epilogues(Graph(relu(matmul(l.x, l.w) + l.b)));
  EXPECT_EQ(count(graph, linear_relu()), 0);
}

// --- what is refused, with a reason
// ----------------------------------------------------------------

TEST(MatchPattern, RefusesAnInnerValueWithAnotherUser) {
  Linear l;
  Tensor mm = matmul(l.x, l.w, "mm");
  EXPECT_EQ(refusal(Graph({relu(mm + l.b), exp(mm, "e")}), linear_relu()),
            "expected mm to have no user outside of the match, got 1 (e)");
  Tensor biased = add(mm, l.b, "biased");
  EXPECT_EQ(refusal(Graph({relu(biased), exp(biased, "e"), exp(biased, "f")}), linear_relu()),
            "expected biased to have no user outside of the match, got 2 (e, f)");
}

TEST(MatchPattern, RefusesAnInnerValueThatIsAnOutput) {
  Linear l;
  Tensor mm = matmul(l.x, l.w, "mm");
  EXPECT_EQ(refusal(Graph({relu(mm + l.b), mm}), linear_relu()),
            "expected mm to be no output of the graph");
}

TEST(MatchPattern, AnInnerValueMayHaveTwoUsersInside) {
  Tensor x = input("x", f32, {});
  Tensor e = exp(x);
  const RewriteRule rule{"squared", e * e, exp(x + x)};
  Tensor a = input("a", f32, {4});
  Tensor own = exp(a, "own");
  EXPECT_EQ(count(own * own, rule), 1);
  Tensor other = exp(a, "other");
  EXPECT_EQ(count(own * other, rule), 1);
}

TEST(MatchPattern, AnOperandMayHaveOtherUsers) {
  Tensor x = input("x", f32, {4});
  Tensor t = tanh(x, "t");
  const Rewritten result = rewritten(Graph({t * sigmoid(t), exp(t, "e"), t}), {silu()}, 1e-6);
  EXPECT_EQ(result.matches().size(), 1u);
}

TEST(MatchPattern, RefusesWhatTheRuleDoesNotWant) {
  RewriteRule rule = silu();
  rule.why_not = [](const Match& match) -> std::optional<std::string> {
    if (match.result->shape.size() == 2) return std::nullopt;
    return "expected rank 2, got " + std::to_string(match.result->shape.size());
  };
  Tensor x = input("x", f32, {4}), z = input("z", f32, {4, 2});
  EXPECT_EQ(refusal(x * sigmoid(x), rule), "expected rank 2, got 1");
  EXPECT_EQ(count(z * sigmoid(z), rule), 1);
}

TEST(MatchPattern, TheRuleSeesWhatWasBound) {
  RewriteRule rule = linear_relu();
  std::string seen;
  rule.why_not = [&](const Match& match) -> std::optional<std::string> {
    seen = match.rule + " " + match.result->name + " " + match.sizes.at("M").to_string() + " " +
           match.sizes.at("K").to_string() + " " + match.sizes.at("N").to_string() + " " +
           to_string(match.wildcards.at("b")) + " " + std::to_string(match.inner.size());
    return std::nullopt;
  };
  Linear l;
  apply_rules(Graph(relu(l.b + matmul(l.x, l.w), "y")), {rule});
  EXPECT_EQ(seen, "linear_relu y 5 6 7 b[$0] 2");
}

TEST(MatchPattern, GivesUpWhatTakesTooManyComparisons) {
  // The last operand decides, and it does not fit: every order of the others would be tried.
  std::vector<Tensor> wildcards, values;
  for (int i = 0; i < 16; ++i) {
    wildcards.push_back(input("x" + std::to_string(i), f32, {}));
    values.push_back(input("a" + std::to_string(i), f32, {4}));
  }
  Tensor total = balanced_sum(wildcards), own = balanced_sum(values);
  values.back() = input("other", f32, {4});
  Tensor other = balanced_sum(values);
  const RewriteRule rule{"many", total * 2 + exp(total), total + total + exp(total)};
  EXPECT_THAT(refusal(own * 2 + exp(other), rule), HasSubstr("expected at most 20000 comparisons"));
}

}  // namespace
}  // namespace emulsion
