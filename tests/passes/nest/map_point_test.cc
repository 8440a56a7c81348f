#include "passes/nest/map_point.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/passes/nest/test_nests.h"

namespace emulsion {
namespace {

LoopTransform split(const std::string& axis, const std::string& outer, const std::string& inner,
                    Tail tail) {
  return {LoopTransform::Kind::split, axis, outer, inner, 4, tail};
}

// 10 points, with transforms.
Stage pure(const std::vector<LoopTransform>& transforms) {
  Stage stage;
  stage.name = "s";
  stage.axes = {Axis("n", 10)};
  stage.transforms = transforms;
  return stage;
}

// y[i] = sum of x[k], with transforms.
Stage reduced(std::vector<LoopTransform> transforms) {
  Stage stage = reduction_nest(Combiner::sum, 10).stages[0];
  stage.axes = {Axis("i", 10)};
  stage.transforms = std::move(transforms);
  return stage;
}

PointMap point_of(const Stage& stage, Part part) {
  return map_point(stage, part, {int_constant(10)});
}

std::vector<GuardMask> masks_of(const Stage& stage, Part part) {
  std::vector<GuardMask> masks;
  for (const Guard& guard : point_of(stage, part).guards) masks.push_back(guard.mask);
  return masks;
}

TEST(MapPoint, SplitWithAGuard) {
  const PointMap map = point_of(pure({split("n", "no", "ni", Tail::guard)}), Part::pure);
  EXPECT_EQ(to_string(map.local.at("n")), "s.no * 4 + s.ni");
  ASSERT_EQ(map.guards.size(), 1U);
  EXPECT_EQ(to_string(map.guards[0].condition), "s.no * 4 + s.ni < 10");
  EXPECT_EQ(map.guards[0].mask, GuardMask::instance);
}

TEST(MapPoint, ShiftInwardsNeedsNoGuard) {
  const PointMap map = point_of(pure({split("n", "no", "ni", Tail::shift_inwards)}), Part::pure);
  EXPECT_EQ(to_string(map.local.at("n")), "min(s.no * 4, 6) + s.ni");
  EXPECT_TRUE(map.guards.empty());
}

TEST(MapPoint, TheStartValueHasNoReductionLoops) {
  EXPECT_EQ(point_of(reduced({}), Part::init).local.count("k"), 0U);
  EXPECT_EQ(point_of(reduced({}), Part::update).local.count("k"), 1U);
}

TEST(MapPoint, GuardsAreInTheOrderOfTheSplits) {
  const Stage stage =
      reduced({split("k", "ko", "ki", Tail::predicate), split("i", "io", "ii", Tail::guard),
               split("ko", "koo", "koi", Tail::guard)});
  const std::vector<Guard> guards = point_of(stage, Part::update).guards;
  ASSERT_EQ(guards.size(), 3U);
  EXPECT_EQ(guards[0].mask, GuardMask::loads_and_stores);
  EXPECT_EQ(to_string(guards[1].condition), "y.io * 4 + y.ii < 10");
  EXPECT_EQ(to_string(guards[2].condition), "y.koo * 4 + y.koi < 3");
}

TEST(MapPoint, GuardsOfReductionsAreNotOfTheStartValue) {
  const Stage stage =
      reduced({split("k", "ko", "ki", Tail::guard), split("ko", "koo", "koi", Tail::guard),
               split("i", "io", "ii", Tail::predicate)});
  EXPECT_EQ(masks_of(stage, Part::init), std::vector<GuardMask>{GuardMask::loads_and_stores});
}

TEST(MapPoint, TailsOfOneSideMaskThatSide) {
  const Stage stage = pure({split("n", "no", "ni", Tail::round_up),
                            split("ni", "nio", "nii", Tail::predicate_stores),
                            split("no", "noo", "noi", Tail::predicate_loads)});
  EXPECT_EQ(masks_of(stage, Part::pure),
            (std::vector<GuardMask>{GuardMask::stores, GuardMask::loads}));
}

TEST(MapPoint, FusedLoopsHaveNoGuard) {
  const Stage stage = pure({split("n", "no", "ni", Tail::round_up),
                            {LoopTransform::Kind::fuse, "t", "no", "ni", 0, Tail::guard}});
  EXPECT_TRUE(masks_of(stage, Part::pure).empty());
}

TEST(LoopAxes, AreThoseOfEachPart) {
  Stage stage = linear_nest().stages[0];
  stage.transforms = {{LoopTransform::Kind::split, "k", "ko", "ki", 2, Tail::guard},
                      {LoopTransform::Kind::fuse, "t", "m", "n", 0, Tail::guard}};
  EXPECT_EQ(loop_axes(stage, Part::init), (std::set<std::string>{"t"}));
  EXPECT_EQ(loop_axes(stage, Part::update), (std::set<std::string>{"t", "ko", "ki"}));
  EXPECT_EQ(reduction_loop_axes(stage), (std::set<std::string>{"ko", "ki"}));
}

}  // namespace
}  // namespace emulsion
