#include "passes/fuse/measured_fusions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "dsl/graph_text.h"
#include "dsl/operators.h"
#include "dsl/version.h"
#include "passes/fuse/fused_group.h"
#include "passes/fuse/fusion_config.h"
#include "passes/pipeline.h"
#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

using ::testing::HasSubstr;

const Target kTarget = Target::parse("x86-64-v3,cores=2");

// matmul, bias, relu: [16, 40] of a sum over 24.
Graph layer() {
  const Tensor x = input("x", f32, {16, 24}), w = weight("w", f32, {24, 40});
  return Graph(relu(add(matmul(x, w, "mm"), weight("b", f32, {40}), "t"), "y"));
}

MeasuredFusion fact(const std::string& pattern, const std::string& shape_class, double speed_up) {
  return {pattern, shape_class, kTarget.to_string_with_machine(), EMULSION_VERSION, speed_up, 7};
}

FusionReport report_with(const std::vector<MeasuredFusion>& facts, const Graph& graph = layer()) {
  FusionReport report;
  fuse_epilogues(graph, learn_from(graph, kTarget, facts, always_fuse), &report);
  return report;
}

int fused_with(const std::vector<MeasuredFusion>& facts) {
  return report_with(facts).fused_count();
}

TEST(MeasuredFusions, WhatMeasuredSlowerIsNotTaken) {
  const FusionReport report = report_with({fact("matmul+bias+relu", "16x32x16", 0.93)});
  EXPECT_EQ(report.fused_count(), 0);
  for (const FusionDecision& decision : report.decisions) EXPECT_TRUE(decision.measured);
  EXPECT_THAT(to_string(report),
              HasSubstr("mm -> t: not fused: expected matmul+bias+relu at shapes of 16x32x16 to "
                        "gain, measured 0.93 of unfused on this machine, 7 runs"));
}

TEST(MeasuredFusions, WhatMeasuredFasterIsTaken) {
  EXPECT_EQ(fused_with({fact("matmul+bias+relu", "16x32x16", 1.3)}), 2);
  EXPECT_EQ(fused_with({fact("matmul+bias+relu", "16x32x16", kMeasuredSlower)}), 2);  // noise
  EXPECT_EQ(fused_with({fact("matmul+bias+relu", "16x32x16", 0.96)}), 0);
  EXPECT_EQ(fused_with({}), 2);
}

TEST(MeasuredFusions, OnlyWhatWasMeasuredHere) {
  MeasuredFusion elsewhere = fact("matmul+bias+relu", "16x32x16", 0.5);
  elsewhere.target = Target::parse("x86-64-v3,cores=3").to_string_with_machine();
  EXPECT_EQ(fused_with({elsewhere}), 2);
  MeasuredFusion before = fact("matmul+bias+relu", "16x32x16", 0.5);
  before.version = "0.1.0";
  EXPECT_EQ(fused_with({before}), 2);
  EXPECT_EQ(fused_with({fact("matmul+bias+relu", "16x32x8", 0.5)}), 2);
  EXPECT_EQ(fused_with({fact("matmul+bias+relu", "16x32", 0.5)}), 2);
  EXPECT_EQ(fused_with({fact("matmul+bias+tanh", "16x32x16", 0.5)}), 2);
}

TEST(MeasuredFusions, OnlyTheEdgesInsideOfThePattern) {
  const FusionReport report = report_with({fact("matmul+bias", "16x32x16", 0.5)});
  ASSERT_EQ(report.decisions.size(), 2u);
  EXPECT_FALSE(report.decisions[0].fused);
  EXPECT_TRUE(report.decisions[1].fused);
  EXPECT_FALSE(report.decisions[1].measured);
}

TEST(MeasuredFusions, TheLongestPatternDecides) {
  EXPECT_EQ(
      fused_with({fact("matmul+bias", "16x32x16", 0.5), fact("matmul+bias+relu", "16x32x16", 1.2)}),
      2);
  EXPECT_EQ(
      fused_with({fact("matmul+bias", "16x32x16", 1.5), fact("matmul+bias+relu", "16x32x16", 0.8)}),
      0);
}

TEST(MeasuredFusions, OfTwoFactsAboutOneTheFirstDecides) {
  const MeasuredFusion slower = fact("matmul+bias+relu", "16x32x16", 0.8);
  const MeasuredFusion faster = fact("matmul+bias+relu", "16x32x16", 1.2);
  EXPECT_EQ(fused_with({slower, faster}), 0);
  EXPECT_EQ(fused_with({faster, slower}), 2);
}

