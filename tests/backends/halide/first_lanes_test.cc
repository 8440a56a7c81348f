// How many of the first lanes a mask has.

#include "backends/halide/first_lanes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "tests/backends/halide/vector_values.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using Halide::Expr;

constexpr int kWide = 8;
const Expr kLimit = hi::Variable::make(Halide::Int(32), "limit");
const Expr kFrom = hi::Ramp::make(Expr(5), 1, kWide);

int64_t lanes_at(const Expr& mask, int64_t limit) {
  VectorValues values;
  values.variables["limit"] = {limit};
  return values.value(*first_lanes(mask, kWide))[0];
}

TEST(FirstLanes, InFrontOfAnEndOrAtIt) {
  const Expr end = hi::Broadcast::make(kLimit, kWide);
  for (int64_t limit = 0; limit <= 20; ++limit) {
    const int64_t before = std::min<int64_t>(limit - 5, kWide);
    EXPECT_EQ(lanes_at(hi::LT::make(kFrom, end), limit), before);
    EXPECT_EQ(lanes_at(hi::LE::make(kFrom, end), limit), std::min<int64_t>(before + 1, kWide));
    EXPECT_EQ(lanes_at(Halide::likely(hi::LT::make(kFrom, end)), limit), before);
    EXPECT_EQ(lanes_at(hi::const_true(kWide), limit), kWide);
  }
}

TEST(FirstLanes, NoOthers) {
  const Expr end = hi::Broadcast::make(kLimit, kWide);
  EXPECT_FALSE(first_lanes(hi::LT::make(end, kFrom), kWide));
  EXPECT_FALSE(first_lanes(hi::GT::make(kFrom, end), kWide));
  EXPECT_FALSE(first_lanes(hi::LT::make(hi::Ramp::make(Expr(5), 2, kWide), end), kWide));
  EXPECT_FALSE(first_lanes(hi::LT::make(kFrom, hi::Ramp::make(kLimit, 1, kWide)), kWide));
  EXPECT_FALSE(first_lanes(hi::LT::make(kFrom, end) && hi::LT::make(kFrom, end), kWide));
}

}  // namespace
}  // namespace emulsion
