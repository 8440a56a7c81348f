#include "passes/apply_opportunities.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "dsl/operators.h"
#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Opportunities = std::vector<FusionOpportunity>;

const Target kTarget = Target::parse("x86-64-v3");

Opportunities found_in(const Graph& graph) { return find_opportunities(graph, kTarget); }

Opportunities of_pattern(const Graph& graph, const std::string& pattern) {
  Opportunities all = found_in(graph), of;
  for (const FusionOpportunity& one : all) {
    if (one.legal() && one.pattern == pattern) of.push_back(one);
  }
  return of;
}

AppliedOpportunities applied_to(const Graph& graph, const Opportunities& chosen) {
  return apply_opportunities(graph, kTarget, chosen);
}

Tensor matrix(const std::string& name, int columns = 64) { return input(name, f32, {32, columns}); }

// A layer, and a chain beside it.
Graph two_groups() {
  const Tensor mm = matmul(matrix("x"), weight("w", f32, {64, 64}), "mm");
  const Tensor layer = relu(add(mm, weight("b", f32, {64}), "t"), "layer");
  return Graph({layer, tanh(exp(matrix("z"), "e"), "chain")});
}

std::vector<std::string> names_of(const Graph& grouped) {
  std::vector<std::string> names;
  for (const OpPtr& op : grouped.ops()) {
    if (op->kind == OpKind::fused || op->kind == OpKind::compute) names.push_back(op->name);
  }
  return names;
}

TEST(ApplyOpportunities, NothingThatWasNotChosen) {
  const AppliedOpportunities made = applied_to(two_groups(), {});
  EXPECT_THAT(names_of(made.lowered.grouped), ElementsAre("mm", "t", "layer", "e", "chain"));
  EXPECT_EQ(made.lowered.fusion.fused_count(), 0);
  ASSERT_TRUE(made.gain.has_value());
  EXPECT_EQ(made.gain->bytes_saved, 0);
}

TEST(ApplyOpportunities, AGroupAndNotTheOther) {
  for (const char* pattern : {kContractionEpilogue, kElementwiseChain}) {
    const Opportunities chosen = of_pattern(two_groups(), pattern);
    ASSERT_THAT(chosen, SizeIs(1));
    const AppliedOpportunities made = applied_to(two_groups(), chosen);
    ASSERT_THAT(made.applied, SizeIs(1));
    EXPECT_EQ(made.applied[0].operations, chosen[0].operations);
    EXPECT_THAT(made.refused, IsEmpty());
    EXPECT_THAT(made.failed, IsEmpty());
    EXPECT_EQ(made.gain.value().bytes_saved, chosen[0].gain.value().bytes_saved);
    const auto names = names_of(made.lowered.grouped);
    if (chosen[0].pattern == kContractionEpilogue) {
      EXPECT_THAT(names, ElementsAre("layer", "e", "chain"));
    } else {
      EXPECT_THAT(names, ElementsAre("mm", "t", "layer", "chain"));
    }
  }
}

TEST(ApplyOpportunities, WhatIsNotLegalIsRefused) {
  const Tensor s = exp(matrix("x"), "s");
  const Graph graph({relu(s, "a"), sum(s, {1}, false, "b")});
  const Opportunities all = found_in(graph);
  const auto refused = static_cast<size_t>(std::count_if(
      all.begin(), all.end(), [](const FusionOpportunity& one) { return !one.legal(); }));
  ASSERT_GT(refused, 0U);
  const AppliedOpportunities made = applied_to(graph, all);
  EXPECT_THAT(made.refused, SizeIs(refused));
  EXPECT_EQ(made.applied.size() + made.failed.size() + refused, all.size());
  for (const FusionOpportunity& one : made.refused) EXPECT_FALSE(one.legal());
  EXPECT_THAT(to_string(made), HasSubstr("refused: "));
}

TEST(ApplyOpportunities, WhatIsSaidToBeRefusedIsNotFused) {
  Opportunities chosen = of_pattern(two_groups(), kElementwiseChain);
  ASSERT_THAT(chosen, SizeIs(1));
  chosen[0].why_not = "expected another day";
  const AppliedOpportunities made = applied_to(two_groups(), chosen);
  EXPECT_THAT(made.refused, SizeIs(1));
  EXPECT_EQ(made.lowered.fusion.fused_count(), 0);
}

