#include "passes/fuse/find_opportunities.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "dsl/operators.h"
#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

MachineModel slow_memory() { return {1e9, {{"main memory", 0, 1}}}; }

Tensor matrix(const std::string& name, int columns = 32) { return input(name, f32, {16, columns}); }

// A layer of 16 x 64, a smaller chain, and a value with two users.
Graph three_places() {
  const Tensor mm = matmul(matrix("x"), weight("w", f32, {32, 64}), "mm");
  const Tensor layer = relu(add(mm, weight("b", f32, {64}), "t"), "layer");
  const Tensor chain = tanh(exp(matrix("z", 8), "e"), "chain");
  const Tensor shared = neg(matrix("v", 4), "shared");
  return Graph({chain, exp(shared, "first"), layer, relu(shared, "second")});
}

TEST(FindOpportunities, GroupsAndEdgesByWhatTheySave) {
  const auto found = find_opportunities(three_places(), slow_memory());
  ASSERT_EQ(found.size(), 6u);
  EXPECT_THAT(found[0].operations, ElementsAre("mm", "t", "layer"));
  EXPECT_EQ(found[0].pattern, "contraction epilogue");
  EXPECT_TRUE(found[0].legal());
  EXPECT_EQ(found[0].gain.value().bytes_saved, 4 * 16 * 64 * 4);
  EXPECT_THAT(found[1].operations, ElementsAre("e", "chain"));
  EXPECT_EQ(found[1].pattern, "elementwise chain");
  EXPECT_EQ(found[1].gain.value().speed_up(), 2);
  EXPECT_THAT(found[2].operations, ElementsAre("shared", "first", "second"));
  EXPECT_EQ(found[2].pattern, "recomputed values");
  EXPECT_EQ(found[2].gain.value().bytes_saved, 2 * 16 * 4 * 4);
  EXPECT_EQ(found[2].gain.value().operations_added, 16 * 4);
  EXPECT_THAT(found[3].operations, ElementsAre("first", "second"));
  EXPECT_EQ(found[3].pattern, "siblings");
  EXPECT_EQ(found[3].gain.value().bytes_saved, 16 * 4 * 4);
  EXPECT_THAT(found[4].operations, ElementsAre("shared", "first"));
  EXPECT_EQ(found[4].why_not.value_or(""),
            "expected shared to have one user, got 2 (first, second)");
  EXPECT_EQ(found[4].gain.value().bytes_saved, 16 * 4 * 4);
  EXPECT_THAT(found[5].operations, ElementsAre("shared", "second"));
}

TEST(FindOpportunities, ValuesThatCannotBeComputedAgainSayWhy) {
  const Tensor rows = sum(matrix("x"), {1}, false, "rows");
  const auto found = find_opportunities(Graph({neg(rows, "a"), abs(rows, "b")}), slow_memory());
  const auto copies = std::find_if(found.begin(), found.end(), [](const FusionOpportunity& one) {
    return one.operations.size() == 3;
  });
  ASSERT_NE(copies, found.end());
  EXPECT_THAT(copies->operations, ElementsAre("rows", "a", "b"));
  EXPECT_EQ(copies->why_not.value_or(""),
            "expected an elementwise value to compute again, got reduction rows");
}

TEST(FindOpportunities, TheGainOfAGroupIsThatOfAllItsMembers) {
  const auto found =
      find_opportunities(Graph(exp(relu(tanh(matrix("x"), "a"), "b"), "c")), slow_memory());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_DOUBLE_EQ(found[0].gain.value().speed_up(), 3);  // six matrices, now two
  EXPECT_EQ(found[0].gain.value().bytes_saved, 4 * 16 * 32 * 4);
  // Two chains that meet.
  const Tensor left = exp(tanh(matrix("l"), "l1"), "l2"),
               right = exp(tanh(matrix("r"), "r1"), "r2");
  const auto met = find_opportunities(Graph(add(left, right, "y")), slow_memory());
  ASSERT_EQ(met.size(), 1u);
  EXPECT_THAT(met[0].operations, ElementsAre("l1", "l2", "r1", "r2", "y"));
  EXPECT_DOUBLE_EQ(met[0].gain.value().speed_up(), 11.0 / 3);
}

TEST(FindOpportunities, SiblingsGroupByGroup) {
  const Tensor x = matrix("x"), z = matrix("z");
  const auto found = find_opportunities(
      Graph({relu(x, "a"), exp(x, "b"), neg(z, "c"), tanh(x, "d"), abs(z, "e")}), slow_memory());
  ASSERT_EQ(found.size(), 2u);
  EXPECT_THAT(found[0].operations, ElementsAre("a", "b", "d"));
  EXPECT_EQ(found[0].gain.value().bytes_saved, 2 * 16 * 32 * 4);
  EXPECT_DOUBLE_EQ(found[0].gain.value().speed_up(), 6.0 / 4);  // six matrices, now four
  EXPECT_THAT(found[1].operations, ElementsAre("c", "e"));
}

