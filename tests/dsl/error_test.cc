#include "dsl/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <type_traits>

namespace emulsion {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(Error, FormatsItsMessage) {
  EXPECT_THAT([] { fail("argument {} of {}: expected f32, got {}", 1, "exp", "i32"); },
              ThrowsMessage<Error>("argument 1 of exp: expected f32, got i32"));
}

TEST(Error, CannotBeTakenForOurOwnMistake) {
  EXPECT_FALSE((std::is_base_of_v<Error, InternalError>));
  EXPECT_FALSE((std::is_base_of_v<InternalError, Error>));
}

TEST(Error, CatchesScheduleErrors) {
  EXPECT_THAT([] { throw ScheduleError("y.split(m): expected"); },
              ThrowsMessage<Error>(HasSubstr("y.split(m)")));
}

TEST(Error, OfAScheduleMayShowTheNest) {
  const ScheduleError plain("y.split(m): expected"), shown("y.split(m): expected", "for y.m");
  EXPECT_STREQ(plain.what(), "y.split(m): expected");
  EXPECT_EQ(plain.nest(), "");
  EXPECT_STREQ(shown.what(), "y.split(m): expected\nfor y.m");
  EXPECT_EQ(shown.message(), "y.split(m): expected");
}

TEST(Check, ThrowsWithPlaceConditionAndValues) {
  int i = 3;
  auto broken = [&] { EMULSION_CHECK(i < 2, "i = {}", i); };
  EXPECT_THAT(broken, ThrowsMessage<InternalError>(HasSubstr("error_test.cc")));
  EXPECT_THAT(broken, ThrowsMessage<InternalError>(HasSubstr("check failed: i < 2: i = 3")));
}

TEST(Check, NeedsNoMessage) {
  EXPECT_THAT([] { EMULSION_CHECK(1 == 2); },
              ThrowsMessage<InternalError>(HasSubstr("check failed: 1 == 2")));
}

TEST(Check, FormatsNothingWhenItHolds) {
  int formatted = 0;
  auto count = [&] { return ++formatted; };
  EMULSION_CHECK(formatted == 0, "{}", count());
  EXPECT_EQ(formatted, 0);
}

TEST(Check, EvaluatesItsConditionOnce) {
  int evaluated = 0;
  EMULSION_CHECK(++evaluated > 0);
  EXPECT_EQ(evaluated, 1);
}

}  // namespace
}  // namespace emulsion