TEST(ApplyOpportunities, SharedRows) {
  const Graph graph(softmax(matrix("x", 256) * 2.0F, -1, "y"));
  const Opportunities chosen = of_pattern(graph, kSharedRows);
  ASSERT_THAT(chosen, SizeIs(1));
  const AppliedOpportunities made = applied_to(graph, chosen);
  EXPECT_THAT(made.failed, IsEmpty()) << to_string(made);
  ASSERT_THAT(made.lowered.grouped.loop_groups(), SizeIs(1));
  EXPECT_THAT(applied_to(graph, {}).lowered.grouped.loop_groups(), IsEmpty());
}

TEST(ApplyOpportunities, RowsWithoutTheGroupsThatStoodInThem) {
  const Graph graph(softmax(tanh(matrix("x", 256) * 2.0F, "t"), -1, "y"));
  const Opportunities rows = of_pattern(graph, kSharedRows);
  ASSERT_THAT(rows, SizeIs(1));
  const AppliedOpportunities made = applied_to(graph, rows);
  EXPECT_THAT(made.applied, SizeIs(1)) << to_string(made);
  for (const OpPtr& op : made.lowered.grouped.ops()) EXPECT_NE(op->kind, OpKind::fused);
}

TEST(ApplyOpportunities, SiblingsInOneLoop) {
  const Tensor x = input("x", f32, {2048, 2048});
  const Graph graph({relu(x, "a"), exp(x, "b")});
  const Opportunities chosen = of_pattern(graph, kSiblings);
  ASSERT_THAT(chosen, SizeIs(1));
  EXPECT_THAT(applied_to(graph, chosen).applied, SizeIs(1));
  EXPECT_EQ(applied_to(graph, {}).lowered.fusion.fused_count(), 0);
}

TEST(ApplyOpportunities, ValuesThatAreComputedAgain) {
  const Tensor shared = neg(matrix("v"), "shared");
  const Graph graph({exp(shared, "first"), relu(shared, "second")});
  const Opportunities chosen = of_pattern(graph, kRecomputedValues);
  ASSERT_THAT(chosen, SizeIs(1));
  const AppliedOpportunities made = applied_to(graph, chosen);
  EXPECT_THAT(made.applied, SizeIs(1)) << to_string(made);
  EXPECT_THAT(names_of(made.lowered.grouped), ElementsAre("first", "second"));
}

TEST(ApplyOpportunities, ProductsThatAreJoined) {
  const Tensor x = matrix("x");
  const Graph graph(
      {matmul(x, weight("wq", f32, {64, 8}), "q"), matmul(x, weight("wk", f32, {64, 8}), "k")});
  const Opportunities chosen = of_pattern(graph, kSiblingProducts);
  ASSERT_THAT(chosen, SizeIs(1));
  const AppliedOpportunities made = applied_to(graph, chosen);
  EXPECT_THAT(made.applied, SizeIs(1)) << to_string(made);
  EXPECT_EQ(made.lowered.grouped.arguments().at(0)->name, "x");
}

TEST(ApplyOpportunities, MovesThatAreReadThrough) {
  const Graph graph(exp(transpose(matrix("x"), {}, "t"), "y"));
  const Opportunities chosen = of_pattern(graph, kReadThrough);
  ASSERT_THAT(chosen, SizeIs(1));
  EXPECT_THAT(applied_to(graph, chosen).applied, SizeIs(1));
}

// Products that are joined are in no groups of their own any more.
TEST(ApplyOpportunities, WhatAnotherTookFails) {
  const Tensor x = matrix("x");
  const Tensor q = relu(matmul(x, weight("wq", f32, {64, 8}), "q"), "rq");
  const Tensor k = relu(matmul(x, weight("wk", f32, {64, 8}), "k"), "rk");
  const Graph graph({q, k});
  Opportunities chosen = of_pattern(graph, kSiblingProducts);
  ASSERT_THAT(chosen, SizeIs(1));
  const Opportunities groups = of_pattern(graph, kContractionEpilogue);
  ASSERT_THAT(groups, SizeIs(2));
  chosen.insert(chosen.end(), groups.begin(), groups.end());
  const AppliedOpportunities made = applied_to(graph, chosen);
  EXPECT_THAT(made.applied, SizeIs(1));
  ASSERT_THAT(made.failed, SizeIs(2));
  EXPECT_EQ(made.failed[0].why_not.value_or(""),
            R"(expected "sibling products, q + k" not to be fused)");
  EXPECT_THAT(to_string(made), HasSubstr("failed: contraction epilogue, q + rq: not legal: "));
}