TEST(FindOpportunities, SiblingsThatAreNotLegalSayWhy) {
  const Tensor x = matrix("x");
  const Tensor a = relu(x, "a");
  const auto found = find_opportunities(Graph({a, add(a, x, "b")}), slow_memory());
  ASSERT_EQ(found.size(), 2u);  // a -> b, which is an output, and a beside b
  const auto& siblings = found[0].pattern == "siblings" ? found[0] : found[1];
  EXPECT_THAT(siblings.operations, ElementsAre("a", "b"));
  EXPECT_EQ(siblings.why_not.value_or(""),
            "expected operations of which neither needs the other, got a and b");
}

TEST(FindOpportunities, ProductsOfOneInput) {
  const Tensor x = matrix("x");
  const Tensor q = matmul(x, weight("wq", f32, {32, 8}), "q");
  const Tensor k = matmul(x, weight("wk", f32, {32, 8}), "k");
  const auto found = find_opportunities(Graph({q, k}), slow_memory());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].pattern, "sibling products");
  EXPECT_TRUE(found[0].legal());
  EXPECT_THAT(found[0].operations, ElementsAre("q", "k"));
  EXPECT_EQ(found[0].gain.value().bytes_saved, 16 * 32 * 4);
  const Tensor half = matmul(x, weight("wh", f32, {32, 8}), "h");
  const auto apart = find_opportunities(
      Graph({half, matmul(transpose(x), weight("wt", f32, {16, 8}), "t")}), slow_memory());
  EXPECT_TRUE(std::none_of(apart.begin(), apart.end(), [](const FusionOpportunity& one) {
    return one.legal() && one.pattern == "sibling products";
  }));
}

TEST(FindOpportunities, WhatIsNotLegalSaysWhy) {
  const Tensor rows = sum(matrix("x"), {1}, false, "rows");
  const auto found = find_opportunities(Graph(exp(rows, "y")), slow_memory());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FALSE(found[0].legal());
  EXPECT_EQ(found[0].pattern, "");
  EXPECT_THAT(*found[0].why_not, HasSubstr("expected a contraction or an elementwise producer"));
}

TEST(FindOpportunities, WhatIsNotKnownComesLast) {
  const Tensor x = input("x", f32, {Extent::size("B")});
  const Graph graph({exp(tanh(x, "unknown"), "a"), exp(tanh(matrix("z"), "known"), "b")});
  const auto found = find_opportunities(graph, slow_memory());
  ASSERT_EQ(found.size(), 2u);
  EXPECT_THAT(found[0].operations, ElementsAre("known", "b"));
  EXPECT_TRUE(found[1].legal());
  EXPECT_FALSE(found[1].gain);
  const auto valued = find_opportunities(graph, slow_memory(), {{"B", 100000}});
  EXPECT_THAT(valued[0].operations, ElementsAre("unknown", "a"));
}

TEST(FindOpportunities, NothingToFind) {
  EXPECT_TRUE(find_opportunities(Graph(exp(matrix("x"))), slow_memory()).empty());
  EXPECT_EQ(to_string(std::vector<FusionOpportunity>()), "");
  EXPECT_EQ(to_json(std::vector<FusionOpportunity>()), "[]");
}

TEST(FindOpportunities, AsText) {
  const std::string text = to_string(find_opportunities(three_places(), slow_memory()));
  EXPECT_THAT(text,
              HasSubstr("elementwise chain, e + chain: legal: saves 1024 bytes, 2.00 times as "
                        "fast by the model\n"));
  EXPECT_THAT(text, HasSubstr("shared + first: not legal: expected shared to have one user, got 2 "
                              "(first, second); would save 256 bytes, "));
}

TEST(FindOpportunities, AsJson) {
  const auto json =
      nlohmann::json::parse(to_json(find_opportunities(three_places(), slow_memory())));
  ASSERT_EQ(json.size(), 6u);
  EXPECT_EQ(json[1]["operations"], (std::vector<std::string>{"e", "chain"}));
  EXPECT_EQ(json[1]["legal"], true);
  EXPECT_EQ(json[1]["reason"], "");
  EXPECT_EQ(json[1]["bytes_saved"], 1024);
  EXPECT_EQ(json[1]["estimated_speed_up"], 2);
  EXPECT_GT(json[0]["seconds_saved"], json[1]["seconds_saved"]);
  EXPECT_EQ(json[2]["operations_added"], 64);
  EXPECT_EQ(json[3]["pattern"], "siblings");
  EXPECT_EQ(json[4]["legal"], false);
  const Tensor x = input("x", f32, {Extent::size("B")});
  const auto unknown =
      nlohmann::json::parse(to_json(find_opportunities(exp(tanh(x)), slow_memory())));
  EXPECT_TRUE(unknown[0]["bytes_saved"].is_null());
}

TEST(FindOpportunities, RefusesAMachineThatIsNone) {
  EXPECT_ERROR(find_opportunities(three_places(), MachineModel{}),
               "expected a peak above 0, got 0 GF/s");
}

}  // namespace
}  // namespace emulsion
