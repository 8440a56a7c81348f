#include "dsl/condition_facts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace emulsion {
namespace {

using Texts = std::vector<std::string>;

const Expr i = axis_value("i"), j = axis_value("j"), n = size_value("N");

Texts facts_of(const Expr& condition, bool holds = true) {
  Texts facts;
  for_each_fact(condition, holds, [&](const Expr& fact) { facts.push_back(to_string(fact)); });
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