TEST(MeasuredFusions, AnotherReasonIsNoMeasurement) {
  FusionRules off;
  off.enabled = false;
  FusionReport report;
  const std::vector<MeasuredFusion> facts = {fact("matmul+bias+relu", "16x32x16", 0.5)};
  fuse_epilogues(layer(), learn_from(layer(), kTarget, facts, policy_of(off)), &report);
  EXPECT_FALSE(report.decisions.at(0).measured);
  EXPECT_THAT(report.decisions.at(0).reason, HasSubstr("enabled by the config"));
}

TEST(MeasuredFusions, OfAConfigInThePipeline) {
  FusionConfig config;
  config.measured = {fact("matmul+bias+relu", "16x32x16", 0.93)};
  EXPECT_EQ(run_pipeline(layer(), kTarget, {}, nullptr, config).fusion.fused_count(), 0);
  EXPECT_EQ(
      run_pipeline(layer(), Target::parse("x86-64-v4"), {}, nullptr, config).fusion.fused_count(),
      2);
}

TEST(MeasuredFusions, RulesOfATargetInThePipeline) {
  FusionConfig config = parse_fusion_config(R"({"targets": {"x86-64-v4": {"enabled": false}}})");
  EXPECT_EQ(run_pipeline(layer(), kTarget, {}, nullptr, config).fusion.fused_count(), 2);
  const Target v4 = Target::parse("x86-64-v4");
  EXPECT_EQ(run_pipeline(layer(), v4, {}, nullptr, config).fusion.fused_count(), 0);
  config.targets[0].rules.fail_on_unfused = {"matmul+bias+relu"};
  EXPECT_NO_THROW(run_pipeline(layer(), kTarget, {}, nullptr, config));
  EXPECT_ERROR(run_pipeline(layer(), v4, {}, nullptr, config),
               "expected matmul+bias+relu at y to be one group");
}

// --- loops that are shared -----------------------------------------------------------------------

Graph rows() { return Graph(softmax(input("x", f32, {64, 96}), -1, "y")); }
const Target kOneCore = Target::parse("x86-64-v3,cores=1");

Lowered lowered_with(const Graph& graph, const Target& target,
                     const std::vector<MeasuredFusion>& facts) {
  FusionConfig config;
  config.measured = facts;
  return run_pipeline(graph, target, {}, nullptr, config);
}

MeasuredFusion fact_at(const Target& target, const std::string& pattern,
                       const std::string& shape_class, double speed_up) {
  return {pattern, shape_class, target.to_string_with_machine(), EMULSION_VERSION, speed_up, 7};
}

TEST(MeasuredLoops, RowsThatMeasuredSlowerStayApart) {
  const Lowered apart =
      lowered_with(rows(), kOneCore, {fact_at(kOneCore, "softmax", "64x64x8192", 0.9)});
  EXPECT_TRUE(apart.grouped.loop_groups().empty());
  int measured = 0;
  for (const FusionDecision& decision : apart.fusion.decisions) {
    if (decision.pattern != kSharedRows) continue;
    EXPECT_FALSE(decision.fused);
    EXPECT_TRUE(decision.measured);
    EXPECT_THAT(decision.reason, HasSubstr("expected softmax at shapes of 64x64 to gain, measured "
                                           "0.90 of unfused on this machine, 7 runs"));
    ++measured;
  }
  EXPECT_GE(measured, 2);
}

TEST(MeasuredLoops, RowsThatMeasuredFasterShare) {
  for (const std::vector<MeasuredFusion>& facts :
       {std::vector<MeasuredFusion>{},
        {fact_at(kOneCore, "softmax", "64x64x8192", 1.2)},
        {fact_at(kOneCore, "softmax", "64x64x8192", kMeasuredSlower)}}) {
    EXPECT_EQ(lowered_with(rows(), kOneCore, facts).grouped.loop_groups().size(), 1u);
  }
}

TEST(MeasuredLoops, OnlyWhatWasMeasuredHere) {
  const Target four = Target::parse("x86-64-v3,cores=4");
  for (const MeasuredFusion& fact : {fact_at(four, "softmax", "64x64x8192", 0.5),
                                     fact_at(kOneCore, "softmax", "64x32x8192", 0.5),
                                     fact_at(kOneCore, "layer_norm", "64x64x8192", 0.5),
                                     fact_at(kOneCore, "siblings", "64x64", 0.5)}) {
    EXPECT_EQ(lowered_with(rows(), kOneCore, {fact}).grouped.loop_groups().size(), 1u)
        << fact.pattern;
  }
}

