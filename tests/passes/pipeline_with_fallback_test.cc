#include "passes/pipeline_with_fallback.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/error.h"
#include "dsl/graph_text.h"
#include "dsl/operators.h"
#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

const std::vector<Target> kTargets = {Target::parse("x86-64-v4,cores=2"),
                                      Target::parse("x86-64-v3,cores=2")};

// Policies stand for bugs of what asks them: they throw what a check that does not hold throws.
DeriveOptions with_bug_in_shared_loops() {
  DeriveOptions options;
  options.loops = [](const LoopCandidate& candidate) -> std::optional<FusionRefusal> {
    EMULSION_CHECK(candidate.pattern.empty(), "a bug in {}", candidate.pattern);
    return std::nullopt;
  };
  return options;
}

DeriveOptions with_bug_in_siblings() {
  DeriveOptions options;
  options.siblings = [](const SiblingCandidate& candidate) -> std::optional<FusionRefusal> {
    EMULSION_CHECK(candidate.sibling == nullptr, "a bug in siblings");
    return std::nullopt;
  };
  return options;
}

// A directive that is refused, whether or not there is fusion: panels of no columns.
DeriveOptions with_bug_in_panels() {
  DeriveOptions options;
  options.panels["w"] = 0;
  return options;
}

Graph softmax_of_rows() { return Graph(relu(softmax(input("x", f32, {64, 100}), 1, "p"), "y")); }

Graph linear() {
  const Tensor x = input("x", f32, {64, 100}), w = weight("w", f32, {100, 48});
  return Graph(relu(matmul(x, w, "mm"), "y"));
}

Graph two_of_one() {
  const Tensor x = input("x", f32, {64, 100});
  return Graph({relu(x, "a"), abs(x, "b")});
}

void expect_same(const LoweredForTargets& got, const std::vector<Lowered>& expected) {
  ASSERT_EQ(got.targets.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(to_string(got.targets[i].nest), to_string(expected[i].nest)) << i;
  }
}

TEST(PipelineWithFallback, IsThePipelineWhereNothingIsWrong) {
  for (const Graph& graph : {softmax_of_rows(), linear(), two_of_one()}) {
    const LoweredForTargets got = run_pipeline_with_fallback(graph, kTargets);
    EXPECT_TRUE(got.warnings.empty()) << got.warnings.front();
    expect_same(got, run_pipeline(graph, kTargets));
  }
}

TEST(PipelineWithFallback, LeavesLoopsApartFirst) {
  const Graph graph = softmax_of_rows();
  const LoweredForTargets got =
      run_pipeline_with_fallback(graph, kTargets, with_bug_in_shared_loops());
  ASSERT_EQ(got.warnings.size(), 1U);
  EXPECT_NE(got.warnings[0].find("as derived: "), std::string::npos) << got.warnings[0];
  EXPECT_NE(got.warnings[0].find("a bug in shared rows"), std::string::npos) << got.warnings[0];
  DeriveOptions apart;
  apart.loops = [](const LoopCandidate&) { return FusionRefusal("expected none"); };
  expect_same(got, run_pipeline(graph, kTargets, apart));
  EXPECT_GT(got.targets[0].fusion.fused_count(), 0) << "what stands in no loops stays fused";
}

TEST(PipelineWithFallback, LeavesSiblingsApartToo) {
  const LoweredForTargets got =
      run_pipeline_with_fallback(two_of_one(), kTargets, with_bug_in_siblings());
  EXPECT_EQ(got.warnings.size(), 1U);
  EXPECT_EQ(got.targets.size(), kTargets.size());
}

TEST(PipelineWithFallback, HasPlainLoopsInTheEndForEveryTarget) {
  const Graph graph = linear();
  const LoweredForTargets got = run_pipeline_with_fallback(graph, kTargets, with_bug_in_panels());
  ASSERT_EQ(got.warnings.size(), 3U);
  EXPECT_NE(got.warnings[0].find("cannot be lowered"), std::string::npos) << got.warnings[0];
  EXPECT_NE(got.warnings[2].find("operation by operation"), std::string::npos) << got.warnings[2];
  ASSERT_EQ(got.targets.size(), kTargets.size());
  for (const Lowered& lowered : got.targets) {
    EXPECT_EQ(lowered.schedule, Schedule(graph));
    EXPECT_TRUE(lowered.nest.packs.empty());
  }
}

TEST(PipelineWithFallback, ThePipelineItselfSaysThatTheBugIsOurs) {
  const auto run = [] { run_pipeline(linear(), kTargets[0], with_bug_in_panels()); };
  EXPECT_TRUE(throws_with<InternalError>(run, "the schedule that was derived cannot be lowered"));
}

TEST(PipelineWithFallback, TheDumpShowsEveryWay) {
  std::string dump;
  run_pipeline_with_fallback(linear(), kTargets, with_bug_in_panels(), &dump);
  size_t behind = 0;
  for (const char* way : {"no operation in the loops", "operation by operation", "plain loops"}) {
    behind = dump.find(way, behind);
    ASSERT_NE(behind, std::string::npos) << way << "\n" << dump;
  }
}

TEST(PipelineWithFallback, WhatMustBeFusedHasNone) {
  FusionConfig fusion;
  fusion.fail_on_unfused = {"matmul+relu"};
  const auto run = [&] {
    run_pipeline_with_fallback(linear(), kTargets, with_bug_in_panels(), nullptr, fusion);
  };
  EXPECT_TRUE(throws_with<InternalError>(run, "cannot be lowered"));
}

TEST(PipelineWithFallback, AnErrorOfTheUserIsNoReason) {
  FusionConfig fusion;
  fusion.fail_on_unfused = {"softmax+gelu"};
  const auto run = [&] { run_pipeline_with_fallback(linear(), kTargets, {}, nullptr, fusion); };
  EXPECT_TRUE(throws_with<Error>(run, "softmax"));
  DeriveOptions options;
  options.loops = [](const LoopCandidate&) -> std::optional<FusionRefusal> { fail("not today"); };
  const auto refused = [&] { run_pipeline_with_fallback(softmax_of_rows(), kTargets, options); };
  EXPECT_TRUE(throws_with<Error>(refused, "not today"));
}

}  // namespace
}  // namespace emulsion
