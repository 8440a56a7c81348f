#include "backends/halide/one_lane.h"

#include <gtest/gtest.h>

#include <string>

namespace emulsion {
namespace {

namespace hi = Halide::Internal;

Halide::Expr number(const std::string& name) { return hi::Variable::make(Halide::Int(32), name); }
Halide::Expr same(const Halide::Expr& e) { return hi::Broadcast::make(e, 8); }
Halide::Expr ramp(const Halide::Expr& first, const Halide::Expr& step) {
  return hi::Ramp::make(first, step, 8);
}

TEST(OneLane, OfRampsAndWhatIsMadeOfThem) {
  EXPECT_TRUE(hi::equal(one_lane(ramp(3, 2), 5), 13));
  EXPECT_TRUE(hi::equal(one_lane(same(number("r")), 5), number("r")));
  EXPECT_TRUE(hi::equal(one_lane(ramp(0, 1) % same(3) + ramp(0, 1) / same(4), 7), 2));
  EXPECT_TRUE(hi::equal(one_lane(hi::Min::make(ramp(0, 1), same(4)) * same(5), 6), 20));
  EXPECT_TRUE(hi::equal(one_lane(ramp(number("r"), number("n")), 0), number("r")));
}

TEST(OneLane, OfWhatIsOneElementItself) {
  EXPECT_TRUE(hi::equal(one_lane(number("r"), 3), number("r")));
}

TEST(OneLane, NotOfData) {
  const Halide::Expr data =
      hi::Load::make(Halide::Int(32, 8), "at", ramp(0, 1), {}, {}, hi::const_true(8), {});
  EXPECT_FALSE(one_lane(data, 1).defined());
  EXPECT_FALSE(one_lane(ramp(0, 1) + data, 1).defined());
  EXPECT_FALSE(one_lane(hi::Variable::make(Halide::Int(32, 8), "v"), 1).defined());
  EXPECT_FALSE(one_lane(hi::Shuffle::make({ramp(0, 1)}, {1, 0}), 1).defined());
  EXPECT_FALSE(one_lane(hi::Cast::make(Halide::Int(16, 8), ramp(0, 1)), 1).defined());
}

TEST(RampOfNeighbours, OfLanesThatAreOneBehindTheOther) {
  const Halide::Expr row = hi::Div::make(ramp(5, 1), same(3)) + same(number("r"));
  const Halide::Expr through_rows = row * same(3) + hi::Mod::make(ramp(2, 1), same(3));
  const Halide::Expr made = ramp_of_neighbours(through_rows);
  const auto* found = made.as<hi::Ramp>();
  ASSERT_NE(found, nullptr);
  EXPECT_TRUE(hi::is_const_one(found->stride));
  EXPECT_EQ(found->lanes, 8);
  EXPECT_TRUE(hi::is_const_zero(hi::simplify(found->base - (number("r") * 3 + 5))));
}

TEST(RampOfNeighbours, NotOfOtherLanes) {
  const Halide::Expr data =
      hi::Load::make(Halide::Int(32, 8), "at", ramp(0, 1), {}, {}, hi::const_true(8), {});
  for (const Halide::Expr& other :
       {ramp(0, 2), ramp(7, -1), same(3), data, ramp(0, number("n")),
        hi::Mod::make(ramp(0, 1), same(7)), hi::Min::make(ramp(0, 1), same(number("n")))}) {
    EXPECT_FALSE(ramp_of_neighbours(other).defined()) << other;
  }
}

}  // namespace
}  // namespace emulsion
