#include "passes/lower/stage_plan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/operators.h"
#include "passes/fuse/fuse_epilogues.h"
#include "passes/nest/map_point.h"

namespace emulsion {
namespace {

Graph linear() {
  Tensor x = input("x", f32, {4, 6}), w = weight("w", f32, {6, 10});
  return Graph(relu(matmul(x, w, "mm"), "y"));
}

TEST(PlanStages, OneStageForEachOperation) {
  const NestPlan plan = plan_stages(linear());
  EXPECT_EQ(plan.name, "y");
  EXPECT_EQ(plan.stage_names(), "mm, y");
  EXPECT_FALSE(plan.find("mm")->is_output);
  EXPECT_TRUE(plan.find("y")->is_output);
  EXPECT_TRUE(plan.find("mm")->loops.empty());  // apply_directives makes them
  EXPECT_EQ(plan.find("x"), nullptr);
  EXPECT_EQ(plan.find_buffer("w")->role, BufferRole::weight);
  EXPECT_EQ(plan.find_buffer("mm"), nullptr);
}

TEST(PlanStages, MembersOfAGroupAreStages) {
  const NestPlan plan = plan_stages(fuse_epilogues(linear()));
  EXPECT_EQ(plan.stage_names(), "mm, y");
  EXPECT_TRUE(plan.find("y")->is_output);
}

TEST(PlanStages, ConstantsOfOneElementAreLiterals) {
  const Axis i("i", 4);
  Tensor y = compute("y", {i}, input("x", f32, {4})(i) * scalar(2.0f)());
  const NestPlan plan = plan_stages(y);
  EXPECT_EQ(plan.buffers.size(), 2U);
  EXPECT_EQ(to_string(plan.find("y")->stage.body), "x[i] * 2f");
}

TEST(ReadersOf, EachOnceByName) {
  Tensor x = input("x", f32, {4});
  Tensor a = mul(x, x, "a");
  const auto readers = readers_of(plan_stages(Graph(add(a, x, "y"))));
  EXPECT_EQ(readers.at("x"), (std::vector<size_t>{0, 1}));
  EXPECT_EQ(readers.at("a"), (std::vector<size_t>{1}));
  EXPECT_EQ(readers.count("y"), 0U);
}

Stage stage_with(const std::vector<LoopTransform>& transforms) {
  Stage stage;
  stage.name = "s";
  stage.axes = {Axis("n", 10)};
  stage.transforms = transforms;
  return stage;
}

TEST(MapPoint, SplitWithAGuard) {
  const PointMap map =
      map_point(stage_with({{LoopTransform::Kind::split, "n", "no", "ni", 4, Tail::guard}}),
                Part::pure, {int_constant(10)});
  EXPECT_EQ(to_string(map.local.at("n")), "s.no * 4 + s.ni");
  ASSERT_EQ(map.guards.size(), 1U);
  EXPECT_EQ(to_string(map.guards[0]), "s.no * 4 + s.ni < 10");
}

TEST(MapPoint, ShiftInwardsNeedsNoGuard) {
  const PointMap map =
      map_point(stage_with({{LoopTransform::Kind::split, "n", "no", "ni", 4, Tail::shift_inwards}}),
                Part::pure, {int_constant(10)});
  EXPECT_EQ(to_string(map.local.at("n")), "min(s.no * 4, 6) + s.ni");
  EXPECT_TRUE(map.guards.empty());
}

TEST(MapPoint, TheStartValueHasNoReductionLoops) {
  Stage stage = stage_with({});
  stage.combiner = Combiner::sum;
  stage.reduction_axes = {Axis("k", 6)};
  EXPECT_EQ(map_point(stage, Part::init, {int_constant(10)}).local.count("k"), 0U);
  EXPECT_EQ(map_point(stage, Part::update, {int_constant(10)}).local.count("k"), 1U);
}

}  // namespace
}  // namespace emulsion
