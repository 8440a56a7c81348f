#include "passes/nest/chosen_places.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace emulsion {
namespace {

const Axis kC("c", 10), kD("d", 16), kM("m", 100);

Expr which() { return read_buffer("which", DType::i32, {Expr(kM)}); }
Expr x() { return read_buffer("x", DType::f32, {Expr(kM), Expr(kD)}); }
Expr is_of_class() { return which() == Expr(kC); }

std::string places(const Expr& body, Combiner combiner = Combiner::sum) {
  std::string text;
  for (const ChosenPlace& one : chosen_places(body, combiner, {kC, kD})) {
    text += one.axis + " = " + to_string(one.place) + "; ";
  }
  return text;
}

TEST(ChosenPlaces, OfASumByClass) {
  const std::string expected = "c = which[m]; ";
  EXPECT_EQ(places(select(is_of_class(), x(), 0.0F)), expected);
  EXPECT_EQ(places(select(Expr(kC) == which(), x(), 0.0F)), expected);
  EXPECT_EQ(places(cast(DType::i32, is_of_class())), expected) << "how many";
  EXPECT_EQ(places(select(min(which(), 9) == Expr(kC), x(), 0.0F)), "c = min(which[m], 9); ");
}

TEST(ChosenPlaces, WhereMoreHasToHold) {
  const Expr is_above = x() > 0.0F;
  EXPECT_EQ(places(select(is_above && is_of_class(), x(), 0.0F)), "c = which[m]; ");
  EXPECT_EQ(places(select(is_of_class() && (which() == Expr(kD) && is_above), x(), 0.0F)),
            "c = which[m]; d = which[m]; ");
  EXPECT_EQ(places(select(is_of_class() && which() + 1 == Expr(kC), x(), 0.0F)), "c = which[m]; ")
      << "one of an axis";
}

TEST(ChosenPlaces, OtherwiseTheIdentity) {
  EXPECT_EQ(places(select(is_of_class(), x(), INFINITY), Combiner::min), "c = which[m]; ");
  EXPECT_EQ(places(select(is_of_class(), x(), -INFINITY), Combiner::max), "c = which[m]; ");
  EXPECT_EQ(places(select(is_of_class(), x(), 1.0F), Combiner::product), "c = which[m]; ");
  EXPECT_EQ(places(select(is_of_class(), x(), 0.0F), Combiner::max), "");
  EXPECT_EQ(places(select(is_of_class(), x(), 0.0F), Combiner::none), "");
  EXPECT_EQ(places(select(is_of_class(), x(), 1.0F)), "");
  EXPECT_EQ(places(select(is_of_class(), 0.0F, x())), "");
  EXPECT_EQ(places(cast(DType::i32, is_of_class()), Combiner::max), "");
}

TEST(ChosenPlaces, NotOfOtherConditions) {
  EXPECT_EQ(places(select(which() < Expr(kC), x(), 0.0F)), "");
  EXPECT_EQ(places(select(which() != Expr(kC), x(), 0.0F)), "");
  EXPECT_EQ(places(select(is_of_class() || x() > 0.0F, x(), 0.0F)), "");
  EXPECT_EQ(places(select(which() == Expr(kC) + 1, x(), 0.0F)), "") << "no axis";
  EXPECT_EQ(places(select(which() == Expr(kM), x(), 0.0F)), "") << "an axis of the sum";
  EXPECT_EQ(places(select(Expr(kM) == Expr(kC), x(), 0.0F)), "") << "no data";
  const Expr of_class = read_buffer("which", DType::i32, {Expr(kC)});
  EXPECT_EQ(places(select(of_class == Expr(kC), x(), 0.0F)), "") << "another one for each class";
  EXPECT_EQ(places(x()), "");
  EXPECT_EQ(places(cast(DType::f32, which())), "");
}

TEST(ChosenPlaces, WhatIsCombinedThere) {
  const auto term = chosen_term(select(is_of_class(), x(), 0.0F), Combiner::sum);
  ASSERT_TRUE(term);
  EXPECT_EQ(to_string(term->condition), "which[m] == c");
  EXPECT_EQ(to_string(term->value), "x[m, d]");
  const auto count = chosen_term(cast(DType::i32, is_of_class()), Combiner::sum);
  ASSERT_TRUE(count);
  EXPECT_EQ(to_string(count->value), "1");
  EXPECT_FALSE(chosen_term(x(), Combiner::sum));
}

}  // namespace
}  // namespace emulsion