TEST(MeasuredLoops, NotAContractionOfTheRows) {
  const Tensor q = input("q", f32, {128, 64}), keys = input("k", f32, {64, 128});
  const Tensor v = input("v", f32, {128, 64});
  const Graph attention(matmul(softmax(matmul(q, keys, "s"), -1, "p"), v, "y"));
  const std::string without = to_string(lowered_with(attention, kOneCore, {}).grouped);
  ASSERT_THAT(without, HasSubstr("fused_row_blocks_"));
  EXPECT_EQ(to_string(lowered_with(attention, kOneCore,
                                   {fact_at(kOneCore, "softmax", "128x128x16384", 0.5)})
                          .grouped)
                .find("fused_row_blocks_"),
            without.find("fused_row_blocks_"));
}

TEST(MeasuredLoops, TheRulesComeFirst) {
  FusionConfig config;
  config.enabled = false;
  config.measured = {fact_at(kOneCore, "softmax", "64x64x8192", 0.5)};
  for (const FusionDecision& decision :
       run_pipeline(rows(), kOneCore, {}, nullptr, config).fusion.decisions) {
    EXPECT_FALSE(decision.measured) << decision.reason;
  }
}

Graph siblings() {
  const Tensor x = input("x", f32, {1024, 1024});
  return Graph({relu(x, "a"), neg(x, "b")});
}

FusionReport siblings_with(const std::vector<MeasuredFusion>& facts) {
  FusionReport report;
  find_siblings(siblings(), learn_from(kTarget, facts, share_always), &report);
  return report;
}

TEST(MeasuredSiblings, WhatMeasuredSlowerStaysApart) {
  const FusionReport report = siblings_with({fact("siblings", "1024x1024", 0.85)});
  ASSERT_EQ(report.decisions.size(), 1u);
  EXPECT_TRUE(report.decisions[0].measured);
  EXPECT_EQ(to_string(report),
            "siblings, a -> b: not fused: expected siblings at shapes of 1024x1024 to gain, "
            "measured 0.85 of unfused on this machine, 7 runs\n");
}

TEST(MeasuredSiblings, WhatWasNotMeasuredSlowerShares) {
  EXPECT_EQ(siblings_with({}).fused_count(), 1);
  EXPECT_EQ(siblings_with({fact("siblings", "1024x1024", 1.1)}).fused_count(), 1);
  EXPECT_EQ(siblings_with({fact("siblings", "512x1024", 0.5)}).fused_count(), 1);
  EXPECT_EQ(siblings_with({fact("add+relu", "1024x1024", 0.5)}).fused_count(), 1);
  MeasuredFusion elsewhere = fact("siblings", "1024x1024", 0.5);
  elsewhere.version = "0.1.0";
  EXPECT_EQ(siblings_with({elsewhere}).fused_count(), 1);
}

TEST(MeasuredSiblings, ARunTimeSizeHasNoClass) {
  const Tensor x = input("x", f32, {Extent::size("B"), 1024});
  FusionReport report;
  find_siblings(Graph({relu(x, "a"), tanh(x, "b")}),
                learn_from(kTarget, {fact("siblings", "1024x1024", 0.5)}, share_always), &report);
  EXPECT_EQ(report.fused_count(), 1);
}

TEST(MeasuredSiblings, AnotherReasonIsNoMeasurement) {
  FusionReport report;
  const auto never = [](const SiblingCandidate& /*candidate*/) {
    return std::optional<FusionRefusal>(std::string("expected another day"));
  };
  find_siblings(siblings(), learn_from(kTarget, {fact("siblings", "1024x1024", 0.5)}, never),
                &report);
  EXPECT_FALSE(report.decisions.at(0).measured);
  EXPECT_EQ(report.decisions.at(0).reason, "expected another day");
}

TEST(MeasuredSiblings, InThePipeline) {
  const auto apart = lowered_with(siblings(), kTarget, {fact("siblings", "1024x1024", 0.85)});
  ASSERT_EQ(apart.fusion.decisions.size(), 1u);
  EXPECT_TRUE(apart.fusion.decisions[0].measured);
}

// Of an edge that ends in the loops and begins outside of them it says nothing.
TEST(MeasuredLoops, NotOfAnEdgeFromElsewhere) {
  const Tensor x = input("x", f32, {16, 40});
  const Tensor t = add(x, x, "t"), y = relu(t, "y"), z = neg(y, "z");
  const LoopPolicy policy =
      learn_from(Graph(z), kOneCore, {fact_at(kOneCore, "add+relu", "16x32", 0.5)},
                 LoopPolicy(share_all_loops));
  EXPECT_TRUE(policy({kSharedRows, {z.op().get(), y.op().get(), t.op().get()}}));
  EXPECT_FALSE(policy({kSharedRows, {z.op().get(), y.op().get()}}));
}