// An opportunity of `two_groups()` as somebody could make it up, or write it wrong.
FusionOpportunity made_up(const std::string& pattern, std::vector<std::string> operations) {
  FusionOpportunity one;
  one.pattern = pattern;
  one.operations = std::move(operations);
  return one;
}

TEST(ApplyOpportunities, RefusesOneWithoutOperations) {
  const std::string legal =
      R"(; legal: "contraction epilogue, mm + t + layer", "elementwise chain, e + chain")";
  for (const char* pattern : {kContractionEpilogue, kRecomputedValues, kReadThrough, kSiblings}) {
    EXPECT_ERROR(applied_to(two_groups(), {made_up(pattern, {})}),
                 "apply_opportunities: expected one of find_opportunities(), got \"" +
                     std::string(pattern) + ", no operations\"" + legal);
  }
  FusionOpportunity refused = made_up("", {});
  refused.why_not = "expected another day";
  EXPECT_ERROR(applied_to(two_groups(), {refused}), "got \"no operations\"; legal: ");
}

TEST(ApplyOpportunities, RefusesWhatIsNotFound) {
  const std::string legal = R"("; legal: "contraction epilogue, mm + t + layer")";
  const std::vector<std::vector<std::string>> not_found = {
      {"t"}, {"mm", "t", "layer", "layer"}, {"layer", "t", "mm"}, {"mm", "t"}};
  for (const std::vector<std::string>& operations : not_found) {
    EXPECT_ERROR(applied_to(two_groups(), {made_up(kContractionEpilogue, operations)}), legal);
  }
  EXPECT_ERROR(applied_to(two_groups(), {made_up(kElementwiseChain, {"mm", "t", "layer"})}),
               "got \"elementwise chain, mm + t + layer" + legal);
  EXPECT_ERROR(
      applied_to(two_groups(), {made_up(kContractionEpilogue, {"mm", "t", "e", "chain"})}),
      R"(; legal: "contraction epilogue, mm + t + layer", "elementwise chain, e + chain")");
  EXPECT_ERROR(applied_to(Graph(relu(matrix("x"), "y")), {made_up(kSiblings, {"y", "x"})}),
               "; legal: nothing, since none is found");
}

TEST(ApplyOpportunities, RefusalsNameAFewOfMany) {
  std::vector<Tensor> outputs;
  for (int i = 0; i < 6; ++i) outputs.push_back(relu(exp(matrix("x" + std::to_string(i)))));
  EXPECT_ERROR(applied_to(Graph(outputs), {made_up(kSiblings, {"exp"})}),
               R"(; legal: "elementwise chain, exp + relu")");
  EXPECT_ERROR(applied_to(Graph(outputs), {made_up(kSiblings, {})}), "relu_3\", ..");
}

// Rows of eight have no vectors to be summed in.
TEST(ApplyOpportunities, RefusesWhatTheTargetHasNoLoopsFor) {
  const Tensor x = input("x", f32, {32, 8}), row = input("row", f32, {8});
  const Graph graph({sum(x, {1}, false, "rows"), relu(x + row, "b")});
  EXPECT_ERROR(applied_to(graph, {made_up(kSharedRows, {"rows", "b"})}),
               "got \"shared rows, rows + b\"; legal: ");
}

