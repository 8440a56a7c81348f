#include "dsl/condition_facts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace emulsion {
namespace {

using Texts = std::vector<std::string>;

const Expr i = axis_value("i"), j = axis_value("j"), n = size_value("N");

Texts facts_of(const Expr& condition, bool holds = true, const AxisExtents& axes = {}) {
  Texts facts;
  for_each_fact(condition, holds, axes,
                [&](const Expr& fact) { facts.push_back(to_string(fact)); });
  return facts;
}

TEST(ConditionFacts, OfComparisonsThatHold) {
  EXPECT_EQ(facts_of(i < n), (Texts{"N - i - 1"}));
  EXPECT_EQ(facts_of(i <= n), (Texts{"N - i - 0"}));
  EXPECT_EQ(facts_of(i > n), (Texts{"i - N - 1"}));
  EXPECT_EQ(facts_of(i >= n), (Texts{"i - N - 0"}));
  EXPECT_EQ(facts_of(i == n), (Texts{"N - i - 0", "i - N - 0"}));
  EXPECT_EQ(facts_of(i != n), Texts{});
}

TEST(ConditionFacts, OfComparisonsThatDoNotHold) {
  EXPECT_EQ(facts_of(i < n, false), facts_of(i >= n));
  EXPECT_EQ(facts_of(i <= n, false), facts_of(i > n));
  EXPECT_EQ(facts_of(i > n, false), facts_of(i <= n));
  EXPECT_EQ(facts_of(i >= n, false), facts_of(i < n));
  EXPECT_EQ(facts_of(i == n, false), Texts{});
  EXPECT_EQ(facts_of(i != n, false), facts_of(i == n));
}

TEST(ConditionFacts, OfWhatIsNotAnEndOfItsAxis) {
  const AxisExtents axes = {{"i", Extent::size("N")}, {"j", 5}};
  EXPECT_EQ(facts_of(i != 0, true, axes), (Texts{"i - 0 - 1"}));
  EXPECT_EQ(facts_of(0 != i, true, axes), (Texts{"i - 0 - 1"}));
  EXPECT_EQ(facts_of(i == n - 1, false, axes), (Texts{"N - 1 - i - 1"}));
  EXPECT_EQ(facts_of(2 * j != 8, true, axes), (Texts{"8 - 2 * j - 1"}));
  EXPECT_EQ(facts_of(i != 1, true, axes), Texts{});
  EXPECT_EQ(facts_of(i != n - 2, true, axes), Texts{});
  EXPECT_EQ(facts_of(j != 5, true, axes), facts_of(j < 5));
  EXPECT_EQ(facts_of(axis_value("k") != 0, true, axes), Texts{});  // not in scope
  EXPECT_EQ(facts_of(cast(DType::u8, i) != cast(DType::u8, 0), true, axes), Texts{});
}

TEST(ConditionFacts, AnEqualityWithAnEndIsAnOrder) {
  const AxisExtents axes = {{"i", Extent::size("N")}, {"j", 5}};
  const auto order_of = [&](const Expr& condition) {
    const auto order = as_order(condition, axes);
    return order ? to_string(*order) : "none";
  };
  EXPECT_EQ(order_of(i == 0), "i <= 0");
  EXPECT_EQ(order_of(i != 0), "i > 0");
  EXPECT_EQ(order_of(i == n - 1), "i >= N - 1");
  EXPECT_EQ(order_of(i != n - 1), "i < N - 1");
  EXPECT_EQ(order_of(4 - j == 0), "4 - j <= 0");
  EXPECT_EQ(order_of(i == 1), "none");
  EXPECT_EQ(order_of(i == j), "none");
  EXPECT_EQ(order_of(i < 1), "none");
  EXPECT_EQ(order_of(cast(DType::f32, i) == 0.0f), "none");
}

TEST(ConditionFacts, OfSeveralAtOnce) {
  const Texts both = {"N - i - 1", "N - j - 1"};
  EXPECT_EQ(facts_of(i < n && j < n), both);
  EXPECT_EQ(facts_of(i >= n || j >= n, false), both);
  EXPECT_EQ(facts_of(!(i >= n || j >= n)), both);
}

TEST(ConditionFacts, NoneWhereEitherMayBeTheOne) {
  EXPECT_EQ(facts_of(i < n || j < n), Texts{});
  EXPECT_EQ(facts_of(i < n && j < n, false), Texts{});
}

TEST(ConditionFacts, NoneOfWhatIsNotAffineOrWrapsAroundOrIsNoComparison) {
  EXPECT_EQ(facts_of(i * j < n), Texts{});
  EXPECT_EQ(facts_of(cast(DType::u8, i) < cast(DType::u8, n)), Texts{});
  EXPECT_EQ(facts_of(cast(DType::f32, i) < 1.0f), Texts{});
  EXPECT_EQ(facts_of(constant(DType::boolean, 1)), Texts{});
}

}  // namespace
}  // namespace emulsion