// --- what is measured by shape -------------------------------------------------------------------

const Target kSmallCache = Target::parse("x86-64-v3,cores=1,l2=4096");

// Three neighbours down, behind three across; a third stencil behind them.
Graph stencils(bool three) {
  const Axis i("i", 64), j("j", 70), wide("i", 66);
  const Tensor x = input("x", f32, {66, 72});
  const Tensor bx = compute("bx", {wide, j}, x(wide, j) + x.at({wide, Expr(j) + 2}));
  const Tensor by = compute("by", {i, j}, bx(i, j) + bx.at({Expr(i) + 2, j}));
  if (!three) return Graph(by);
  const Axis fewer("i", 62);
  return Graph(compute("bz", {fewer, j}, by(fewer, j) + by.at({Expr(fewer) + 2, j})));
}
Graph layers(int count) {
  Tensor y = input("x", f32, {100, 12});
  for (int i = 0; i < count; ++i) {
    y = matmul(y, weight("w" + std::to_string(i), f32, {12, 12}), "y" + std::to_string(i));
  }
  return Graph(y);
}
Graph transposed() {
  return Graph(
      add(transpose(input("x", f32, {70, 64}), {1, 0}, "t"), input("z", f32, {64, 70}), "y"));
}
Graph sliced() {
  const Tensor all = input("x", f32, {66, 70});
  const Axis i("i", 64), j("j", 70);
  return Graph(add(compute("t", {i, j}, all.at({Expr(i) + 1, j})), input("z", f32, {64, 70}), "y"));
}
Graph joined() {
  const Tensor a = input("a", f32, {30, 70}), b = input("b", f32, {34, 70});
  return Graph(relu(concat({a, b}, 0, "t"), "y"));
}

// How many were taken, and how many not because of a measurement.
using Counts = std::pair<int, int>;
Counts taken_and_measured(const Graph& graph, const Target& target, const std::string& pattern,
                          const std::vector<MeasuredFusion>& facts) {
  int taken = 0, measured = 0;
  for (const FusionDecision& decision : lowered_with(graph, target, facts).fusion.decisions) {
    if (decision.pattern != pattern) continue;
    taken += decision.fused ? 1 : 0;
    measured += decision.measured ? 1 : 0;
    EXPECT_FALSE(decision.fused && decision.measured);
  }
  return {taken, measured};
}

struct MeasuredLoop {
  std::string pattern;
  Graph graph;
  Target target, elsewhere;
};
std::vector<MeasuredLoop> measured_loops() {
  return {{kSlidingWindows, stencils(false), kSmallCache, kOneCore},
          {kReadThrough, transposed(), kSmallCache, kOneCore},
          {kBordersThrough, joined(), kOneCore, kSmallCache}};
}

TEST(MeasuredByShape, WhatMeasuredSlowerStaysApart) {
  for (const auto& [pattern, graph, target, elsewhere] : measured_loops()) {
    EXPECT_EQ(taken_and_measured(graph, target, pattern, {}), Counts(1, 0)) << pattern;
    EXPECT_EQ(taken_and_measured(graph, target, pattern, {fact_at(target, pattern, "64x64", 0.9)}),
              Counts(0, 1))
        << pattern;
  }
}

TEST(MeasuredByShape, WhatWasNotMeasuredSlowerIsTaken) {
  for (const auto& [pattern, graph, target, elsewhere] : measured_loops()) {
    const std::string other = pattern == kReadThrough ? kBordersThrough : kReadThrough;
    for (const MeasuredFusion& fact :
         {fact_at(target, pattern, "64x64", 1.1), fact_at(target, pattern, "32x64", 0.5),
          fact_at(elsewhere, pattern, "64x64", 0.5), fact_at(target, other, "64x64", 0.5),
          fact_at(target, "siblings", "64x64", 0.5)}) {
      EXPECT_EQ(taken_and_measured(graph, target, pattern, {fact}), Counts(1, 0)) << pattern;
    }
  }
}

TEST(MeasuredByShape, LayersThatMeasuredSlowerStayApart) {
  const auto with = [](const Graph& graph, double speed_up) {
    return taken_and_measured(graph, kSmallCache, kLayerBlocks,
                              {fact_at(kSmallCache, kLayerBlocks, "64x8", speed_up)});
  };
  EXPECT_EQ(with(layers(2), 0.9), Counts(0, 1));
  EXPECT_EQ(with(layers(2), 1.1), Counts(1, 0));
  EXPECT_EQ(with(layers(3), 0.9), Counts(2, 0)) << "two of them were measured";
}

