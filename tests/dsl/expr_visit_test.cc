#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "dsl/expr.h"

namespace emulsion {
namespace {

Expr f() { return read_buffer("f", f32, {axis_value("i")}); }

TEST(Visit, SeesArgumentsBeforeTheirUser) {
  std::string seen;
  visit(exp(f()) + 1, [&](const Expr& e) { seen += to_string(e->op) + " "; });
  EXPECT_EQ(seen, "axis read exp constant add ");
}

TEST(Visit, SeesASharedNodeOnce) {
  Expr e = f();
  for (int i = 0; i < 200; ++i) e = e * e;  // as a tree it would have 2^200 leaves
  int count = 0;
  visit(e, [&](const Expr&) { ++count; });
  EXPECT_EQ(count, 202);
}

TEST(AnyPart, LooksUntilItHolds) {
  const Expr e = exp(f()) + 1;
  std::string seen;
  EXPECT_TRUE(any_part(e, [&](const Expr& part) {
    seen += to_string(part->op) + " ";
    return part->op == ExprOp::read;
  }));
  EXPECT_EQ(seen, "axis read ");
  EXPECT_TRUE(any_part(e, [&](const Expr& part) { return part.same_as(e); }));
  EXPECT_FALSE(any_part(e, [](const Expr& part) { return part->op == ExprOp::mul; }));
}

TEST(AnyPart, LooksAtASharedNodeOnce) {
  Expr e = f();
  for (int i = 0; i < 200; ++i) e = e * e;
  int count = 0;
  EXPECT_FALSE(any_part(e, [&](const Expr&) { return ++count == 0; }));
  EXPECT_EQ(count, 202);
}

TEST(Transform, ReturnsTheSameNodeWhenNothingChanges) {
  Expr e = max(f() * 2, 0);
  EXPECT_TRUE(transform(e, [](const Expr&) { return Expr(); }).same_as(e));
}

TEST(Transform, RebuildsOnlyThePathToAChange) {
  Expr kept = exp(f());
  Expr e = kept + sqrt(read_buffer("g", f32, {}));
  Expr changed = transform(e, [](const Expr& node) {
    return node->op == ExprOp::read && node->name == "g" ? read_buffer("h", f32, {}) : Expr();
  });
  EXPECT_FALSE(changed.same_as(e));
  EXPECT_TRUE(changed->args[0].same_as(kept));
  EXPECT_EQ(to_string(changed), "exp(f[i]) + sqrt(h[])");
}

TEST(Transform, SeesNodesAfterTheirArgumentsWereReplaced) {
  Expr folded = transform(axis_value("a") + axis_value("b"), [](const Expr& node) -> Expr {
    if (node->op == ExprOp::axis) return int_constant(node->name == "a" ? 2 : 3);
    return int_constant(node->args[0]->int_value + node->args[1]->int_value);
  });
  EXPECT_EQ(to_string(folded), "5");
}

TEST(SubstituteAxes, ReplacesByName) {
  Expr e = f() + read_buffer("g", f32, {axis_value("j")});
  Expr replaced = substitute_axes(e, [](const std::string& name) {
    return name == "i" ? axis_value("o") * 4 + axis_value("n") : Expr();
  });
  EXPECT_EQ(to_string(replaced), "f[o * 4 + n] + g[j]");
}

TEST(Equal, ComparesStructureNotNodes) {
  EXPECT_TRUE(equal(max(f(), 0), max(f(), 0)));
  EXPECT_TRUE(equal(Expr(), Expr()));
}

TEST(Equal, TellsApartWhatDiffers) {
  std::vector<Expr> all = {f() + 1,
                           f() - 1,
                           f() + 2,
                           1 + f(),
                           read_buffer("g", f32, {axis_value("i")}) + 1,
                           read_buffer("f", f64, {axis_value("i")}) + 1,
                           read_buffer("f", f32, {axis_value("j")}) + 1,
                           read_buffer("f", f32, {size_value("i")}) + 1,
                           sum(Axis("k", 3), f()),
                           reduce_max(Axis("k", 3), f()),
                           sum(Axis("l", 3), f()),
                           Expr()};
  for (size_t a = 0; a < all.size(); ++a) {
    for (size_t b = 0; b < all.size(); ++b) EXPECT_EQ(equal(all[a], all[b]), a == b) << a << b;
  }
}

TEST(Equal, GoesByTheBitsOfZeroAndNan) {
  EXPECT_FALSE(equal(constant(f32, 0.0), constant(f32, -0.0)));
  EXPECT_TRUE(equal(constant(f32, std::nan("")), constant(f32, std::nan(""))));
}

}  // namespace
}  // namespace emulsion
