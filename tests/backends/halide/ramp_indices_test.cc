// Which indices of data become ramps, and that the lanes stay the same numbers.

#include "backends/halide/ramp_indices.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "tests/backends/halide/vector_terms.h"

namespace emulsion {
namespace {

namespace hi = Halide::Internal;
using Halide::Expr;

constexpr int kLanes = 8;
const Expr kPlace = number("i"), kData = number("at");

// Modulo 2^32, as scalar_ops.h adds up numbers that are data.
Expr bits(const Expr& e) { return hi::Cast::make(Halide::UInt(32, e.type().lanes()), e); }
Expr signed_number(const Expr& e) { return hi::Cast::make(Halide::Int(32, e.type().lanes()), e); }

// What is loaded at an index after the pass.
Expr index_after(const Expr& index) {
  const int lanes = index.type().lanes();
  const Expr load =
      hi::Load::make(Halide::Int(32, lanes), "x", index, {}, {}, hi::const_true(lanes), {});
  const hi::Stmt after = ramp_indices(hi::Evaluate::make(load));
  return after.as<hi::Evaluate>()->value.as<hi::Load>()->index;
}

int32_t lane_at(const Expr& index, int lane, int32_t place, int32_t data) {
  Expr one = hi::extract_lane(index, lane);
  one = hi::substitute("i", Expr(place), hi::substitute("at", Expr(data), one));
  const auto value = hi::as_const_int(hi::simplify(one));
  EXPECT_TRUE(value) << one;
  return static_cast<int32_t>(value.value_or(0));
}

// It is a ramp of that stride, and each lane is what it was.
void expect_ramp(const Expr& before, int32_t stride) {
  const Expr after = index_after(before);
  const auto* made = after.as<hi::Ramp>();
  ASSERT_NE(made, nullptr) << after;
  EXPECT_EQ(hi::as_const_int(made->stride), stride) << after;
  EXPECT_EQ(made->lanes, before.type().lanes());
  for (const int32_t data : {0, 7, -5, 20000000}) {
    for (int lane = 0; lane < kLanes; ++lane) {
      EXPECT_EQ(lane_at(after, lane, 3, data), lane_at(before, lane, 3, data)) << before;
    }
  }
}

TEST(RampIndices, OfAPlaceAndANumber) {
  expect_ramp(signed_number(bits(ramp(kPlace, 1, kLanes)) + same(bits(kData), kLanes)), 1);
  expect_ramp(signed_number(same(bits(kData), kLanes) - bits(ramp(kPlace, 2, kLanes))), -2);
}

TEST(RampIndices, OfARowThatIsANumber) {
  const Expr row = signed_number(same(bits(kData) + bits(kPlace), kLanes));
  expect_ramp(row * same(100, kLanes) + ramp(kPlace, 1, kLanes), 1);
  expect_ramp(ramp(kPlace, 1, kLanes) * same(3, kLanes) + row, 3);
}

TEST(RampIndices, OneNumberIsOfAllLanes) {
  const Expr after =
      index_after(signed_number(same(bits(kData), kLanes) + same(bits(kPlace), kLanes)));
  ASSERT_NE(after.as<hi::Broadcast>(), nullptr) << after;
  EXPECT_EQ(lane_at(after, 0, 3, -5), -2);
}

TEST(RampIndices, NotOfWhatIsOtherInEachLane) {
  const Expr each = hi::Load::make(Halide::Int(32, kLanes), "k", ramp(kPlace, 1, kLanes), {}, {},
                                   hi::const_true(kLanes), {});
  for (const Expr& index :
       {signed_number(bits(each) + same(bits(kData), kLanes)),
        signed_number(bits(ramp(kPlace, 1, kLanes)) * bits(ramp(kPlace, 1, kLanes))),
        signed_number(bits(ramp(3, 1, kLanes)) * bits(ramp(5, 2, kLanes))),
        signed_number(bits(ramp(kPlace, 1, kLanes)) * same(bits(kData), kLanes)),
        signed_number(bits(ramp(kPlace, 1, kLanes)) % same(bits(kData), kLanes)),
        signed_number(
            Halide::cast(Halide::UInt(32, kLanes),
                         Halide::cast(Halide::UInt(8, kLanes), ramp(kPlace, 1, kLanes))))}) {
    EXPECT_TRUE(index_after(index).same_as(index)) << index;
  }
}

TEST(RampIndices, NorOfWhatIsNoData) {
  const Expr index = ramp(kPlace, 1, kLanes) + same(kData, kLanes);
  EXPECT_TRUE(index_after(index).same_as(index)) << "Halide does that";
}

}  // namespace
}  // namespace emulsion
