#include "passes/nest/match_body.h"

#include <gtest/gtest.h>

#include "passes/nest/verify_nest.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/nest/test_nests.h"

namespace emulsion {
namespace {

const Expr kO = axis_value("o"), kI = axis_value("i");

// Of o * 4 + i from 0 to 7, in steps of 1.
class MatchBody : public testing::Test {
 protected:
  MatchBody() {
    axes_.set("o", {0, 0, 0, 0, 1, 1, 1, 1});
    axes_.set("i", {0, 1, 2, 3, 0, 1, 2, 3});
  }

  bool matches(const Expr& own, const Expr& of_stage) {
    return BodyMatcher(&axes_, runs_).matches(own, of_stage);
  }

  IndexTable axes_{8};
  PointMask runs_ = PointMask(8, 1);
};

Expr at(const Expr& index) { return read_buffer("x", DType::f32, {index}); }
Expr data(const Expr& index) { return read_buffer("d", DType::i32, {index}); }

TEST_F(MatchBody, AnIndexIsTheSameAtEachPoint) {
  EXPECT_TRUE(matches(at(kO * 4 + kI), at(min(kO * 4 + kI, 7))));
  EXPECT_FALSE(matches(at(kO * 4 + kI), at(min(kO * 4 + kI, 6))));
  runs_.back() = 0;
  EXPECT_TRUE(matches(at(kO * 4 + kI), at(min(kO * 4 + kI, 6))));
}

TEST_F(MatchBody, ASelectMayBeTheBranchThatIsTaken) {
  EXPECT_TRUE(matches(at(kI), select(kI < 4, at(kI), at(kO))));
  EXPECT_TRUE(matches(at(kO), select(kI >= 4, at(kI), at(kO))));
  EXPECT_FALSE(matches(at(kI), select(kI < 3, at(kI), at(kO))));
}

// What is no place is compared as it is written: x + y - x may not be y.
TEST_F(MatchBody, AValueIsTheSameAsItIsWritten) {
  EXPECT_FALSE(matches(data(kI) + data(kO), data(kO) + data(kI)));
  EXPECT_TRUE(matches(data(kI) + data(kO), data(min(kI, 3)) + data(kO)));
}

// A sum that data have a part in, with its terms in another order, or those of equal data added up.
TEST_F(MatchBody, APlaceOfDataIsTheSameOfAnyData) {
  const Expr whole = kO * 4 + kI, last = min(whole, 7);
  const auto held = [](const Expr& place) { return at(max(min(place, 7), 0)); };
  EXPECT_TRUE(matches(held(data(whole) + kO * 4 + kI), held(data(last) + last)));
  EXPECT_TRUE(matches(held(data(whole) * 2 + kI), held(data(last) + kI + data(whole))));
  EXPECT_TRUE(matches(held(data(whole) * 3 + whole * 3), held((data(last) + last) * 3)));
  EXPECT_FALSE(matches(held(data(whole) + kO * 4 + kI), held(data(last) + last + 1)));
  EXPECT_FALSE(matches(held(data(whole) + kO * 4 - kI), held(data(last) + last)));
  EXPECT_FALSE(matches(held(kI - data(whole)), held(data(last) + kI)));
  EXPECT_FALSE(matches(held(data(whole) * 2 + kI), held(data(last) + (data(kI) + kI))));
  EXPECT_FALSE(matches(held(data(kI) + kO * 4 + kI), held(data(last) + last)));
}

TEST_F(MatchBody, SaysWhichReadIsMisplaced) {
  BodyMatcher matcher(&axes_, runs_);
  EXPECT_FALSE(matcher.matches(at(min(kI, 2) + data(kI)), at(kI + data(kI))));
  ASSERT_TRUE(matcher.misplaced.has_value());
  EXPECT_EQ(matcher.misplaced->found, 2);
  EXPECT_EQ(matcher.misplaced->expected, 3);
  EXPECT_EQ(matcher.misplaced->point, 3u);
}

// Of an index that data make, its other parts are the stage's at every step.
TEST(MatchBodyOfNest, RefusesAPlaceOfDataThatIsNotThatOfTheStage) {
  const Expr i = axis_value("i"), least = min(i, 7);
  const auto at = [](const Expr& place, const Expr& of_data) {
    const Expr data = cast(i32, read_buffer("x", DType::f32, {of_data}));
    return read_buffer("x", DType::f32, {max(min(place + data, 7), 0)});
  };
  const auto verify = [&](const Expr& body) {
    LoopNest nest = pointwise_nest(8, at(least, least));
    nest.root = edit<UopNode>(nest.root, [&](UopNode* uop) { uop->body = body; });
    verify_nest(nest);
  };
  EXPECT_NO_THROW(verify(at(i, i)));
  EXPECT_INTERNAL_ERROR(verify(at(i, min(i, 6))), "reads at min(i, 6) = 6, its stage at min(i, 7)");
  EXPECT_INTERNAL_ERROR(verify(at(min(i, 6), i)), "reads at min(i, 6) = 6, its stage at min(i, 7)");
  const Expr other = read_buffer("x", DType::f32, {max(min(i - cast(i32, 1), 7), 0)});
  EXPECT_INTERNAL_ERROR(verify(other), "a uOp of y evaluates");
}

// A select in it may be the branch that it takes wherever the uOp runs.
TEST(MatchBodyOfNest, AcceptsTheBranchThatAPlaceOfDataTakes) {
  const Expr i = axis_value("i");
  const auto data = [&](const Expr& at) { return cast(i32, read_buffer("x", DType::f32, {at})); };
  const auto at = [](const Expr& e) { return read_buffer("x", DType::f32, {max(min(e, 7), 0)}); };
  const auto verify = [&](const Expr& body) {
    LoopNest nest = pointwise_nest(8, at(select(i < 8, data(i), data(7 - i))));
    nest.root = edit<UopNode>(nest.root, [&](UopNode* uop) { uop->body = body; });
    verify_nest(nest);
  };
  EXPECT_NO_THROW(verify(at(data(i))));
  EXPECT_INTERNAL_ERROR(verify(at(data(7 - i))), "a uOp of y");
}

}  // namespace
}  // namespace emulsion
