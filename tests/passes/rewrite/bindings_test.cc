#include "passes/rewrite/bindings.h"

#include <gtest/gtest.h>

#include "dsl/tensor.h"

namespace emulsion {
namespace {

const Extent n = Extent::size("N"), m = Extent::size("M"), b = Extent::size("B");

TEST(Bindings, ASizeStandsForAnyExtent) {
  for (const Extent& extent : {Extent(7), Extent(0), b, b * 2 + 1}) {
    SizeBindings sizes;
    EXPECT_EQ(unify(n, extent, &sizes), true);
    EXPECT_EQ(sizes.at("N"), extent);
    EXPECT_EQ(unify(n, extent, &sizes), true);
    EXPECT_EQ(unify(n, extent + 1, &sizes), false);
  }
}

TEST(Bindings, ANumberStandsForItself) {
  SizeBindings sizes;
  EXPECT_EQ(unify(7, 7, &sizes), true);
  EXPECT_EQ(unify(7, 8, &sizes), false);
  EXPECT_EQ(unify(7, b, &sizes), false);
  EXPECT_TRUE(sizes.empty());
}

TEST(Bindings, AnAffineExtentIsSolved) {
  SizeBindings sizes;
  EXPECT_EQ(unify(n * 2 + 1, b * 4 + 7, &sizes), true);
  EXPECT_EQ(sizes.at("N"), b * 2 + 3);
}

TEST(Bindings, RefusesAQuotientThatIsNoWholeNumberOrNegative) {
  SizeBindings sizes;
  EXPECT_EQ(unify(n * 2, 7, &sizes), false);
  EXPECT_EQ(unify(n + 1, 0, &sizes), false);
  EXPECT_EQ(unify(n + 1, b, &sizes), false);  // B may be 0
  EXPECT_TRUE(sizes.empty());
}

TEST(Bindings, TwoUnknownSizesWaitForOne) {
  SizeBindings sizes;
  EXPECT_EQ(unify(n + m, 7, &sizes), std::nullopt);
  EXPECT_EQ(unify(m, 3, &sizes), true);
  EXPECT_EQ(unify(n + m, 7, &sizes), true);
  EXPECT_EQ(sizes.at("N"), Extent(4));
  EXPECT_EQ(extent_of(n * 2 + m, sizes), Extent(11));
}

TEST(Bindings, SizesAsValues) {
  const SizeBindings sizes = {{"N", b + 2}};
  EXPECT_EQ(to_string(with_sizes(size_value("N") * 3, sizes)), "(B + 2) * 3");
}

TEST(Bindings, AWildcardAtIndices) {
  Tensor t = input("t", f32, {4, 4});
  const Expr wildcard = t(axis_value("$1"), axis_value("$0"));
  EXPECT_EQ(to_string(value_at(wildcard, {Axis("i"), Axis("j")})), "t[j, i]");
}

TEST(Bindings, TheSameValue) {
  Tensor t = input("t", f32, {8}), u = input("u", f32, {8});
  const Axis i("i", 4), j("j", 4);
  EXPECT_TRUE(same_value(t(i + 1), t(1 + i)));
  EXPECT_TRUE(same_value(t(i * 2 + j), t(j + i + i)));
  EXPECT_FALSE(same_value(t(i + 1), t(i + 2)));
  EXPECT_FALSE(same_value(t(i), t(j)));
  EXPECT_FALSE(same_value(t(i), u(i)));
  EXPECT_FALSE(same_value(t(i) + 1, t(i) - 1));
}

TEST(Bindings, ConstantsAreTheSameToTheBit) {
  EXPECT_TRUE(same_value(constant(f32, 2), constant(f32, 2)));
  EXPECT_FALSE(same_value(constant(f32, 0.0), constant(f32, -0.0)));
  EXPECT_FALSE(same_value(constant(f32, 2), constant(f64, 2)));
  EXPECT_FALSE(same_value(constant(i8, 2), constant(i8, 3)));
}

}  // namespace
}  // namespace emulsion
