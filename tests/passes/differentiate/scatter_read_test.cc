#include "passes/differentiate/scatter_read.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

const Axis i("i", 6), k("k", 3), b("b", Extent::size("B"));
const Axis p("p", 8);

// What a comprehension over these axes adds to x[8], read at `index`: of `value` times g, the
// cotangent over the first axis.
Expr added(const std::vector<Axis>& axes, const Expr& index, const Expr& factor = Expr(),
           const std::vector<SelectSide>& guards = {}) {
  static const std::string kName = "y";
  const Tensor x = input("x", f32, {8}), g = input("g", f32, {axes[0].extent()});
  const Expr seed = g.at({Expr(axes[0])});
  const ReadDerivative part = {x.at({index}), guards, factor.defined() ? seed * factor : seed};
  return scatter_read({kName, axes, 1, g.op()}, part, {p}, "part");
}

TEST(ScatterRead, ABijectionHasNoTests) {
  EXPECT_EQ(to_string(added({Axis("i", 8)}, 7 - i)), "g[7 - p]");
}

TEST(ScatterRead, WhatIsNotReadGetsNothing) {
  EXPECT_EQ(to_string(added({i}, i + 1)),
            "select(p - 1 >= 0 && p - 1 < 6, g[max(min(p - 1, 5), 0)], 0f)");
}

TEST(ScatterRead, AGuardThatAlwaysHoldsAtItsPointsGoes) {
  const Expr inside = Expr(i) < 8;
  EXPECT_EQ(to_string(added({Axis("i", 10)}, min(i, 7), Expr(), {{inside, true}})), "g[p]");
}

TEST(ScatterRead, AGuardThatNeverHoldsAddsNothing) {
  EXPECT_FALSE(added({Axis("i", 8)}, i, Expr(), {{Expr(i) < 8, false}}).defined());
}

TEST(ScatterRead, NoPointsAddNothing) { EXPECT_FALSE(added({Axis("i", 0)}, i).defined()); }

TEST(ScatterRead, BordersAddUp) {
  EXPECT_EQ(to_string(added({Axis("i", 8)}, max(i - 1, 0))),
            "select(p + 1 < 8, g[min(p + 1, 7)], 0f) + select(p == 0, g[0], 0f)");
}

TEST(ScatterRead, AWindowReadsZerosAroundTheCotangent) {
  const Tensor w = input("w", f32, {3});
  const Expr term = added({i, k}, i + k, w(k));
  ASSERT_EQ(term->op, ExprOp::read);
  EXPECT_EQ(to_string(term->tensor->body), "spread_part[p - k + 2] * w[k]");
  EXPECT_EQ(term->tensor->reduction_axes.size(), 1u);
}

TEST(ScatterRead, AnAxisThatOthersReadTooIsNotSpread) {
  const Tensor w = input("w", f32, {6});
  const Expr term = added({i, k}, i + k, w(i));
  EXPECT_EQ(to_string(term->tensor->body),
            "select(p - k >= 0 && p - k < 6, g[max(min(p - k, 5), 0)] * w[max(min(p - k, 5), 0)], "
            "0f)");
}

TEST(ScatterRead, ATensorThatMayBeEmptyIsReadWhereItIsNot) {
  EXPECT_EQ(to_string(added({b}, min(b, 7))), "part[p]");
}

TEST(ScatterRead, ASumIsOverTheAxesThatItUses) {
  const Tensor x = input("x", f32, {8}), g = input("g", f32, {6});
  const ReadDerivative part = {x.at({Expr(Axis("n", 8))}), {}, g(i)};
  const std::string name = "y";
  const Expr term = scatter_read({name, {i, Axis("n", 8)}, 2, g.op()}, part, {p}, "part");
  EXPECT_EQ(to_string(term), "part[]");
}

TEST(ScatterRead, RefusesAnIndexMadeOfData) {
  const Tensor which = input("which", DType::i32, {6});
  EXPECT_ERROR(added({i}, max(min(which(i), 7), 0)),
               "y: read of x, index 0: expected an index made of axes, numbers and run-time sizes");
}

}  // namespace
}  // namespace emulsion