// Whoever decides cannot make legal what is not.
TEST(ApplyOpportunities, WhatIsFoundNotLegalIsRefused) {
  const Tensor s = exp(matrix("x"), "s");
  const Graph graph({relu(s, "a"), sum(s, {1}, false, "b")});
  Opportunities all = found_in(graph);
  const auto first = std::find_if(all.begin(), all.end(),
                                  [](const FusionOpportunity& one) { return !one.legal(); });
  ASSERT_NE(first, all.end());
  const std::string reason = first->why_not.value_or("");
  first->why_not.reset();
  const AppliedOpportunities made = applied_to(graph, {*first});
  ASSERT_THAT(made.refused, SizeIs(1));
  EXPECT_EQ(made.refused[0].why_not.value_or(""), reason);
}

// Of which the loops are those of the groups that it speaks of by their last operations.
Graph two_layers() {
  const Tensor x = input("x", f32, {Extent::size("B"), 32});
  const Tensor h = matmul(x, weight("w1", f32, {32, 40}), "h");
  const Tensor d = matmul(relu(h, "a"), weight("w2", f32, {40, 32}), "d");
  return Graph(add(x, d, "y"));
}

TEST(ApplyOpportunities, WhatNeedsOthersSaysWhich) {
  const Graph graph = two_layers();
  const Opportunities blocks = of_pattern(graph, kLayerBlocks);
  ASSERT_THAT(blocks, SizeIs(1));
  const AppliedOpportunities alone = applied_to(graph, blocks);
  EXPECT_THAT(alone.applied, IsEmpty());
  ASSERT_THAT(alone.failed, SizeIs(1));
  EXPECT_EQ(alone.failed[0].why_not.value_or(""),
            R"(expected "contraction epilogue, h + a" and "contraction epilogue, d + y" )"
            "to be fused as well");
  EXPECT_EQ(alone.lowered.fusion.fused_count(), 0);
  const Opportunities all = found_in(graph);
  EXPECT_THAT(applied_to(graph, all).applied, SizeIs(3));
}

TEST(ApplyOpportunities, WhatNeedsOthersIsNotToldOfThoseThatWereChosen) {
  const Graph graph = two_layers();
  Opportunities chosen = of_pattern(graph, kLayerBlocks);
  for (FusionOpportunity& group : of_pattern(graph, kContractionEpilogue)) {
    if (group.operations[0] == "h") chosen.push_back(group);
  }
  ASSERT_THAT(chosen, SizeIs(2));
  const AppliedOpportunities made = applied_to(graph, chosen);
  EXPECT_THAT(made.applied, SizeIs(1));
  ASSERT_THAT(made.failed, SizeIs(1));
  EXPECT_EQ(made.failed[0].why_not.value_or(""),
            R"(expected "contraction epilogue, d + y" to be fused as well)");
}

TEST(ApplyOpportunities, SumsThatNeedWhatIsReadThrough) {
  const Extent s = Extent::size("S"), t = Extent::size("T");
  const Tensor x = input("x", f32, {t, s, t});
  const Axis i("i", t), j("j", s), k("k", s), l("l", t), r("r", t);
  Func wide("wide"), least("least");
  wide(i, j, k, l) = x(i, j, l);
  least(j, k, l) = reduce_min(r, wide(r, j, k, l));
  const Tensor y = relu(least, "y");
  const Graph graph({y, exp(transpose(y, {2, 0, 1}, "turned"), "after")});
  const Opportunities sums = of_pattern(graph, kWaitingSums);
  ASSERT_THAT(sums, SizeIs(1));
  ASSERT_THAT(of_pattern(graph, kReadThrough), SizeIs(2)) << "of which one is needed";
  const AppliedOpportunities alone = applied_to(graph, sums);
  ASSERT_THAT(alone.failed, SizeIs(1)) << to_string(alone);
  EXPECT_EQ(alone.failed[0].why_not.value_or(""),
            R"(expected "moves read through, wide + least" to be fused as well)");
}

// Each sibling may be computed where its sum is.
Graph siblings_in_sums() {
  const Extent b = Extent::size("B"), n = Extent::size("S");
  const Tensor x = input("x", f32, {b, n}), t = input("t", f32, {b, n});
  const Tensor product = mul(x, t, "product");
  const Tensor size = abs(sub(x, t, "difference"), "size");
  return Graph({sum(product, {1}, false, "rows"), sum(size, {0}, false, "columns")});
}

