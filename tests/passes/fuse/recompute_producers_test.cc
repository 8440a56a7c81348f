#include "passes/fuse/recompute_producers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dsl/graph_text.h"
#include "dsl/operators.h"
#include "dsl/version.h"
#include "passes/fuse/fused_group.h"
#include "passes/fuse/fusion_legality.h"
#include "passes/pipeline.h"
#include "tests/passes/check_nest.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/op_of.h"
#include "tests/passes/rewrite/check_rewrite.h"
#include "tests/scoped_variable.h"

namespace emulsion {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

MachineModel slow_memory() { return {1e9, {{"main memory", 0, 1}}}; }

Tensor matrix(const std::string& name) { return input(name, f32, {16, 32}); }

// The graph after both passes: sound, computing the same, and left alone by second runs.
Graph recomputed(const Graph& graph, FusionReport* report = nullptr,
                 const RecomputePolicy& policy = recompute_always) {
  const Graph result = recompute_producers(fuse_epilogues(graph), slow_memory(), policy, report);
  verify_graph(result);
  verify_graph(unfuse(result));
  expect_same_values(graph, result);
  EXPECT_EQ(recompute_producers(result, slow_memory(), policy).ops(), result.ops());
  EXPECT_EQ(fuse_epilogues(result).ops(), result.ops());
  return result;
}

// Why nothing was: all that the ledger says, and why_not_recomputed() of each value that it names.
std::string refusals(const Graph& graph) {
  FusionReport report;
  const Graph grouped = fuse_epilogues(graph);
  EXPECT_EQ(recomputed(graph, &report).ops().size(), grouped.ops().size());
  EXPECT_EQ(report.fused_count(), 0);
  for (const FusionDecision& decision : report.decisions) {
    EXPECT_EQ(why_not_recomputed(grouped, *op_of(grouped, decision.producer)).value_or(""),
              decision.reason);
  }
  report.gain = std::nullopt;  // without the sum
  return to_string(report);
}

std::vector<std::string> members(const Graph& graph, const std::string& group) {
  std::vector<std::string> names;
  for (const OpPtr& member : op_of(graph, group)->members) names.push_back(member->name);
  return names;
}

// --- what is computed again ----------------------------------------------------------------------

TEST(RecomputeProducers, EachUserHasACopy) {
  const Tensor s = relu(matrix("x"), "s");
  FusionReport report;
  const Graph graph({mul(s, 2.0f, "a"), add(s, matrix("z"), "b")});
  const Graph after = recomputed(graph, &report);
  EXPECT_THAT(computed(after), ElementsAre("a", "b"));
  EXPECT_THAT(members(after, "a"), ElementsAre("s_in_a", "a"));
  EXPECT_THAT(members(after, "b"), ElementsAre("s_in_b", "b"));
  EXPECT_EQ(after.arguments(), graph.arguments());
  // s is neither written nor read twice, and x is read twice: three matrices less, one more.
  EXPECT_THAT(to_string(report),
              HasSubstr("recomputed values, s -> a, b: fused: saves 4096 bytes for 512 operations "
                        "more, 1.40 times as fast by the model\n"));
}

TEST(RecomputeProducers, AGroupIsCopiedWhole) {
  const Tensor s = relu(neg(matrix("x"), "n"), "s");
  const Graph after = recomputed(Graph({mul(s, 2.0f, "a"), abs(s, "b"), neg(s, "c")}));
  EXPECT_THAT(computed(after), ElementsAre("a", "b", "c"));
  EXPECT_THAT(members(after, "c"), ElementsAre("n_in_c", "s_in_c", "c"));
}

TEST(RecomputeProducers, ADiamondIsOneGroupWithoutCopies) {
  const Tensor s = relu(matrix("x"), "s");
  const Graph after = recomputed(Graph(add(mul(s, 2.0f, "a"), abs(s, "b"), "y")));
  EXPECT_THAT(computed(after), ElementsAre("y"));
  EXPECT_THAT(members(after, "y"), ElementsAre("s", "a", "b", "y"));
}

TEST(RecomputeProducers, ADiamondWithASideThatIsAnOutput) {
  const Tensor s = relu(matrix("x"), "s");
  const Tensor a = mul(s, 2.0f, "a");
  const Graph after = recomputed(Graph({add(a, abs(s, "b"), "y"), a}));
  EXPECT_THAT(computed(after), ElementsAre("a", "y"));
  EXPECT_THAT(members(after, "a"), ElementsAre("s_in_a", "a"));
  EXPECT_THAT(members(after, "y"), ElementsAre("s_in_b", "b", "y"));
}

TEST(RecomputeProducers, AUserThatReadsItTwiceHasOneCopy) {
  const Tensor s = relu(matrix("x"), "s");
  const Graph after = recomputed(Graph({mul(s, s, "a"), neg(s, "b")}));
  EXPECT_THAT(members(after, "a"), ElementsAre("s_in_a", "a"));
}

// What is in a group has one reader.
TEST(RecomputeProducers, EachReaderInAGroupHasACopy) {
  const Tensor s = relu(matrix("x"), "s");
  const Tensor both = add(mul(s, 2.0f, "a"), abs(s, "b"), "y");
  const Graph after = recomputed(Graph({both, neg(s, "z")}));
  EXPECT_THAT(members(after, "y"), ElementsAre("s_in_a", "a", "s_in_b", "b", "y"));
}

TEST(RecomputeProducers, BroadcastsAndMasks) {
  const Axis m("m", 16), n("n", 32);
  const Tensor bias = input("bias", f32, {32}), x = matrix("x");
  const Tensor row = compute("row", {m, n}, bias(n));
  const Tensor mask = compute("mask", {m, n}, select(m >= n, x(m, n), 0.0f));
  const Graph after =
      recomputed(Graph({add(row, mask, "a"), mul(mask, row, "b"), neg(row, "c"), abs(mask, "d")}));
  EXPECT_THAT(computed(after), ElementsAre("a", "b", "c", "d"));
}

TEST(RecomputeProducers, IntoTheEpilogueOfAContraction) {
  const Tensor s = relu(matrix("r"), "s");
  const Tensor mm = matmul(input("x", f32, {16, 6}), weight("w", f32, {6, 32}), "mm");
  const Graph after = recomputed(Graph({relu(add(mm, s, "t"), "y"), neg(s, "z")}));
  EXPECT_THAT(computed(after), ElementsAre("y", "z"));
  EXPECT_THAT(members(after, "y"), ElementsAre("mm", "s_in_t", "t", "y"));
}

TEST(RecomputeProducers, RunTimeSizes) {
  const Tensor s = relu(input("x", f32, {Extent::size("B"), 8}), "s");
  FusionReport report;
  EXPECT_THAT(computed(recomputed(Graph({neg(s, "a"), abs(s, "b")}), &report)),
              ElementsAre("a", "b"));
  EXPECT_EQ(to_string(report), "recomputed values, s -> a, b: fused\n");
}

TEST(RecomputeProducers, OneBehindAnother) {
  const Tensor s = relu(matrix("x"), "s"), t = mul(s, 2.0f, "t");
  const Graph after = recomputed(Graph({neg(s, "a"), neg(t, "b"), abs(t, "c")}));
  EXPECT_THAT(computed(after), ElementsAre("a", "b", "c"));
  EXPECT_THAT(members(after, "b"), ElementsAre("s_in_t_in_b", "t_in_b", "b"));
}

TEST(RecomputeProducers, NamesThatAreTaken) {
  const Tensor s = relu(matrix("x"), "s");
  const Graph after = recomputed(Graph({neg(s, "a"), abs(s, "b"), abs(matrix("z"), "s_in_a")}));
  EXPECT_THAT(members(after, "a"), ElementsAre("s_in_a_1", "a"));
}

// --- what never is -------------------------------------------------------------------------------

// s would be copied into a_in_b under the name that the copy of s_in_a in b has.
TEST(RecomputeProducers, NamesOfCopiesThatAreNotWanted) {
  const RecomputePolicy not_s = [](const RecomputeCandidate& candidate) {
    return candidate.producer.name == "s" ? std::optional<FusionRefusal>("expected another day")
                                          : std::nullopt;
  };
  const Tensor s = relu(matrix("x"), "s"), t = relu(matrix("z"), "s_in_a");
  const Graph after =
      recomputed(Graph({neg(s, "a_in_b"), abs(s, "c"), neg(t, "b"), abs(t, "d")}), nullptr, not_s);
  EXPECT_THAT(members(after, "b"), ElementsAre("s_in_a_in_b", "b"));
}

TEST(RecomputeProducers, NotAnOutput) {
  const Tensor s = relu(matrix("x"), "s");
  EXPECT_THAT(refusals(Graph({s, neg(s, "a"), abs(s, "b")})),
              HasSubstr("s -> a, b: not fused: expected s to be no output of the graph"));
}

TEST(RecomputeProducers, NotAContraction) {
  const Tensor mm = matmul(input("x", f32, {16, 6}), weight("w", f32, {6, 32}), "mm");
  const std::string text = refusals(Graph({neg(mm, "a"), abs(mm, "b")}));
  EXPECT_EQ(text.rfind("mm -> a, b: not fused: expected an elementwise value to compute again, got "
                       "contraction mm\n",
                       0),
            0u)
      << text;
}

TEST(RecomputeProducers, NotAGroupWithAContraction) {
  const Tensor mm = matmul(input("x", f32, {16, 6}), weight("w", f32, {6, 32}), "mm");
  const Tensor s = relu(mm, "s");
  EXPECT_THAT(refusals(Graph({neg(s, "a"), abs(s, "b")})),
              HasSubstr("expected an elementwise value to compute again, got contraction mm"));
}

TEST(RecomputeProducers, NotAReduction) {
  const Tensor rows = sum(matrix("x"), {1}, false, "rows");
  EXPECT_THAT(refusals(Graph({neg(rows, "a"), abs(rows, "b")})),
              HasSubstr("expected an elementwise value to compute again, got reduction rows"));
}

TEST(RecomputeProducers, NotWhatMovesElements) {
  const Tensor turned = transpose(matrix("x"), {}, "turned");
  EXPECT_THAT(refusals(Graph({neg(turned, "a"), abs(turned, "b")})),
              HasSubstr("expected an elementwise value to compute again, got data movement"));
}

TEST(RecomputeProducers, NotIntoAReduction) {
  const Tensor s = relu(matrix("x"), "s");
  EXPECT_THAT(refusals(Graph({neg(s, "a"), sum(s, {1}, false, "rows")})),
              HasSubstr("expected an elementwise consumer, got reduction rows"));
}

TEST(RecomputeProducers, NotIntoAContraction) {
  const Tensor s = relu(matrix("x"), "s");
  EXPECT_THAT(refusals(Graph({neg(s, "a"), matmul(s, weight("w", f32, {32, 4}), "mm")})),
              HasSubstr("expected an elementwise consumer, got contraction mm"));
}

TEST(RecomputeProducers, NotWhereARowIsReadByAllRows) {
  const Tensor s = relu(input("bias", f32, {32}), "s");
  EXPECT_THAT(refusals(Graph({add(matrix("x"), s, "a"), mul(matrix("z"), s, "b")})),
              HasSubstr("expected a of the shape of s, [32], got [16, 32]"));
}

TEST(RecomputeProducers, NotWhereItIsReadAtOtherAxes) {
  const Axis m("m", 8), n("n", 8);
  const Tensor s = relu(input("x", f32, {8, 8}), "s");
  const Tensor turned = compute("turned", {m, n}, s(m, n) + s(n, m));
  EXPECT_THAT(refusals(Graph({neg(s, "a"), turned})),
              HasSubstr("expected turned to read s at its own axes [m, n], got s[n, m]"));
}

TEST(RecomputeProducers, NotForManyUsers) {
  const Tensor s = relu(matrix("x"), "s");
  std::vector<Tensor> users;
  for (size_t i = 0; i < FusionLegality::kMostCopies; ++i) {
    users.push_back(mul(s, static_cast<float>(i), "u" + std::to_string(i)));
  }
  EXPECT_THAT(computed(recomputed(Graph(users))), Not(testing::Contains("s")));
  users.push_back(neg(s, "last"));
  EXPECT_THAT(refusals(Graph(users)),
              HasSubstr("expected at most 8 users to compute s again in, got 9"));
}

TEST(RecomputeProducers, NotWhatIsLarge) {
  Tensor s = matrix("x");
  for (int i = 0; i < 60; ++i) s = relu(s);
  s = neg(s, "s");
  EXPECT_THAT(
      refusals(Graph({neg(s, "a"), abs(s, "b")})),
      HasSubstr("expected at most 100 operations to compute again for each user of s, got"));
}

TEST(RecomputeProducers, NotIntoWhatBecomesTooLarge) {
  const Axis m("m", 16), n("n", 32);
  Tensor s = matrix("x"), z = matrix("z");
  for (int i = 0; i < 10; ++i) s = relu(s);
  s = neg(s, "s");
  Expr body = s(m, n);
  for (int i = 0; i < 495; ++i) body = body + z(m, n);
  EXPECT_THAT(refusals(Graph({compute("large", {m, n}, body), neg(s, "b")})),
              HasSubstr("expected at most 1000 operations when s is written out in large, got"));
}

TEST(RecomputeProducers, NotAnInput) {
  const Tensor x = matrix("x");
  const Graph graph({neg(x, "a"), abs(x, "b")});
  EXPECT_THAT(refusals(graph), IsEmpty());
  EXPECT_THAT(why_not_recomputed(graph, *op_of(graph, "x")).value_or(""),
              HasSubstr("expected a producer that is computed, got input x"));
}

TEST(RecomputeProducers, NothingToSayOfOneUser) {
  EXPECT_THAT(refusals(Graph(sum(relu(matrix("x"), "s"), {1}))), IsEmpty());
}

// --- stacks --------------------------------------------------------------------------------------

// Each step reads the one before twice, and one of its readers is an output, so that the two are in
// no group together.
Graph diamonds(int count, const Shape& shape = {16, 32}) {
  Tensor value = input("x", f32, shape);
  std::vector<Tensor> outputs;
  for (int i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    outputs.push_back(relu(value, "a" + number));
    value = sub(outputs.back(), mul(value, 0.5f, "b" + number), "y" + number);
  }
  outputs.push_back(value);
  return Graph(outputs);
}

TEST(RecomputeProducers, StackedDiamondsDoNotBlowUp) {
  FusionReport report;
  const Graph after =
      recompute_producers(fuse_epilogues(diamonds(64)), slow_memory(), recompute_always, &report);
  verify_graph(after);
  size_t copies = 0;
  for (const OpPtr& op : after.ops()) {
    copies += op->members.size();
    if (!is_computed(*op)) continue;
    EXPECT_LE(FusionLegality::written_out(*op, {}).nodes, FusionLegality::kMostOperations);
  }
  EXPECT_LE(copies, 64 * 32u);
  EXPECT_GE(report.fused_count(), 20);
  EXPECT_THAT(to_string(report), HasSubstr("not fused: expected at most"));
  EXPECT_EQ(recompute_producers(after, slow_memory(), recompute_always).ops(), after.ops());
  recomputed(diamonds(9));  // and of fewer the values
}

// --- the policy ----------------------------------------------------------------------------------

const Target kTarget = Target::parse("x86-64-v3,cores=1");

// So many multiplications and additions, then two users.
Graph shared(int rows, int columns, int steps) {
  Tensor s = input("x", f32, {rows, columns});
  for (int i = 0; i < steps; ++i) s = s * 0.5f + 1.0f;
  s = relu(s, "s");
  return Graph({neg(s, "a"), abs(s, "b")});
}

std::string decision_at(const Graph& graph) {
  FusionReport report;
  recompute_producers(fuse_epilogues(graph), machine_model(kTarget), recompute_what_pays, &report);
  return to_string(report);
}

TEST(RecomputeWhatPays, WhereMemoryIsTheLimit) {
  EXPECT_THAT(decision_at(shared(4096, 4096, 0)), HasSubstr("s -> a, b: fused: saves 134217728"));
  EXPECT_THAT(decision_at(shared(4096, 4096, 8)), HasSubstr("s -> a, b: fused: saves 134217728"));
}

TEST(RecomputeWhatPays, NotWhereArithmeticIs) {
  // The same value, small enough for the nearest cache.
  EXPECT_THAT(decision_at(shared(32, 32, 8)),
              HasSubstr("s -> a, b: not fused: expected to be 1.05 times as fast by the model when "
                        "s is computed in 2 places, got 0."));
  EXPECT_THAT(decision_at(shared(32, 32, 0)), HasSubstr("s -> a, b: fused: saves 8192 bytes"));
}

TEST(RecomputeWhatPays, NotWithoutKnownSizes) {
  const Tensor s = relu(input("x", f32, {Extent::size("B"), 8}), "s");
  const Graph graph({neg(s, "a"), abs(s, "b")});
  EXPECT_THAT(decision_at(graph),
              HasSubstr("expected sizes that are known, got s of shape [B, 8]"));
  FusionReport report;
  recompute_producers(graph, machine_model(kTarget), recompute_what_pays, &report,
                      {{"B", 1 << 20}});
  EXPECT_EQ(report.fused_count(), 1);
}

TEST(RecomputeWhatPays, RefusesAMachineThatIsNone) {
  EXPECT_ERROR(recompute_producers(shared(4, 4, 0), {}), "expected a peak above 0, got 0 GF/s");
}

// --- in the pipeline -----------------------------------------------------------------------------

constexpr char kOn[] =
    R"({"patterns": ["contraction epilogue", "elementwise chain", "siblings", "recomputed values"]})";

Lowered lowered(const Graph& graph, const std::string& config, const Target& target = kTarget) {
  return run_pipeline(graph, target, {}, nullptr, parse_fusion_config(config));
}

TEST(RecomputeInThePipeline, OnlyWhereTheConfigNamesIt) {
  const Graph graph = shared(64, 512, 0);
  const Lowered apart = lowered(graph, "{}");
  const FusionDecision& refused = apart.fusion.decisions.at(2);
  EXPECT_EQ(refused.pattern, kRecomputedValues);
  EXPECT_EQ(refused.reason, "expected a pattern that the config enables, got recomputed values");
  EXPECT_EQ(refused.gain.value().bytes_saved, 2 * 64 * 512 * 4);
  EXPECT_EQ(refused.gain.value().operations_added, 64 * 512);
  EXPECT_TRUE(apart.grouped.find("s"));
  const Lowered copied = lowered(graph, kOn);
  EXPECT_FALSE(copied.grouped.find("s")) << to_string(copied.fusion);
  EXPECT_THAT(to_string(copied.nest), Not(HasSubstr("alloc")));
  EXPECT_EQ(copied.fusion.gain.value().bytes_saved, 3 * 64 * 512 * 4) << "both read x, in one loop";
  EXPECT_EQ(copied.fusion.gain.value().operations_added, 64 * 512);
  EXPECT_TRUE(computes(copied.nest, graph));
  EXPECT_TRUE(computes(apart.nest, graph));
}

TEST(RecomputeInThePipeline, ComputesTheSameForEveryTarget) {
  const Tensor s = relu(input("r", f32, {64, 512}), "s");
  const Tensor mm = matmul(input("x", f32, {64, 6}), weight("w", f32, {6, 512}), "mm");
  const Graph graph({relu(add(mm, s, "t"), "y"), add(mul(s, 2.0f, "a"), abs(s, "b"), "z")});
  for (const char* target : {"x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v3,cores=4"}) {
    const Lowered copied = lowered(graph, kOn, Target::parse(target));
    EXPECT_FALSE(copied.grouped.find("s")) << target << "\n" << to_string(copied.fusion);
    EXPECT_TRUE(computes(copied.nest, graph)) << target;
    EXPECT_TRUE(computes(lowered(diamonds(5), kOn, Target::parse(target)).nest, diamonds(5)));
  }
}

TEST(RecomputeInThePipeline, OfATargetAndTheEnvironment) {
  const Graph graph = shared(64, 512, 0);
  const char* config = R"({"targets": {"x86-64-v4": {"patterns": ["recomputed values"]}}})";
  EXPECT_TRUE(lowered(graph, config).grouped.find("s"));
  EXPECT_FALSE(lowered(graph, config, Target::parse("x86-64-v4")).grouped.find("s"));
  ScopedVariable variable("EMULSION_FUSION", kOn);
  EXPECT_FALSE(run_pipeline(graph, kTarget).grouped.find("s"));
}

TEST(RecomputeInThePipeline, WhatTheConfigRefuses) {
  const auto reason = [](const std::string& config) {
    for (const FusionDecision& one : lowered(shared(64, 512, 0), config).fusion.decisions) {
      if (one.pattern == kRecomputedValues) return one.reason;
    }
    return std::string("no decision");
  };
  EXPECT_EQ(reason(R"({"patterns": ["recomputed values"], "least_elements": 32769})"),
            "expected s of at least 32769 elements, got 32768");
  EXPECT_EQ(reason(R"({"patterns": ["recomputed values"], "largest_group": 1})"),
            "expected a group of at most 1 operation, got 2 with s");
  EXPECT_EQ(reason(R"({"patterns": ["recomputed values"], "largest_group": 2})"), "");
  EXPECT_EQ(reason(R"({"enabled": false})"), "expected fusion to be enabled by the config");
}

TEST(RecomputeInThePipeline, FailOnUnfused) {
  FusionConfig config = parse_fusion_config(kOn);
  config.fail_on_unfused = {"recomputed values"};
  const Graph graph = shared(64, 512, 0);
  EXPECT_NO_THROW(run_pipeline(graph, kTarget, {}, nullptr, config));
  EXPECT_ERROR(run_pipeline(shared(32, 32, 8), kTarget, {}, nullptr, config),
               "expected s to be computed again by each of its users, got it stored: expected to "
               "be 1.05 times as fast");
  EXPECT_ERROR(run_pipeline(Graph(neg(matrix("x"))), kTarget, {}, nullptr, config),
               "expected recomputed values in the graph, got none");
  config.fail_on_unfused = {"add+relu"};  // which is found beside each user
  const Tensor s = add(matrix("x"), matrix("z"), "s");
  const Graph pair({relu(s, "a"), neg(s, "b")});
  EXPECT_NO_THROW(run_pipeline(pair, kTarget, {}, nullptr, config));
  config.patterns = default_fusion_patterns();
  EXPECT_ERROR(run_pipeline(pair, kTarget, {}, nullptr, config),
               "got s apart from it: expected s to have one user, got 2 (a, b)");
}

TEST(RecomputeInThePipeline, WhatMeasuredSlowerStays) {
  const Tensor s = add(matrix("x"), matrix("z"), "s");
  const Graph graph({relu(s, "a"), neg(s, "b")});
  FusionConfig config = parse_fusion_config(kOn);
  config.measured = {
      {"add+relu", "16x32", kTarget.to_string_with_machine(), EMULSION_VERSION, 0.9, 7}};
  const Lowered stored = run_pipeline(graph, kTarget, {}, nullptr, config);
  EXPECT_TRUE(stored.grouped.find("s"));
  const FusionDecision& decision = stored.fusion.decisions.at(2);
  EXPECT_TRUE(decision.measured);
  EXPECT_THAT(decision.reason, HasSubstr("expected add+relu at shapes of 16x32 to gain, measured"));
  config.measured[0].speed_up = 1.2;
  EXPECT_FALSE(run_pipeline(graph, kTarget, {}, nullptr, config).grouped.find("s"));
}

TEST(RecomputeInThePipeline, TheLedgerAsJson) {
  const auto json = nlohmann::json::parse(to_json(lowered(shared(64, 512, 0), kOn).fusion));
  const auto& decision = json["decisions"][2];
  EXPECT_EQ(decision["pattern"], "recomputed values");
  EXPECT_EQ(decision["consumer"], "a");
  EXPECT_EQ(decision["other_consumers"], std::vector<std::string>{"b"});
  EXPECT_EQ(decision["operations_added"], 64 * 512);
  EXPECT_EQ(json["decisions"][0]["operations_added"], 0);
}

}  // namespace
}  // namespace emulsion
