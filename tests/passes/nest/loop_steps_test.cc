// Steps over run-time sizes: which comparisons are proved, and that no other is.

#include "passes/nest/loop_steps.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "dsl/extent.h"
#include "passes/index/index_interval.h"
#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

const Extent B = Extent::size("B");

// floor((B * factor + offset) / divisor), left as a quotient.
Expr quotient(int64_t factor, int64_t offset, int64_t divisor) {
  return extent_value(B * Extent(factor) + Extent(offset)) / int_constant(divisor);
}

TEST(LoopSteps, AQuotientIsAtLeastWhatItIsForTheLeastSize) {
  EXPECT_TRUE(at_least(quotient(1, 8, 4), int_constant(2)));
  EXPECT_TRUE(at_least(quotient(1, 11, 4), int_constant(2)));
  EXPECT_FALSE(at_least(quotient(1, 7, 4), int_constant(2)));
  EXPECT_FALSE(at_least(quotient(1, 11, 4), int_constant(3)));
}

TEST(LoopSteps, AQuotientIsAtMostWhatItIsForTheLeastSize) {
  EXPECT_TRUE(at_least(int_constant(2), quotient(-1, 8, 4)));
  EXPECT_TRUE(at_least(int_constant(2), quotient(-1, 11, 4)));
  EXPECT_FALSE(at_least(int_constant(2), quotient(-1, 12, 4)));
  EXPECT_FALSE(at_least(int_constant(1), quotient(-1, 8, 4)));
}

TEST(LoopSteps, QuotientsOfOneDivisorAreOrderedAsTheirDividends) {
  EXPECT_TRUE(at_least(quotient(1, 3, 4), quotient(1, 3, 4)));
  EXPECT_TRUE(at_least(quotient(1, 4, 4), quotient(1, 3, 4)));
  EXPECT_FALSE(at_least(quotient(1, 3, 4), quotient(1, 4, 4)));
  EXPECT_FALSE(at_least(quotient(1, 3, 5), quotient(1, 3, 4)));
}

TEST(LoopSteps, QuotientsOfOneDivisorAreApartByNoMoreThanTheirDividendsTell) {
  const Expr steps = quotient(1, 3, 4) - quotient(1, 0, 4);
  EXPECT_TRUE(at_least(int_constant(1), steps));
  EXPECT_FALSE(at_least(int_constant(0), steps));
  const Expr more = quotient(1, 5, 4) - quotient(1, 0, 4);  // 2 at B = 3
  EXPECT_TRUE(at_least(int_constant(2), more));
  EXPECT_FALSE(at_least(int_constant(1), more));
}

TEST(LoopSteps, ANumberComesOutOfAQuotient) {
  const Extent b = Extent::size("B");
  EXPECT_EQ(to_string(floor_of(2 * b + 3, 2)), "B + 1");
  EXPECT_EQ(to_string(floor_of(2 * b - 1, 2)), "B - 1");
  EXPECT_EQ(to_string(floor_of(b + 2, 2)), "(B + 2) / 2");
}

TEST(LoopSteps, ARemainderIsBelowItsDivisor) {
  const Expr remainder = size_value("B") % 4;
  EXPECT_TRUE(at_least(int_constant(3), remainder));
  EXPECT_FALSE(at_least(int_constant(2), remainder));
}

TEST(LoopSteps, ASizeIsNoNumber) {
  EXPECT_FALSE(at_least(size_value("B"), int_constant(1)));
  EXPECT_FALSE(at_least(int_constant(100), size_value("B")));
  EXPECT_FALSE(at_least(size_value("B"), size_value("C")));
}

TEST(LoopSteps, TheGreaterOfTwoIsNoLessThanHalfOfTheirSum) {
  const Expr b = size_value("B");
  EXPECT_TRUE(at_least(max(b * 2 - 1, 0), b));
  EXPECT_FALSE(at_least(max(b * 2 - 2, 0), b));  // at B = 1
  EXPECT_FALSE(at_least(min(b * 2 - 1, 0), b));
}

// max(v - 3, 0) and min(v, B - 1) where v is a step of a loop.
TEST(LoopSteps, ClampsAreIdleAtSomeSteps) {
  const std::map<std::string, Range> others;
  SparedSteps steps("v", &others);
  const Expr v = axis_value("v"), below = size_value("B") - 1;
  EXPECT_TRUE(equal(steps.without_clamps(max(v, 3)), v));
  EXPECT_TRUE(equal(steps.without_clamps(min(v, below)), v));
  EXPECT_TRUE(steps.first && equal(*steps.first, int_constant(3)));
  EXPECT_TRUE(steps.end && equal(*steps.end, size_value("B")));
}

TEST(LoopSteps, ClampsStayWhereAStepThatIsKeptNeedsThem) {
  const std::map<std::string, Range> others;
  const Expr v = axis_value("v"), most = size_value("B") - 1;
  SparedSteps late("v", &others);
  late.keep(int_constant(3), size_value("B"));
  EXPECT_TRUE(equal(late.without_clamps(max(v, 3)), v));
  EXPECT_TRUE(equal(late.without_clamps(min(v, most)), v));
  SparedSteps early("v", &others);
  early.keep(int_constant(2), size_value("B") + 1);
  const Expr low = max(v, 3), high = min(v, most);
  EXPECT_TRUE(equal(early.without_clamps(low), low));
  EXPECT_TRUE(equal(early.without_clamps(high), high));
  EXPECT_FALSE(early.first || early.end);
}

Expr as_it_is(const Expr& e) { return e; }

const Range kAnySteps{0, B - Extent(1)};