// And not what would take the loops that they need.
TEST(ApplyOpportunities, SiblingsThatNeedAGroup) {
  const Graph graph = siblings_in_sums();
  const Opportunities siblings = of_pattern(graph, kSiblings);
  ASSERT_THAT(siblings, SizeIs(1));
  const AppliedOpportunities alone = applied_to(graph, siblings);
  ASSERT_THAT(alone.failed, SizeIs(1)) << to_string(alone);
  EXPECT_EQ(alone.failed[0].why_not.value_or(""),
            R"(expected "elementwise chain, difference + size" to be fused as well)");
}

TEST(ApplyOpportunities, WhatSeveralExcludeSaysWhatThePassesSay) {
  const AppliedOpportunities made = applied_to(siblings_in_sums(), found_in(siblings_in_sums()));
  EXPECT_THAT(made.applied, SizeIs(3));
  ASSERT_THAT(made.failed, SizeIs(1)) << to_string(made);
  EXPECT_EQ(made.failed[0].why_not.value_or(""),
            "expected loops of its own for product, got those of what it is computed in");
}

TEST(ApplyOpportunities, RefusesNamesThatTheGraphDoesNotHave) {
  FusionOpportunity other;
  other.pattern = kElementwiseChain;
  other.operations = {"e", "nobody"};
  EXPECT_ERROR(applied_to(two_groups(), {other}),
               "apply_opportunities: expected an operation of the graph, got nobody");
}

TEST(ApplyOpportunities, RefusesATileMachine) {
  EXPECT_ERROR(apply_opportunities(two_groups(), Target::tile_machine(), {}),
               "expected a processor, got tile-machine");
}

TEST(ApplyOpportunities, GainsAtTheSizesThatAreGiven) {
  const Tensor x = input("x", f32, {Extent::size("B"), 64});
  const Graph graph(tanh(exp(x, "e"), "y"));
  const SizeValues sizes = {{"B", 100}};
  const Opportunities chosen = find_opportunities(graph, kTarget, sizes);
  EXPECT_EQ(apply_opportunities(graph, kTarget, chosen, sizes).gain.value().bytes_saved,
            2 * 100 * 64 * 4);
  EXPECT_FALSE(apply_opportunities(graph, kTarget, chosen).gain.has_value());
}

TEST(ApplyOpportunities, RefusesSizesThatTheGraphDoesNotHave) {
  const Graph graph(tanh(exp(input("x", f32, {Extent::size("B"), 64}), "e"), "y"));
  const char* const expected = "expected a run-time size of the graph (B), got Q; nearest: B";
  EXPECT_ERROR(find_opportunities(graph, kTarget, {{"Q", 4}}), expected);
  EXPECT_ERROR(apply_opportunities(graph, kTarget, {}, {{"B", 4}, {"Q", 4}}), expected);
  EXPECT_ERROR(run_pipeline(graph, kTarget, FusionPolicies(), {{"Q", 4}}), expected);
  EXPECT_ERROR(find_opportunities(two_groups(), kTarget, {{"Q", 4}}), "got Q; legal: none");
  EXPECT_ERROR(find_opportunities(graph, kTarget, {{"B", -4}}),
               "run-time size B: expected 0 or greater, got -4");
}

TEST(ApplyOpportunities, AllThatIsFoundIsInOneListEach) {
  const Tensor x = matrix("x", 256);
  const Tensor y = softmax(relu(x + weight("b", f32, {256})), -1, "y");
  const Graph graph({y, sum(exp(x, "e"), {0}, false, "s")});
  const Opportunities all = found_in(graph);
  const AppliedOpportunities made = applied_to(graph, all);
  EXPECT_EQ(made.applied.size() + made.refused.size() + made.failed.size(), all.size());
  EXPECT_GT(made.applied.size(), 0U);
  const auto json = nlohmann::json::parse(to_json(made));
  EXPECT_EQ(json["applied"].size(), made.applied.size());
  EXPECT_EQ(json["failed"].size(), made.failed.size());
  EXPECT_EQ(json["refused"].size(), made.refused.size());
  EXPECT_EQ(json["bytes_saved"].get<int64_t>(), made.gain.value().bytes_saved);
}

}  // namespace
}  // namespace emulsion
