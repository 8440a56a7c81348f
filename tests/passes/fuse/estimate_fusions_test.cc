#include "passes/fuse/estimate_fusions.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "dsl/operators.h"
#include "passes/analyse/measure_traffic.h"
#include "passes/fuse/fuse_epilogues.h"
#include "passes/pipeline.h"
#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

// 1 GB/s to everything and a peak that nothing reaches: a byte takes a nanosecond.
MachineModel slow_memory() { return {1e9, {{"main memory", 0, 1}}}; }

FusionReport estimated(const Graph& graph, const MachineModel& machine = slow_memory(),
                       const SizeValues& sizes = {}) {
  FusionReport report;
  fuse_epilogues(graph, always_fuse, &report);
  return estimate_fusions(graph, std::move(report), machine, sizes);
}

Tensor matrix(const std::string& name) { return input(name, f32, {16, 32}); }
constexpr int64_t kMatrix = 16 * 32 * 4;  // bytes

TEST(EstimateFusions, AValueInsideIsNeitherWrittenNorRead) {
  const FusionReport report = estimated(relu(add(matrix("x"), matrix("z"), "t"), "y"));
  ASSERT_EQ(report.decisions.size(), 1u);
  ASSERT_TRUE(report.decisions[0].gain);
  const FusionGain& gain = *report.decisions[0].gain;
  EXPECT_EQ(gain.bytes_saved, 2 * kMatrix);  // of 5
  EXPECT_DOUBLE_EQ(gain.seconds_before, 5e-9 * kMatrix);
  EXPECT_DOUBLE_EQ(gain.speed_up(), 5.0 / 3);
  ASSERT_TRUE(report.gain);
  EXPECT_EQ(report.gain->bytes_saved, 2 * kMatrix);
  EXPECT_DOUBLE_EQ(report.gain->speed_up(), 5.0 / 3);
}

TEST(EstimateFusions, WhatBothReadIsReadOnce) {
  const Tensor x = matrix("x");
  const FusionReport report = estimated(add(tanh(x, "t"), x, "y"));
  EXPECT_EQ(report.decisions.at(0).gain.value().bytes_saved, 3 * kMatrix);
}

// t in the loops of y, and kept: the report's gain is that of its only decision.
TEST(EstimateFusions, WhatIsKeptIsWrittenAllTheSame) {
  const Tensor t = tanh(matrix("x"), "t");
  const Graph graph({exp(t, "y"), t});
  FusionReport report;
  report.decisions.push_back({"t", "y", true, "", kSharedRows});
  report = estimate_fusions(graph, report, slow_memory());
  EXPECT_EQ(report.decisions[0].gain.value().bytes_saved, kMatrix);
  EXPECT_EQ(report.gain.value().bytes_saved, kMatrix);
}

// t beside y, which does not need it: what both read is read once.
TEST(EstimateFusions, AResultBesideTheLastIsNotReadByIt) {
  const Tensor x = matrix("x");
  const Graph graph({exp(x, "y"), tanh(x, "t")});
  FusionReport report;
  report.decisions.push_back({"t", "y", true, "", kSharedRows});
  report = estimate_fusions(graph, report, slow_memory());
  EXPECT_EQ(report.decisions[0].gain.value().bytes_saved, kMatrix);
  EXPECT_DOUBLE_EQ(report.decisions[0].gain.value().seconds_after, 3e-9 * kMatrix);
  EXPECT_EQ(report.gain.value().bytes_saved, kMatrix);
}

TEST(EstimateFusions, WhatOthersNeedIsWrittenAllTheSame) {
  const Tensor t = tanh(matrix("x"), "t");
  for (const Graph& graph : {Graph({exp(t, "y"), relu(t, "z")}), Graph({exp(t, "y"), t})}) {
    const FusionReport report = estimated(graph);
    for (const FusionDecision& decision : report.decisions) {
      EXPECT_FALSE(decision.fused);
      EXPECT_EQ(decision.gain.value().bytes_saved, kMatrix);  // the read
    }
    EXPECT_EQ(report.gain.value().bytes_saved, 0);
    EXPECT_EQ(report.gain.value().speed_up(), 1);
  }
}

