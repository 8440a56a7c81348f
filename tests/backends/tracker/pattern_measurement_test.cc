#include "backends/tracker/pattern_measurement.h"

#include <gtest/gtest.h>

#include "dsl/error.h"

namespace emulsion {
namespace {

TEST(Median, IsTheMiddleOneInWhateverOrder) {
  EXPECT_EQ(median({5}), 5);
  EXPECT_EQ(median({9, 1, 4}), 4);
}

TEST(Median, IsTheMeanOfTheMiddleTwo) { EXPECT_EQ(median({8, 1, 100, 2}), 5); }

TEST(Median, IsNotOfNothing) { EXPECT_THROW(median({}), InternalError); }

}  // namespace
}  // namespace emulsion