// abs(v - 3), and min(v, 2 B - v) where v is a step of a loop.
TEST(LoopSteps, WhatIsReflectedRisesBetweenTheEnds) {
  const std::map<std::string, Range> others;
  const Expr v = axis_value("v"), falling = 2 * size_value("B") - v;
  SparedSteps steps("v", &others);
  EXPECT_TRUE(equal(steps.between_ends(abs(v - 3), as_it_is, kAnySteps), v - 3));
  EXPECT_TRUE(equal(steps.between_ends(min(falling, v), as_it_is, kAnySteps), v));
  EXPECT_TRUE(steps.first && equal(*steps.first, int_constant(3)));
  EXPECT_TRUE(steps.end && equal(*steps.end, size_value("B") + 1));
  SparedSteps other("v", &others);
  EXPECT_TRUE(equal(other.between_ends(max(4 - v, v), as_it_is, kAnySteps), v));
  EXPECT_TRUE(other.first && equal(*other.first, int_constant(2)));
  EXPECT_FALSE(other.end);
  SparedSteps back("v", &others);
  EXPECT_TRUE(equal(back.between_ends(abs(3 - v), as_it_is, kAnySteps), 0 - (3 - v)));
  EXPECT_TRUE(back.first && equal(*back.first, int_constant(3)));
}

TEST(LoopSteps, WhatRisesTwiceOrIsOfOthersIsNotReflected) {
  const std::map<std::string, Range> others = {{"w", {0, 7}}};
  const Expr v = axis_value("v"), w = axis_value("w");
  for (const Expr& index : {min(v, 2 * v - 3), max(v, w), abs(w), min(-v, -2 * v)}) {
    SparedSteps steps("v", &others);
    EXPECT_TRUE(equal(steps.between_ends(index, as_it_is, kAnySteps), index)) << to_string(index);
    EXPECT_FALSE(steps.first || steps.end);
  }
}

// (8 v + w + 254) % 256 for 32 steps.
TEST(LoopSteps, WhatWrapsAroundIsThereAtTheMostFrequentQuotient) {
  const std::map<std::string, Range> others = {{"w", {0, 10}}};
  const Expr at = 8 * axis_value("v") + axis_value("w") + 254;
  SparedSteps steps("v", &others);
  const Expr free = steps.between_ends(at % 256, as_it_is, {0, 31});
  EXPECT_TRUE(equal(free, at - 256)) << to_string(free);
  EXPECT_TRUE(steps.first && equal(*steps.first, int_constant(1)));
  EXPECT_TRUE(steps.end && equal(*steps.end, int_constant(31))) << to_string(*steps.end);
  SparedSteps below("v", &others);
  EXPECT_TRUE(
      equal(below.between_ends(axis_value("v") % 256, as_it_is, {-3, 255}), axis_value("v")));
  EXPECT_TRUE(below.first && equal(*below.first, int_constant(0)));
}

// v of [B] vectors of four, in rows of 4 B - 1, a size of its own.
TEST(LoopSteps, WhatWrapsAroundAtARunTimeSizeIsThereForTheStepsWithThatQuotient) {
  const std::map<std::string, Range> others = {{"w", {0, 3}}};
  const Extent size = Extent::size("N");
  const Expr n = extent_value(size), at = 4 * axis_value("v") + axis_value("w");
  const Range vectors = range_below((n + 3) / 4);
  struct Case {
    Expr index, free;
    const char* first;
  };
  for (const auto& [index, free, first] :
       {Case{at + 1, at + 1, "0"}, Case{at - 1, at - 1, "1"}, Case{at + n - 1, at + n - 1 - n, "1"},
        Case{at + 2 * n, at + 2 * n - 2 * n, "0"}}) {
    SparedSteps steps("v", &others);
    const Expr made = steps.between_ends(index % n, as_it_is, vectors);
    EXPECT_EQ(to_string(simplify_index(made)), to_string(simplify_index(free))) << to_string(index);
    ASSERT_TRUE(steps.first && steps.end);
    EXPECT_EQ(to_string(*steps.first), first) << to_string(index);
    for (const int64_t value : {1, 4, 5, 100}) {  // no step of the interior wraps around
      const auto number = [&](const Expr& e) {
        return *constant_value(simplify_index(transform(e, [&](const Expr& part) {
          return part->op == ExprOp::size ? int_constant(value) : Expr();
        })));
      };
      for (int64_t v = number(*steps.first); v < number(*steps.end); ++v) {
        for (int64_t w = 0; w < 4; ++w) {
          const auto in_step = [&](const Expr& e) {
            return number(substitute_axes(
                e, [&](const std::string& name) { return int_constant(name == "v" ? v : w); }));
          };
          EXPECT_EQ(in_step(made), in_step(index % n)) << to_string(index) << " at " << v;
        }
      }
    }
  }
}

TEST(LoopSteps, WhatWrapsAroundOftenOrForUnknownStepsStays) {
  const std::map<std::string, Range> others;
  const Expr v = axis_value("v");
  for (const auto& [by, steps_of_loop] :
       {std::pair(int_constant(8), Range{0, 23}), std::pair(int_constant(8), Range{0, 63}),
        std::pair(int_constant(8), kAnySteps), std::pair(int_constant(8), Range::unknown()),
        std::pair(size_value("B"), Range{0, Extent::size("B") * 4}),
        std::pair(size_value("B") * size_value("C"), Range{0, 63}),
        std::pair(size_value("B") - size_value("C"), Range{0, 63})}) {
    SparedSteps steps("v", &others);
    EXPECT_TRUE(equal(steps.between_ends(v % by, as_it_is, steps_of_loop), v % by));
    EXPECT_FALSE(steps.first || steps.end);
  }
}

}  // namespace
}  // namespace emulsion
