#include <gtest/gtest.h>

#include "dsl/tensor.h"
#include "tests/dsl/refusal.h"

namespace emulsion {
namespace {

Axis m("m", 4), n("n", 6), k("k", 5);

TEST(Func, IsTheTensorOfItsDefinition) {
  Tensor x = input("x", f32, {4, 5});
  Tensor w = weight("w", f32, {5, 6});
  Func mm("mm");
  mm(m, n) = sum(k, x(m, k) * w(k, n));
  Tensor same = compute("mm", {m, n}, sum(k, x(m, k) * w(k, n)));
  EXPECT_EQ(mm.tensor().name(), "mm");
  EXPECT_EQ(mm.tensor().shape(), same.shape());
  EXPECT_EQ(mm.tensor().op()->combiner, Combiner::sum);
  EXPECT_TRUE(equal(mm.tensor().op()->body, same.op()->body));
}

TEST(Func, EveryReductionTakesOneAxis) {
  const Tensor x = input("x", f32, {4, 5});
  for (const auto& reduced :
       {sum(k, x(m, k)), product(k, x(m, k)), reduce_max(k, x(m, k)), reduce_min(k, x(m, k))}) {
    EXPECT_EQ(compute("y", {m}, reduced).op()->reduction_axes.size(), 1U) << to_string(reduced);
  }
}

TEST(Func, ReadsLikeATensorOnceItIsDefined) {
  Func f("f"), g("g");
  f(m, n) = cast(f32, Expr(m) + n);
  g(m, n) = max(f(m, n) + f.at({3 - Expr(m), n}), 0.0f);
  EXPECT_EQ(to_string(g.tensor().op()->body), "max(f[m, n] + f[3 - m, n], 0f)");
}

TEST(Func, IsReadAtAnyMixOfAxesExpressionsAndNumbers) {
  Func f("f"), g("g");
  f(m, n) = cast(f32, m + n);
  g(m, n) = f(m, n) + f(3 - m, n) + f(m, 0) + f(0, 5) + f(m, min(n + 1, 5));
  EXPECT_EQ(to_string(g.tensor().op()->body),
            "f[m, n] + f[3 - m, n] + f[m, 0] + f[0, 5] + f[m, min(n + 1, 5)]");
}

TEST(Func, IsReadThroughAConstReference) {
  Func f("f"), g("g");
  f(m) = cast(f32, m);
  const Func& read = f;
  g(m) = read(m) + read(3 - m) + read(0);
  EXPECT_EQ(to_string(g.tensor().op()->body), "f[m] + f[3 - m] + f[0]");
}

TEST(Func, AxesTakePartInArithmeticAndComparisonsOnEitherSide) {
  Func f("f");
  f(m, n) = select(m + 1 < n && 2 * n != m, 1 + m, -n % 3) - n;
  EXPECT_EQ(to_string(f.tensor().op()->body), "select(m + 1 < n && 2 * n != m, 1 + m, -n % 3) - n");
}

TEST(Func, AClampedIndexStaysInside) {
  const Tensor x = input("x", f32, {4}), which = input("which", i32, {6});
  Func f("f");
  f(n) = x(clamp(which(n), 0, 3)) + x(clamp(n - 1, 0, 3));
  EXPECT_EQ(to_string(f.tensor().op()->body),
            "x[max(min(which[n], 3), 0)] + x[max(min(n - 1, 3), 0)]");
  Func g("g");
  expect_refusal([&] { g(n) = x(clamp(which(n), 0, 4)); }, "4");
}

TEST(Func, MayHaveNoAxes) {
  Func f("f"), g("g");
  f() = sum(k, input("v", f32, {5})(k));
  g() = f() * 2;
  EXPECT_EQ(g.tensor().rank(), 0);
}

// Both sides of the assignment are of one type then.
TEST(Func, IsDefinedAsAnotherFunctionIs) {
  Func f("f"), g("g"), h("h"), total("total"), same("same");
  f(m, n) = cast(f32, m + n);
  g(m, n) = f(m, n);
  EXPECT_EQ(to_string(g.tensor().op()->body), "f[m, n]");
  const Func& read = f;
  h(m, n) = read(m, n);
  EXPECT_EQ(to_string(h.tensor().op()->body), "f[m, n]");
  total() = sum(m, f(m, 0));
  same() = total();
  EXPECT_EQ(to_string(same.tensor().op()->body), "total[]");
}

TEST(Func, IsReadAtIntegersOfAnyType) {
  Func f("f"), g("g");
  f(m, n) = cast(f32, m + n);
  const int64_t column = 5;
  g(m, n) = f(m, column) + f(size_t{0}, n) + f(m, n - 0LL) * column;
  EXPECT_EQ(to_string(g.tensor().op()->body), "f[m, 5] + f[0, n] + f[m, n - 0] * 5f");
}

class FuncRefusal : public RefusalTest {};
TEST_P(FuncRefusal, NamesTheCause) { check(); }
INSTANTIATE_TEST_SUITE_P(
    Table, FuncRefusal,
    ::testing::ValuesIn(std::vector<Refusal>{
        {"UseBeforeDefinition",
         [] {
           Func f("f"), g("g");
           g(m) = f(m) + 1.0f;
         },
         "function f: expected a definition before its use, as in f(m, n) = ..."},
        {"UseOfItself",
         [] {
           Func f("f");
           f(m) = f(m) + 1.0f;
         },
         "function f: expected a definition before its use"},
        {"Recursion",
         [] {
           Func f("f");
           f(m) = f(m - 1) + 1.0f;
         },
         "recursion, as in f(i) = f(i - 1) + x(i), is not possible; legal: a reduction over an "
         "axis"},
        {"DefinitionAtAnExpression",
         [] {
           Func f("f");
           f(m + 1) = cast(f32, m);
         },
         "function f: expected a definition before its use, as in f(m, n) = ..., with nothing but "
         "axes on the left"},
        {"ReadOfUndefinedAtNumbers",
         [] {
           Func f("f"), g("g");
           g(m) = f(0) + 1.0f;
         },
         "function f: expected a definition before its use"},
        {"TooManyIndices",
         [] {
           Func f("f"), g("g");
           f(m) = cast(f32, m);
           g(m) = f(m, 0);
         },
         "read of f: expected 1 index for shape [4], got 2"},
        {"SecondDefinition",
         [] {
           Func f("f");
           f(m) = Expr(1.0f);
           f(m) = Expr(2.0f);
         },
         "function f: expected one definition, got a second one"},
        {"SecondDefinitionAsAnotherFunction",
         [] {
           Func f("f"), g("g");
           f(m) = Expr(1.0f);
           g(m) = Expr(2.0f);
           g(m) = f(m);
         },
         "function g: expected one definition, got a second one"},
        {"DefinitionAsOneThatHasNone",
         [] {
           Func f("f"), g("g");
           g(m) = f(m);
         },
         "function f: expected a definition before its use"},
        {"TensorOfNothing", [] { Func("f").tensor(); }, "function f: expected a definition"},
        {"BadName", [] { Func("a b"); }, "function 'a b'"},
        {"WrongRank",
         [] {
           Func f("f");
           f(m, n) = Expr(1.0f);
           Expr(f(m));
         },
         "read of f: expected 2 indices for shape [4, 6], got 1"},
        {"AxisThatIsNotThere",
         [] {
           Func f("f");
           f(m) = cast(f32, Expr(k));
         },
         "f: expected an axis of this operation (m), got k"},
    }),
    refusal_name);

TEST(Func, ARefusedDefinitionLeavesItUndefined) {
  Func f("f");
  expect_refusal([&] { f(m) = cast(f32, Expr(k)); }, "got k");
  f(m) = Expr(1.0f);
  EXPECT_EQ(f.tensor().rank(), 1);
}

}  // namespace
}  // namespace emulsion
