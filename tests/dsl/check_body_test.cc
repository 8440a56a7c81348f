#include "dsl/check_body.h"

#include <string>
#include <vector>

#include "dsl/tensor.h"
#include "tests/dsl/refusal.h"

namespace emulsion {
namespace {

const Extent kB = Extent::size("B"), kC = Extent::size("C");
const Expr B = size_value("B"), C = size_value("C");
const Expr i = axis_value("i"), j = axis_value("j");

Tensor x() { return input("x", f32, {kB}); }
Tensor both() { return input("both", f32, {kB + kC}); }
Tensor image() { return input("image", f32, {kB, kC}); }
Tensor numbers() { return input("numbers", f32, {4}); }
Tensor places() { return input("at", i32, {4}); }

Expr clamped(const Expr& index, const Extent& extent) {
  return max(min(index, extent_value(extent - Extent(1))), 0);
}

// The first element, which is there where x is not empty.
Expr first() { return x()(0); }

void check(const Expr& body, const AxisExtents& axes = {{"i", 4}}) {
  checked_body("y", axes, body);
}

struct Accepted {
  const char* name;
  Expr body;
  AxisExtents axes = {{"i", 4}};
};

std::vector<Accepted> accepted() {
  return {
      {"ASizeThatIsNotZero", select(B > 0, first(), 0)},
      {"ASizeOnTheOtherSide", select(0 >= B, 0, first())},
      {"ASizeThatIsANumber", select(B == 7, first(), 0)},
      {"ASizeThatIsNotOtherThanANumber", select(B != 7, 0, first())},
      {"ANegation", select(!(B < 1), first(), 0)},
      {"AnIndexBelowTheSize", select(i < B, x()(clamped(i, kB)), 0)},
      {"AnIndexNotFromTheSizeOn", select(i >= B, 0, x()(clamped(i, kB)))},
      {"PartOfAConjunction", select(numbers()(i) > 0.0f && i < B, first(), 0)},
      {"NoPartOfADisjunction", select(i >= B || B < 3, 0, first())},
      {"ASelectInsideAnother",
       select(B > 0, select(numbers()(i) > 0.0f, select(C > 0, image()(0, 0), 1), first()), 0)},
      {"ASelectInAnIndex", select(B > 0, x()(select(i < 2, 0, clamped(i, kB))), 0)},
      {"TwoSizesOneByOne", select(B > 0 && C > 0, image()(0, 0), 0)},
      {"TwoSizesTogether", select(B + C > 0, both()(0), 0)},
      {"OneOfTwoSizesTogether", select(C > 0, both()(0), 0)},
      {"AMultiple", select(2 * i < 2 * B, first(), 0)},
      {"FromAnIndexThatIsBetween",  // the second part of concat({[C], [B], [C]})
       select(i < C, 0, select(i < C + B, x()(clamped(i - C, kB)), 0)),
       {{"i", kC + kB + kC}}},
      {"FromAnIndexThatIsLast", select(i < C, 0, x()(clamped(i - C, kB))), {{"i", kC + kB}}},
      {"WithPaddingAround",
       select(i >= 2 && i < B + 2, x()(clamped(i - 2, kB)), 0),
       {{"i", kB + 5}}},
      {"TwoAxesWithPaddingAround",
       select(i >= 1 && i < B + 1 && j >= 1 && j < C + 1,
              image()(clamped(i - 1, kB), clamped(j - 1, kC)), 0),
       {{"i", kB + 2}, {"j", kC + 2}}},
      {"InAnIterationOverIt", first(), {{"i", kB}}},
      {"InAnIterationOverPartOfIt", first(), {{"i", kB - 3}}},
      {"AConditionWithoutUse", select(i < 2, numbers()(i), 0)},
  };
}

class CheckBodyAccepts : public testing::TestWithParam<Accepted> {};

TEST_P(CheckBodyAccepts, It) { EXPECT_NO_THROW(check(GetParam().body, GetParam().axes)); }

INSTANTIATE_TEST_SUITE_P(CheckBody, CheckBodyAccepts, testing::ValuesIn(accepted()),
                         [](const auto& row) { return row.param.name; });

struct Clamped {
  const char* name;
  Expr body;
  const char* text;
  AxisExtents axes = {{"i", kB}, {"j", kC}};
};

std::vector<Clamped> with_clamps() {
  return {
      {"TheElementBefore", select(i > 0, x()(i - 1), 0), "select(i > 0, x[max(i - 1, 0)], 0f)"},
      {"TheElementBeforeWhatIsNotTheFirst", select(i == 0, 0, x()(i - 1)),
       "select(i == 0, 0f, x[max(i - 1, 0)])"},
      {"TheElementAfterWhatIsNotTheLast", select(i != B - 1, x()(i + 1), 0),
       "select(i != B - 1, x[min(i + 1, B - 1)], 0f)"},
      {"WhatMayBeEmpty",
       select(i < B, x()(i), 0),
       "select(i < B, x[max(min(i, B - 1), 0)], 0f)",
       {{"i", 4}}},
      {"TheOtherSide",
       select(i >= B, 0, x()(i)),
       "select(i >= B, 0f, x[max(min(i, B - 1), 0)])",
       {{"i", 4}}},
      {"PaddingOnAllSides",
       select(i >= 1 && i < B + 1 && j >= 1 && j < C + 1, image()(i - 1, j - 1), 0),
       "select(i >= 1 && i < B + 1 && j >= 1 && j < C + 1, image[max(min(i - 1, B - 1), 0), "
       "max(min(j - 1, C - 1), 0)], 0f)",
       {{"i", kB + 2}, {"j", kC + 2}}},
      {"AChoiceOfIndices", x()(select(i > 0, i - 1, B - 1)),
       "x[max(select(i > 0, i - 1, B - 1), 0)]"},
      {"AChoiceOfIndicesByEquality", x()(select(i == B - 1, 0, i + 1)),
       "x[min(select(i == B - 1, 0, i + 1), B - 1)]"},
      {"AChoiceWithinAChoice", x()(select(i < 2, i, select(i > B - 3, i, i - 2))),
       "x[max(select(i < 2, i, select(i > B - 3, i, i - 2)), 0)]"},
      {"AMultiple", select(2 * i + 1 < B, x()(2 * i + 1), 0),
       "select(2 * i + 1 < B, x[min(2 * i + 1, B - 1)], 0f)"},
      {"ARemainderByTheExtentOfAnAxis", x()((i + 1) % B), "x[max(min((i + 1) % B, B - 1), 0)]"},
      {"ARemainderOfWhatIsNegative", x()((i - 1) % B), "x[max(min((i - 1) % B, B - 1), 0)]"},
      {"ARemainderWhereTheSizeIsNot0",
       select(B > 0, x()(i % B), 0),
       "select(B > 0, x[max(min(i % B, B - 1), 0)], 0f)",
       {{"i", 4}}},
      {"InTheIndexOfAnother",
       x()(select(i > 0, min(max(cast(i32, x()(select(i > 0, i - 1, 0))), 0), B - 1), 0)),
       "x[select(i > 0, min(max(i32(x[max(select(i > 0, i - 1, 0), 0)]), 0), B - 1), 0)]"},
      {"NoneWhereNoneIsNeeded", select(i > 0, x()(i), 0) + numbers()(2),
       "select(i > 0, x[i], 0f) + numbers[2]"},
  };
}

class CheckBodyClamps : public testing::TestWithParam<Clamped> {};

TEST_P(CheckBodyClamps, WhatAConditionKeepsInside) {
  const Expr body = checked_body("y", GetParam().axes, GetParam().body);
  EXPECT_EQ(to_string(body), GetParam().text);
  EXPECT_TRUE(checked_body("y", GetParam().axes, body).same_as(body));
}

INSTANTIATE_TEST_SUITE_P(CheckBody, CheckBodyClamps, testing::ValuesIn(with_clamps()),
                         [](const auto& row) { return row.param.name; });

class CheckBodyRefuses : public RefusalTest {};

TEST_P(CheckBodyRefuses, It) { check(); }

constexpr char kMayBeEmpty[] =
    "y: read of x, axis 0: expected a read where the extent B is at least 1, got one that also "
    "happens where it is 0; choose it with select(B > 0, ..., ...)";
constexpr char kIndex[] = "y: read of x, axis 0: expected an index from 0 to B - 1";

std::vector<Refusal> refused() {
  const auto of = [](const char* name, const Expr& body, const char* cause = kMayBeEmpty,
                     const AxisExtents& axes = {{"i", 4}}) {
    return Refusal{name, [=] { check(body, axes); }, cause};
  };
  const Expr some = numbers()(i) > 0.0f;
  return {
      of("NoCondition", first()),
      of("AConditionOnTheIterationAlone", select(i < 2, first(), 0)),
      of("AConditionOnData", select(some, first(), 0)),
      of("TheWrongSide", select(B > 0, 0, first())),
      of("TheWrongSideOfAnEquality", select(B == 7, 0, first())),
      of("AnEqualityWithZero", select(B == 0, first(), 0)),
      of("AnInequalityThatZeroMeets", select(B >= 0, first(), 0)),
      of("AnInequality", select(B != 7, first(), 0)),
      of("AnotherSize", select(C > 0, first(), 0)),
      of("AnUpperBound", select(B < 10, first(), 0)),
      of("AnIndexAtMostTheSize", select(i <= B, first(), 0)),
      of("AnIndexBelowALargerSize", select(i < B + 1, first(), 0)),
      of("PartOfADisjunction", select(B > 0 || some, first(), 0)),
      of("NotBothParts", select(B > 0 && some, 0, first())),
      of("OnlyOneOfTwoSizes", select(B > 0, image()(0, 0), 0),
         "axis 1: expected a read where the "
         "extent C is at least 1"),
      of("TwoSizesOfWhichOneMayBeThere", select(B + C > 0, first(), 0)),
      of("AnIndexFromWhichTwoSizesFollow", select(i < B + C, first(), 0)),
      of("TheExtentOfTwo", select(numbers()(i) > 0.0f, both()(0), 0), "extent B + C is at least 1"),
      of("TheConditionItself", select(B > 0 && first() > 0.0f, 1.0f, 0.0f)),
      of("TheConditionItselfWhereItDoesNotHold", select(B <= 0 || first() > 0.0f, 1.0f, 0.0f)),
      of("ASelectThatIsOver", select(B > 0, numbers()(i), 0) + first()),
      of("ThePaddingOfAnotherPart", select(i < C, x()(clamped(i, kB)), 0), kMayBeEmpty,
         {{"i", kC + kB}}),
      of("InAnIterationOverMore", first(), kMayBeEmpty, {{"i", kB + 1}}),
      of("AComparisonInANarrowType", select(cast(u8, B) > constant(u8, 0), first(), 0)),
      of("AnIndexOfTheOtherSide", select(i < B, 0, x()(i)), kIndex),
      of("AnIndexThatGoesOneFurther", select(i < B, x()(i + 1), 0), kIndex),
      of("AnIndexThatAConditionOfAnotherAxisKeeps", select(j < B, x()(i), 0), kIndex,
         {{"i", 4}, {"j", 4}}),
      of("AnIndexWithoutItsFirstOne", select(i != 1, numbers()(i - 1), 0),
         "from 0 to 3 for every iteration, got i - 1"),
      of("AChoiceOfIndicesTheWrongWayRound", x()(select(i == 0, i - 1, B - 1)), kIndex,
         {{"i", kB}}),
      of("AConditionOfTheOtherBranch", x()(select(i > 0, 0, i - 1)), kIndex, {{"i", kB}}),
      of("AChoiceOfIndicesByData", x()(select(numbers()(0) > 0.0f, i - 1, i)), kIndex, {{"i", kB}}),
      of("AnIndexThatEitherOfTwoConditionsKeeps", select(i < B || i < 2, x()(i), 0), kIndex),
      of("ARemainderByALargerSize", x()((i + 1) % (B + 1)), kIndex, {{"i", kB}}),
      of("ARemainderBySizesThatMayBe0", x()(i % B), kMayBeEmpty),
      of("AQuotientByASize", select(B > 0, x()(i / B), 0),
         "from 0 to B - 1 for every iteration and every size, got i / B; wrap it as max(min(index, "
         "B - 1), 0), or choose it with select(...) where it is inside, since of / bounds are "
         "known "
         "where a number divides"),
      of("ATensorWithoutElements", input("none", f32, {0})(0) + numbers()(i),
         "y: read of none, axis 0: expected none, since the extent is 0"),
      of("ATensorWithoutElementsUnderAConditionThatMayHold",
         select(i < 1, input("none", f32, {0})(0), 0), "read of none, axis 0: expected none"),
      of("ATensorWithoutElementsOnTheSideThatIsTaken", select(i < 0, 1, input("none", f32, {0})(0)),
         "read of none, axis 0: expected none"),
      of("ATensorWithoutElementsUnderAConditionOfData",
         select(numbers()(i) < 0, input("none", f32, {0})(0), 0),
         "read of none, axis 0: expected none"),
      of("AnIndexPastTheEndOfWhatIsThere", select(B > 0, x()(1), 0), kIndex),
      of("AnIndexWithoutALowerEnd", select(B > 0, x()(min(i - 1, B - 1)), 0), kIndex),
      of("AReflectionWithoutAClamp", x()(min(i + 1, 2 * B - 3 - i)),
         "for every iteration and every size, got min(i + 1, 2 * B - 3 - i); wrap it as "
         "max(min(index, B - 1), 0)",
         {{"i", kB}}),
      of("AnIndexOfATensorWithNumbers", numbers()(i + 1),
         "from 0 to 3 for every iteration, got i + 1; wrap it as max(min(index, 3), 0)"),
      of("AnIndexThatIsDataUnderAConditionThatAsksForIt",
         select(places()(i) >= 0 && places()(i) < 4, numbers()(places()(i)), 0),
         "got at[i]; wrap it as max(min(index, 3), 0), also inside of a select(...) that asks for "
         "it: of what is read nothing is known"),
      of("AnAxisThatIsNotInScope", select(B > 0, x()(clamped(axis_value("k"), kB)), 0),
         "y: expected an axis of this operation (i), got k"),
  };
}

INSTANTIATE_TEST_SUITE_P(CheckBody, CheckBodyRefuses, testing::ValuesIn(refused()), refusal_name);

TEST(CheckBody, AnIndexIsComputedWithinI32) {
  expect_refusal(
      [] {
        check(x()(i * 7919 % 3), {{"i", 1000000}});
      },
      "y: read of x, axis 0: expected an index that is computed within i32, got i * 7919, "
      "which goes from 0 to 7918992081");
}

TEST(CheckBody, ATensorWithoutElementsIsReadWhereNobodyGoes) {
  const Expr none = input("none", f32, {0})(i), other = numbers()(i);
  const auto checked = [](const Expr& body) {
    return to_string(checked_body("y", {{"i", 4}}, body));
  };
  EXPECT_EQ(checked(select(i < 0, none, other)), "numbers[i]");
  EXPECT_EQ(checked(select(i >= 0, other, none)), "numbers[i]");
  EXPECT_EQ(checked(select(i > 3 && i < B, none, 1) + other), "1f + numbers[i]");
}

TEST(CheckBody, AReadThatTwoBranchesShareIsCheckedInBoth) {
  const Expr shared = first();
  EXPECT_NO_THROW(check(select(B > 2, shared, select(B > 0, shared + 1, 0))));
  expect_refusal([&] { check(select(B > 0, shared, shared + 1)); }, kMayBeEmpty);
}

TEST(CheckBody, AReadThatTwoBranchesShareHasTheClampsOfBoth) {
  const Expr shared = numbers()(i - 2);
  const Expr body = checked_body("y", {{"i", 8}},
                                 select(i < 6, select(i >= 2, shared, 0),
                                        select(i < 6, numbers()(0), select(i > 5, 0, shared + 1))));
  EXPECT_EQ(to_string(body),
            "select(i < 6, select(i >= 2, numbers[max(min(i - 2, 3), 0)], 0f), select(i < 6, "
            "numbers[0], select(i > 5, 0f, numbers[max(min(i - 2, 3), 0)] + 1f)))");
}

TEST(CheckBody, AChainOfSelectsTakesNoLongerThanItIs) {
  Expr body = constant(f32, 0);
  for (int part = 300; part-- > 0;) {
    body = select(i < B * (part + 1), x()(clamped(i - B * part, kB)), body);
  }
  EXPECT_NO_THROW(check(body, {{"i", kB * 300}}));
}

TEST(CheckBody, ManyWaysToOneReadAreNotWalkedOneByOne) {
  Expr body = first();
  for (int depth = 0; depth < 100; ++depth) body = select(i < depth, body, body + 1);
  expect_refusal([&] { check(body, {{"i", 200}}); }, kMayBeEmpty);
}

// Each condition says less than those around it: else there were 2^20 ways.
TEST(CheckBody, AConditionThatSaysNothingNewMakesNoWayOfItsOwn) {
  Expr body = first();
  for (int depth = 0; depth < 20; ++depth) {
    body = select(i < depth || numbers()(0) > 0.0f, body, body + 1);
  }
  EXPECT_NO_THROW(check(select(B > 0, body, 0), {{"i", 200}}));
}

// Each side that says more than those around it is a way of its own, up to a number of them.
TEST(CheckBody, BeyondManyWaysNothingIsKnown) {
  const auto body = [](int sides) {
    Expr inside = first();
    for (int depth = sides; depth-- > 0;) {
      inside = select(i < depth || numbers()(0) > 0.0f, inside, inside + 1);
    }
    return select(B > 0, inside, 0);
  };
  EXPECT_NO_THROW(check(body(8), {{"i", 200}}));
  expect_refusal([&] { check(body(14), {{"i", 200}}); }, kMayBeEmpty);
}

}  // namespace
}  // namespace emulsion