TEST(EstimateFusions, AGroupGrows) {
  const FusionReport report =
      estimated(relu(add(mul(matrix("x"), matrix("z"), "p"), matrix("v"), "s"), "y"));
  ASSERT_EQ(report.decisions.size(), 2u);
  // s: 3 of the 6 matrices are left, and z stays among what is read.
  EXPECT_DOUBLE_EQ(report.decisions[0].gain.value().seconds_after, 4e-9 * kMatrix);
  EXPECT_DOUBLE_EQ(report.decisions[1].gain.value().seconds_before, 6e-9 * kMatrix);
  EXPECT_DOUBLE_EQ(report.decisions[1].gain.value().seconds_after, 4e-9 * kMatrix);
  EXPECT_EQ(report.gain.value().bytes_saved, 4 * kMatrix);
}

TEST(EstimateFusions, NothingIsGainedWhereArithmeticIsTheLimit) {
  const Graph graph(relu(matmul(matrix("x"), input("w", f32, {32, 8}), "mm"), "y"));
  const MachineModel slow_arithmetic = {1e-3, {{"main memory", 0, 1e9}}};
  const FusionReport report = estimated(graph, slow_arithmetic);
  EXPECT_DOUBLE_EQ(report.gain.value().speed_up(), 1);
  EXPECT_EQ(report.gain.value().bytes_saved, 2 * 16 * 8 * 4);
  EXPECT_GT(estimated(graph).gain.value().speed_up(), 1.1);
}

TEST(EstimateFusions, ACacheThatHoldsAllMakesTheGainSmaller) {
  const Graph graph(relu(add(matrix("x"), matrix("z"), "t"), "y"));
  // Fused or not all is in the cache; then only what is fused.
  const MachineModel large = {1e9, {{"cache", 1e6, 10}, {"main memory", 0, 1}}};
  const MachineModel tight = {1e9, {{"cache", 2.5 * kMatrix, 10}, {"main memory", 0, 1}}};
  EXPECT_DOUBLE_EQ(estimated(graph, large).gain.value().speed_up(), 5.0 / 3);
  EXPECT_LT(estimated(graph, tight).gain.value().speed_up(), 1.1);  // relu alone was in the cache
}

// By the same count as measure_traffic() has of the nests.
TEST(EstimateFusions, AgreesWithTheTrafficOfTheNests) {
  const Tensor x = matrix("x"), z = matrix("z");
  const Tensor scale = input("scale", f32, {32}), shift = input("shift", f32, {32});
  const Tensor product = matmul(input("a", f32, {16, 8}), input("w", f32, {8, 32}), "mm");
  const Target target = Target::parse("x86-64-v3");
  DeriveOptions apart;
  apart.fuse = false;
  for (const Graph& graph :
       {Graph(relu(add(x, z), "y")), Graph(relu(mul(x, z), "y")), Graph(relu(product + shift, "y")),
        Graph(relu(x * scale + shift, "y"))}) {
    const Lowered fused = run_pipeline(graph, target);
    const int64_t before = measure_traffic(run_pipeline(graph, target, apart).nest).bytes();
    const int64_t after = measure_traffic(fused.nest).bytes();
    EXPECT_EQ(fused.fusion.gain.value().bytes_saved, before - after) << to_string(fused.fusion);
  }
}

TEST(EstimateFusions, RunTimeSizesNeedValues) {
  const Tensor x = input("x", f32, {Extent::size("B"), 32});
  const Graph graph(relu(tanh(x, "t"), "y"));
  EXPECT_FALSE(estimated(graph).gain);
  EXPECT_FALSE(estimated(graph).decisions.at(0).gain);
  EXPECT_EQ(estimated(graph, slow_memory(), {{"B", 16}}).gain.value().bytes_saved, 2 * kMatrix);
  EXPECT_EQ(estimated(graph, slow_memory(), {{"B", 0}}).gain.value().speed_up(), 1);
}

TEST(EstimateFusions, WhatNoMemoryHoldsIsNotKnown) {
  const Tensor x = input("x", f32, {Extent::size("A"), 32});
  const Tensor w = input("w", f32, {32, Extent::size("B")});
  const Graph graph(exp(matmul(x, w, "mm"), "y"));
  const int64_t huge = int64_t{1} << 40;
  EXPECT_TRUE(estimated(graph, slow_memory(), {{"A", huge}, {"B", 1}}).gain);
  EXPECT_FALSE(estimated(graph, slow_memory(), {{"A", huge}, {"B", huge}}).gain);
}

TEST(EstimateFusions, RefusesAMachineThatIsNone) {
  EXPECT_ERROR(estimated(relu(tanh(matrix("x"))), {0, {{"main memory", 0, 1}}}),
               "expected a peak above 0");
  EXPECT_ERROR(estimated(relu(tanh(matrix("x"))), {1, {}}), "expected at least one memory");
}

}  // namespace
}  // namespace emulsion
