#include "passes/rewrite/rewrite_rule.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/operators.h"
#include "passes/fuse/fuse_epilogues.h"
#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

const Extent n = Extent::size("N");

Tensor x() { return input("x", f32, {n}); }

void check(const Graph& pattern, const Graph& replacement) {
  const RewriteRule rule{"r", pattern, replacement};
  check_rule(rule);
}

TEST(RewriteRule, ThePatternIsOneExpression) {
  Tensor a = input("a", f32, {n, n});
  const RewriteRule rule{"r", relu(matmul(a, a) + 1), relu(a)};
  const CheckedRule checked = check_rule(rule);
  EXPECT_EQ(to_string(checked.outputs.at(0).value),
            "max((sum(r3_0: N) a[i0, r3_0] * a[r3_0, i1]) + 1f, 0f)");
  EXPECT_EQ(checked.wildcards.size(), 1u);
  EXPECT_FALSE(checked.pointwise);
}

TEST(RewriteRule, RankZeroEverywhereIsPointwise) {
  Tensor a = input("a", f32, {});
  EXPECT_TRUE(check_rule({"r", exp(a), a}).pointwise);
  EXPECT_FALSE(check_rule({"r", sum(x(), {0}), sum(x() * 1, {0})}).pointwise);
}

TEST(RewriteRule, RefusesANamelessRule) {
  EXPECT_ERROR(check_rule({"", exp(x()), x()}), "expected a name, got none");
}

TEST(RewriteRule, RefusesAnEmptyPattern) {
  EXPECT_ERROR(check(x(), x()), "rule r: expected a pattern that computes something, got x alone");
  const Axis i("i", n);
  Tensor a = x();
  EXPECT_ERROR(check(compute("y", {i}, a(i)), a), "computes something, got x[i]");
}

TEST(RewriteRule, RefusesAPatternOfConstants) {
  EXPECT_ERROR(check(scalar(1.0f), scalar(1.0f)), "computes something, got scalar alone");
  EXPECT_ERROR(check(exp(scalar(1.0f)), scalar(2.0f)), "expected a pattern with a wildcard");
}

TEST(RewriteRule, EachOutputIsAnExpression) {
  Tensor a = x();
  const RewriteRule rule{"r", Graph({exp(a), a * a}), Graph({a * 2, a * 3})};
  const CheckedRule checked = check_rule(rule);
  ASSERT_EQ(checked.outputs.size(), 2u);
  EXPECT_EQ(to_string(checked.outputs[1].value), "x[i0] * x[i0]");
  EXPECT_EQ(checked.outputs[1].reads, std::vector<std::string>{"x"});
}

TEST(RewriteRule, RefusesAGroupInThePattern) {
  Tensor a = x();
  EXPECT_ERROR(check(fuse_epilogues(Graph(exp(log(a), "y"))), a),
               "expected a pattern of comprehensions, got the group y");
}

TEST(RewriteRule, RefusesAnUnboundWildcard) {
  Tensor a = x();
  EXPECT_ERROR(check(exp(a), a + input("z", f32, {n})),
               "expected a replacement of the pattern's wildcards, got z; legal: x");
}

TEST(RewriteRule, RefusesAWildcardOfAnotherTypeShapeOrKind) {
  EXPECT_ERROR(check(exp(x()), cast(input("x", f64, {n}), f32)),
               "expected the wildcard input x of f32[N] in the replacement too, got input x of "
               "f64[N]");
  EXPECT_ERROR(check(sum(x(), {0}), sum(input("x", f32, {n, 2}), {0, 1})),
               "got input x of f32[N, 2]");
  EXPECT_ERROR(check(exp(x()), weight("x", f32, {n})), "got weight x of f32[N]");
}

TEST(RewriteRule, RefusesAResultOfAnotherTypeOrShape) {
  Tensor a = x();
  EXPECT_ERROR(check(sum(a, {0}), a), "expected a replacement of the pattern's type and shape");
  EXPECT_ERROR(check(exp(a), cast(a, f64)), "exp of f32[N], got cast of f64[N]");
}

TEST(RewriteRule, RefusesASizeThatThePatternDoesNotBind) {
  Tensor a = x();
  Tensor ones = compute("ones", {Axis("i", n), Axis("j", Extent::size("P"))}, constant(f32, 1));
  EXPECT_ERROR(check(exp(a), a + sum(ones, {1})), "of the pattern's run-time sizes, got P");
}

TEST(RewriteRule, RefusesAReplacementWithShapesForAPointwisePattern) {
  Tensor a = input("a", f32, {});
  Tensor ones = compute("ones", {Axis("i", 4)}, constant(f32, 1));
  EXPECT_ERROR(check(exp(a), a + sum(ones, {0})), "expected a replacement of rank 0 everywhere");
}

TEST(RewriteRule, RefusesAPatternThatIsTooLargeWhenWrittenOut) {
  Tensor a = input("a", f32, {});
  Tensor doubled = a;
  for (int i = 0; i < 64; ++i) doubled = doubled + doubled;
  EXPECT_ERROR(check(doubled, a), "expected a pattern of at most 1000 operations");
}

}  // namespace
}  // namespace emulsion
