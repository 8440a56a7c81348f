#include "passes/differentiate/index_facts.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "dsl/tensor.h"

namespace emulsion {
namespace {

const Axis i("i", 6), b("b", Extent::size("B"));
const Expr size = size_value("B");

TEST(IndexFacts, KnowsTheEndsOfAxes) {
  const IndexFacts facts({i, b});
  EXPECT_TRUE(facts.at_least(i, 0));
  EXPECT_TRUE(facts.at_least(5, i));
  EXPECT_TRUE(facts.at_least(size - 1, b));
  EXPECT_FALSE(facts.at_least(i, 1));
  EXPECT_FALSE(facts.at_least(size, i));
}

TEST(IndexFacts, KnowsTheEndsOfDigits) {
  const IndexFacts facts({i, b});
  EXPECT_TRUE(facts.at_least(i % 4, 0));
  EXPECT_TRUE(facts.at_least(3, i % 4));
  EXPECT_TRUE(facts.at_least(1, i / 4));
  EXPECT_TRUE(facts.at_least(size - 1, i % size));
  EXPECT_FALSE(facts.at_least(2, i % 4));
  EXPECT_FALSE(facts.at_least(0, i / 4));
}

// B * B is no extent.
TEST(IndexFacts, KnowsNothingOfAQuotientByASizeThatHasToBeBelowASize) {
  const IndexFacts facts({i, b});
  EXPECT_FALSE(facts.at_least(size - 1, b / size));
  EXPECT_TRUE(facts.at_least(0, b / size));
}

TEST(IndexFacts, LearnsFromConditions) {
  IndexFacts facts({i});
  facts.add(Expr(i) >= 2 && Expr(i) < size, true);
  EXPECT_TRUE(facts.at_least(i - 2, 0));
  EXPECT_TRUE(facts.at_least(size - 1, i));
  EXPECT_FALSE(facts.at_least(i - 3, 0));
}

TEST(IndexFacts, LearnsFromConditionsThatDoNotHold) {
  IndexFacts facts({i});
  facts.add(Expr(i) < 2 || !(Expr(i) <= size), false);
  EXPECT_TRUE(facts.at_least(i, 2));
  EXPECT_TRUE(facts.at_least(size, i));
}

TEST(IndexFacts, LearnsNothingFromHalfOfAnOrOrFromData) {
  const Tensor x = input("x", f32, {6}), n = input("n", DType::u8, {6});
  IndexFacts facts({i});
  facts.add(Expr(i) >= 2 || Expr(i) >= 3, true);
  facts.add(x(i) > 2.0f, true);
  facts.add(n(i) > 2, true);
  EXPECT_FALSE(facts.at_least(i, 1));
}

TEST(IndexFacts, DecidesConditions) {
  const IndexFacts facts({i});
  EXPECT_EQ(facts.decided(Expr(i) < 6), true);
  EXPECT_EQ(facts.decided(Expr(i) >= 6), false);
  EXPECT_EQ(facts.decided(Expr(i) == Expr(i)), true);
  EXPECT_EQ(facts.decided(Expr(i) == 7), false);
  EXPECT_EQ(facts.decided(Expr(i) < 6 && Expr(i) > 7), false);
  EXPECT_EQ(facts.decided(Expr(i) < 3 || Expr(i) >= 0), true);
  EXPECT_EQ(facts.decided(!(Expr(i) <= 5)), false);
}

TEST(IndexFacts, LeavesWhatDependsOnTheIteration) {
  const IndexFacts facts({i});
  const Tensor x = input("x", f32, {6});
  EXPECT_EQ(facts.decided(Expr(i) < 3), std::nullopt);
  EXPECT_EQ(facts.decided(Expr(i) == 3), std::nullopt);
  EXPECT_EQ(facts.decided(Expr(i) < 3 && Expr(i) < 6), std::nullopt);
  EXPECT_EQ(facts.decided(x(i) < x(i)), std::nullopt);
  EXPECT_EQ(facts.decided(x(i) == x(i)), std::nullopt) << "a NaN is not equal to itself";
}

std::string settled(const Expr& e, std::vector<Extent>* may_be_empty) {
  return to_string(IndexFacts({i, b}).settled(e, may_be_empty));
}

TEST(IndexFacts, SettlesReads) {
  std::vector<Extent> may_be_empty;
  const Tensor x = input("x", f32, {6});
  EXPECT_EQ(settled(x.at({Expr(i)}), &may_be_empty), "x[i]");
  EXPECT_EQ(settled(x.at({i + 1}), &may_be_empty), "x[min(i + 1, 5)]");
  EXPECT_EQ(settled(x.at({i - 1}), &may_be_empty), "x[max(i - 1, 0)]");
  EXPECT_EQ(settled(x.at({size - i}), &may_be_empty), "x[max(min(B - i, 5), 0)]");
  EXPECT_TRUE(may_be_empty.empty());
}

TEST(IndexFacts, TellsWhatMayBeEmpty) {
  std::vector<Extent> may_be_empty;
  const Tensor x = input("x", f32, {Extent::size("N")});
  EXPECT_EQ(settled(x.at({Expr(i)}), &may_be_empty), "x[min(i, N - 1)]");
  EXPECT_EQ(may_be_empty, std::vector<Extent>{Extent::size("N")});
}

TEST(IndexFacts, SettlesSelects) {
  std::vector<Extent> may_be_empty;
  const Tensor x = input("x", f32, {6});
  EXPECT_EQ(settled(select(Expr(i) < 6, x(i), 0.0f), &may_be_empty), "x[i]");
  EXPECT_EQ(settled(select(Expr(i) < 6 && Expr(i) < 3, x(i), 0.0f), &may_be_empty),
            "select(i < 3, x[i], 0f)");
}

}  // namespace
}  // namespace emulsion