TEST(MeasuredByShape, NotOfMoreThanWasMeasured) {
  EXPECT_EQ(taken_and_measured(stencils(true), kSmallCache, kSlidingWindows,
                               {fact_at(kSmallCache, kSlidingWindows, "32x64", 0.5)}),
            Counts(2, 0))
      << "three of them";
  EXPECT_EQ(taken_and_measured(sliced(), kSmallCache, kReadThrough,
                               {fact_at(kSmallCache, kReadThrough, "64x64", 0.5)}),
            Counts(1, 0))
      << "rows as they lie";
}

// Sums take their time otherwise than what was measured.
TEST(MeasuredByShape, NotOfWindowsOfSums) {
  const Axis i("i", 64), wide("i", 66), j("j", 70), k("k", 3);
  const Tensor p = compute("p", {wide, j}, input("x", f32, {66, 70})(wide, j) * 2.0f);
  const Tensor plain = compute("plain", {i, j}, p(i, j) + p.at({Expr(i) + 2, j}));
  const Tensor sums = compute("sums", {i, j}, sum(k, p.at({Expr(i) + k, j})));
  const LoopPolicy policy =
      learn_from(Graph(plain + sums), kOneCore, {fact_at(kOneCore, kSlidingWindows, "64x64", 0.5)},
                 LoopPolicy(share_all_loops));
  EXPECT_TRUE(policy({kSlidingWindows, {plain.op().get(), p.op().get()}}));
  EXPECT_FALSE(policy({kSlidingWindows, {sums.op().get(), p.op().get()}}));
}

TEST(MeasuredByShape, NotOfWindowsOfSumsInAGroup) {
  const Axis i("i", 64), wide("i", 66), j("j", 70), k("k", 3);
  const Tensor p = compute("p", {wide, j}, input("x", f32, {66, 70})(wide, j) * 2.0f);
  const Tensor sums = compute("sums", {i, j}, sum(k, p.at({Expr(i) + k, j})));
  const Tensor y = relu(sums, "y");
  const OpPtr group = make_group({sums.op(), y.op()});
  const LoopPolicy policy =
      learn_from(Graph(y), kOneCore, {fact_at(kOneCore, kSlidingWindows, "64x64", 0.5)},
                 LoopPolicy(share_all_loops));
  EXPECT_FALSE(policy({kSlidingWindows, {group.get(), p.op().get()}}));
}

TEST(ShapeClass, RowsColumnsAndDepth) {
  EXPECT_EQ(shape_class({512, 1024}, {}).value_or(""), "512x1024");
  EXPECT_EQ(shape_class({511, 1025}, {}).value_or(""), "256x1024");
  EXPECT_EQ(shape_class({2, 3, 5, 7}, {}).value_or(""), "16x4");
  EXPECT_EQ(shape_class({9}, {}).value_or(""), "1x8");
  EXPECT_EQ(shape_class({}, {}).value_or(""), "1x1");
  EXPECT_EQ(shape_class({8, 8}, {Axis("k", 3), Axis("l", 3)}).value_or(""), "8x8x8");
}

TEST(ShapeClass, OfWhatIsNotKnownThereIsNone) {
  EXPECT_FALSE(shape_class({Extent::size("B"), 8}, {}));
  EXPECT_FALSE(shape_class({8}, {Axis("k", Extent::size("K"))}));
  EXPECT_FALSE(shape_class({0, 8}, {}));
  const int64_t huge = int64_t{1} << 40;
  EXPECT_FALSE(shape_class({huge, huge, 8}, {}));
}

TEST(MeasuredFusions, ARunTimeSizeHasNoClass) {
  const Tensor x = input("x", f32, {Extent::size("B"), 32});
  const Graph graph(relu(add(x, x, "t"), "y"));
  EXPECT_EQ(report_with({fact("add+relu", "16x32", 0.5)}, graph).fused_count(), 1);
}

TEST(MeasuredFusions, RefusesFactsThatAreNone) {
  EXPECT_ERROR(fused_with({fact("gemm+relu", "16x32x16", 1)}), "measured fusion: expected matmul");
  EXPECT_ERROR(fused_with({fact("add+relu", "16x32", -1)}), "expected a speed-up above 0, got -1");
  for (const double speed_up : {0.0, double{NAN}, double{INFINITY}}) {
    EXPECT_ERROR(fused_with({fact("add+relu", "16x32", speed_up)}), "expected a speed-up above 0");
  }
  MeasuredFusion none = fact("add+relu", "16x32", 1);
  none.runs = 0;
  EXPECT_ERROR(fused_with({none}), "measured fusion, add+relu: expected runs, got 0");
}

}  // namespace
}  // namespace emulsion
