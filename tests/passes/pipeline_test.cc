#include "passes/pipeline.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "dsl/error.h"
#include "dsl/graph_text.h"
#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/lower/lower.h"
#include "passes/lower/make_nest.h"
#include "passes/nest/verify_nest.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/nest/partition_graphs.h"
#include "tests/passes/op_of.h"
#include "tests/scoped_variable.h"

namespace emulsion {
namespace {

const Target kTarget = Target::parse("x86-64-v3,cores=4");

Graph linear() {
  Tensor x = input("x", f32, {8, 16}), w = weight("w", f32, {16, 24});
  return Graph(relu(matmul(x, w, "mm"), "y"));
}

// Takes what is printed to standard error, and gives it back to the process however a case ends.
class CapturedStderr {
 public:
  CapturedStderr() { testing::internal::CaptureStderr(); }
  ~CapturedStderr() {
    if (capturing_) testing::internal::GetCapturedStderr();
  }
  CapturedStderr(const CapturedStderr&) = delete;
  CapturedStderr& operator=(const CapturedStderr&) = delete;

  std::string text() {
    capturing_ = false;
    return testing::internal::GetCapturedStderr();
  }

 private:
  bool capturing_ = true;
};

// What a run prints to standard error with EMULSION_DUMP set to `value`.
std::string dumped(const char* value, const Graph& graph = linear()) {
  const ScopedVariable dump("EMULSION_DUMP", value);
  CapturedStderr captured;
  run_pipeline(graph, kTarget);
  return captured.text();
}

TEST(Pipeline, GivesEveryRepresentation) {
  const Lowered lowered = run_pipeline(linear(), kTarget);
  EXPECT_EQ(op_of(lowered.grouped, "y")->kind, OpKind::fused);
  EXPECT_EQ(lowered.schedule, derive_schedule(linear(), kTarget));
  EXPECT_EQ(to_string(lowered.nest), to_string(lower(linear(), lowered.schedule)));
}

TEST(Pipeline, WithoutFusionTheGraphStaysAsItIs) {
  DeriveOptions options;
  options.fuse = false;
  const Graph graph = linear();
  EXPECT_EQ(run_pipeline(graph, kTarget, options).grouped.ops(), graph.ops());
}

TEST(Pipeline, TakesAScheduleByHand) {
  const Graph graph = linear();
  const Schedule schedule = parse_schedule("emulsion schedule 1\ny.parallel(i0)\n", graph);
  EXPECT_NE(to_string(run_pipeline(graph, schedule)).find("parallel y.i0"), std::string::npos);
}

// A kernel's callers pack a weight once, whichever of the targets their machine is.
TEST(Pipeline, AllTargetsPackWeightsAlike) {
  const Tensor x = input("x", f32, {128, 256}), w = weight("w", f32, {256, 512});
  const Graph graph(matmul(x, w, "y"));
  const std::vector<Target> targets = {Target::parse("x86-64-v4"), Target::parse("x86-64-v3")};
  const auto packed = [](const Lowered& lowered) { return lowered.nest.arguments().at(1)->shape; };
  const std::vector<Lowered> together = run_pipeline(graph, targets);
  EXPECT_EQ(packed(together.at(0)), packed(run_pipeline(graph, targets[0])));
  EXPECT_EQ(packed(together.at(1)), packed(together.at(0)));
  EXPECT_NE(packed(run_pipeline(graph, targets[1])), packed(together.at(0))) << "alone";
}

TEST(Pipeline, HandsRefusalsOn) {
  const Graph graph = linear();
  Schedule schedule(graph);
  schedule["mm"].parallel(Axis("k"));
  EXPECT_TRUE(throws_with<ScheduleError>([&] { run_pipeline(graph, schedule); }, "mm.parallel(k)"));
}

TEST(Pipeline, DumpsEveryStep) {
  const std::string text = dumped("1");
  std::vector<std::string> steps = {"graph", "fuse_epilogues", "share_loops", "derive_schedule",
                                    "make_nest"};
  for (const NestPass& pass : nest_passes()) steps.emplace_back(pass.name);
  size_t behind = 0;
  for (const std::string& step : steps) {
    behind = text.find("--- after " + step, behind);
    ASSERT_NE(behind, std::string::npos) << step << "\n" << text;
  }
}

TEST(Pipeline, DumpSaysWhatDidNotChange) {
  const std::string text = dumped("1", Graph(relu(input("x", f32, {4}))));
  EXPECT_NE(text.find("fuse_epilogues (unchanged)"), std::string::npos);
}

TEST(Pipeline, PrintsNothingUnasked) { EXPECT_EQ(dumped("0"), ""); }

LoopNest partitioned() {
  Schedule schedule = doubled(10);
  schedule["y"].partition(Axis("io"));
  return make_nest(schedule.graph(), schedule);
}

TEST(NestPasses, AreNamedInTheirOrder) {
  ASSERT_EQ(nest_passes().size(), 3U);
  EXPECT_STREQ(nest_passes()[0].name, "partition_loops");
  EXPECT_STREQ(nest_passes()[1].name, "simplify_nest");
  EXPECT_STREQ(nest_passes()[2].name, "spread_prefetches");
}

TEST(NestPasses, AreWhatLowerAndThePipelineRun) {
  Schedule schedule = doubled(10);
  schedule["y"].partition(Axis("io"));
  const std::string expected = to_string(run_nest_passes(partitioned()));
  EXPECT_EQ(to_string(lower(schedule.graph(), schedule)), expected);
  EXPECT_EQ(to_string(run_pipeline(schedule.graph(), schedule)), expected);
}

TEST(NestPasses, LeaveANestThatVerifiesAndThatTheyDoNotChangeAgain) {
  const LoopNest nest = run_nest_passes(partitioned());
  EXPECT_NE(to_string(nest), to_string(partitioned()));
  EXPECT_NO_THROW(verify_nest(nest));
  EXPECT_EQ(run_nest_passes(nest).root, nest.root);
}

// Schedules name what they make after what they make it of.
TEST(Pipeline, TakesEveryLegalName) {
  const Extent rows = Extent::size("B_");
  const Axis i("i_", 64), j(std::string(128, 'j'), 64),
      k("k_", Extent::size(std::string(128, 'K')));
  for (const std::string& name : {std::string("y_"), std::string(127, 'y') + "_"}) {
    const Tensor x = input("x_", f32, {rows, 40}), c = input("c_", i32, {k.extent()});
    const Tensor w = weight(std::string(127, 'w') + "_", f32, {40, 64});
    const Tensor p = input("p_", f32, {64, k.extent()}), q = input("q_", f32, {k.extent(), 64});
    Func product(name), count(name);
    product(i, j) = max(sum(k, p(i, k) * q(k, j)) + 1.0f, 0.0f) + reduce_max(k, p(i, k));
    count(i) = sum(k, cast(i32, c(k) == i));
    for (const Graph& graph :
         {Graph(matmul(x, w, name)), Graph(product), Graph(count), Graph(softmax(x, 1, name)),
          Graph(sum(p, {1}, false, name)), Graph(sum(q, {0}, false, name)),
          Graph({compute("", {i}, count(i) + 1, name), compute("", {i}, count(i) + 2, name)})}) {
      EXPECT_EQ(to_string(parse_graph(to_string(graph))), to_string(graph));
      for (const char* target : {"x86-64-v2", "x86-64-v4"}) {
        const Lowered lowered = run_pipeline(graph, Target::parse(target));
        EXPECT_EQ(parse_schedule(to_string(lowered.schedule), lowered.grouped), lowered.schedule);
        verify_nest(lowered.nest);
      }
    }
  }
}

// A weight of that name could not be packed beside them.
TEST(Pipeline, TakesTheNameThatAPackedWeightWouldHave) {
  const Tensor x = input("x", f32, {8, 40}), w = weight("w", f32, {40, 64});
  const std::string one = to_string(run_pipeline(matmul(x, w, "y"), kTarget).schedule);
  EXPECT_NE(one.find("pack(w, "), std::string::npos);
  const std::string taken = to_string(run_pipeline(matmul(x, w, "w_packed"), kTarget).schedule);
  EXPECT_EQ(taken.find("pack(w, "), std::string::npos);
  const Tensor twin = weight("w_", f32, {40, 64});
  const Lowered both = run_pipeline(Graph({matmul(x, w, "y"), matmul(x, twin, "z")}), kTarget);
  EXPECT_EQ(both.nest.packs.size(), 1u);
}

TEST(NestPasses, EachLeavesANestThatVerifies) {
  LoopNest nest = partitioned();
  EXPECT_NO_THROW(verify_nest(nest));
  for (const NestPass& pass : nest_passes()) {
    nest = pass.run(nest);
    EXPECT_NO_THROW(verify_nest(nest)) << pass.name;
  }
}

}  // namespace
}  // namespace emulsion
