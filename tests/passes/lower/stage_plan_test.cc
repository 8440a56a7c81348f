#include "passes/lower/stage_plan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/operators.h"
#include "passes/fuse/fuse_epilogues.h"

namespace emulsion {
namespace {

Graph linear() {
  Tensor x = input("x", f32, {4, 6}), w = weight("w", f32, {6, 10});
  return Graph(relu(matmul(x, w, "mm"), "y"));
}

TEST(PlanStages, OneStageForEachOperation) {
  const WrittenNest plan = plan_stages(linear());
  EXPECT_EQ(plan.name, "y");
  EXPECT_EQ(joined(stage_names(plan.stages)), "mm, y");
  EXPECT_FALSE(plan.find("mm")->is_output);
  EXPECT_TRUE(plan.find("y")->is_output);
  EXPECT_EQ(plan.find("x"), nullptr);
  EXPECT_EQ(plan.find_buffer("w")->role, BufferRole::weight);
  EXPECT_EQ(plan.find_buffer("mm"), nullptr);
}

TEST(PlanStages, MembersOfAGroupAreStages) {
  const WrittenNest plan = plan_stages(fuse_epilogues(linear()));
  EXPECT_EQ(joined(stage_names(plan.stages)), "mm, y");
  EXPECT_TRUE(plan.find("y")->is_output);
}

TEST(PlanStages, ConstantsOfOneElementAreLiterals) {
  const Axis i("i", 4);
  Tensor y = compute("y", {i}, input("x", f32, {4})(i) * scalar(2.0f)());
  const WrittenNest plan = plan_stages(y);
  EXPECT_EQ(plan.buffers.size(), 2U);
  EXPECT_EQ(to_string(plan.find("y")->stage.body), "x[i] * 2f");
}

NestPlan scheduled(const Graph& graph, const Schedule& schedule) {
  const ScheduleLoops loops = replay(schedule.graph(), schedule);
  return apply_directives(apply_structure(plan_stages(graph), schedule, loops), loops.after);
}

// y = b + 1, b = a * 2, a = x + 1.
struct Chain {
  const Axis i = Axis("i", 8), io = Axis("io"), ii = Axis("ii");
  Tensor a = compute("a", {i}, input("x", f32, {8})(i) + 1.0f);
  Tensor b = compute("b", {i}, a(i) * 2.0f);
  Graph graph{compute("y", {i}, b(i) + 1.0f)};
  Schedule schedule{graph};
};

TEST(ApplyStructure, StagesComeAndGo) {
  Chain c;
  c.schedule["a"].compute_inline();
  c.schedule["y"].copy_in("b", "copy");
  const WrittenNest nest =
      apply_structure(plan_stages(c.graph), c.schedule, replay(c.graph, c.schedule));
  EXPECT_EQ(joined(stage_names(nest.stages)), "b, copy, y");
  EXPECT_EQ(to_string(nest.stages[0].stage.body), "(x[i] + 1f) * 2f");
  EXPECT_EQ(to_string(nest.stages[2].stage.body), "copy[i] + 1f");
  EXPECT_TRUE(nest.stages[2].directives.empty());  // they are done
}

TEST(ApplyDirectives, PlacesAreLoopsByPosition) {
  Chain c;
  c.schedule["y"].split(c.i, c.io, c.ii, 4);
  c.schedule["b"].compute_at("y", c.ii).store_at("y", c.io);
  c.schedule["a"].compute_at("b", c.i);
  const NestPlan plan = scheduled(c.graph, c.schedule);
  EXPECT_EQ(plan.stages[1].compute_at, (LoopLevel{2, 1}));
  EXPECT_EQ(plan.stages[1].store_at, (LoopLevel{2, 0}));
  EXPECT_EQ(plan.variable(*plan.stages[1].store_at), "y.io");
  EXPECT_EQ(loops_around(plan, 0), (std::vector<LoopLevel>{{2, 0}, {2, 1}, {1, 0}}));
  EXPECT_EQ(loops_outside_storage(plan.stages[1], loops_around(plan, 1)), 1U);
}

TEST(ApplyDirectives, StagesThatShareLoopsAreAGroup) {
  const Axis i("i", 8);
  Tensor x = input("x", f32, {8});
  Tensor a = compute("a", {i}, x(i) + 1.0f), b = compute("b", {i}, x(i) * 2.0f);
  const Graph graph(add(a, b, "y"));
  Schedule schedule(graph);
  schedule["a"].compute_with("b", i);
  const NestPlan plan = scheduled(graph, schedule);
  const StageId leader = *plan.find("b");
  EXPECT_EQ(plan.stages[0].compute_with, (LoopLevel{leader, 0}));
  EXPECT_EQ(plan.leader_of(0), leader);
  EXPECT_EQ(plan.group_of(leader), (std::vector<StageId>{0, 1}));
  EXPECT_EQ(plan.leader_of(2), StageId{2});
}

TEST(DependsOn, ByWayOfOthers) {
  Chain c;
  const NestPlan plan = scheduled(c.graph, c.schedule);
  EXPECT_TRUE(depends_on(plan, 2, 0));
  EXPECT_FALSE(depends_on(plan, 0, 2));
  EXPECT_FALSE(depends_on(plan, 1, 1));
}

TEST(ApplyDirectives, AStageKnowsWhatItReadsAndWhatReadsIt) {
  Tensor x = input("x", f32, {4});
  Tensor a = mul(x, x, "a");
  const Graph graph(add(a, add(a, x, "b"), "y"));
  const NestPlan plan = scheduled(graph, Schedule(graph));
  EXPECT_EQ(plan.stages[0].readers, (std::vector<StageId>{1, 2}));
  EXPECT_EQ(plan.stages[2].producers, (std::vector<StageId>{0, 1}));
  EXPECT_TRUE(plan.stages[0].producers.empty());  // an input is no stage
  EXPECT_EQ(plan.find("b"), StageId{1});
  EXPECT_EQ(plan.find("x"), std::nullopt);
}

}  // namespace
}  // namespace emulsion
