// What a derived schedule computes in the loops of another operation is in the ledger, and is the
// config's to say.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "backends/interpreter/interpret_graph.h"
#include "backends/interpreter/interpret_nest.h"
#include "dsl/error.h"
#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "passes/analyse/measure_traffic.h"
#include "passes/pipeline.h"
#include "tests/passes/derive/attention_graphs.h"
#include "tests/passes/derive/row_graphs.h"
#include "tests/passes/derive/stencil_graphs.h"
#include "tests/passes/expect_error.h"
#include "tests/passes/op_of.h"

namespace emulsion {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const Target kTarget = Target::parse("x86-64-v3");

Tensor matrix(const std::string& name, int64_t rows = 64, int64_t columns = 96) {
  return input(name, f32, {rows, columns});
}

Lowered lowered(const Graph& graph, const std::string& config = "{}",
                const Target& target = kTarget) {
  return run_pipeline(graph, target, {}, nullptr, parse_fusion_config(config));
}
std::string ledger(const Graph& graph, const std::string& config = "{}",
                   const Target& target = kTarget) {
  return to_string(lowered(graph, config, target).fusion);
}

Graph softmax_graph() { return softmax_by_hand(64, 96); }
Graph softmax_of_channels() { return Graph(softmax(input("x", f32, {1, 12, 4, 64}), 1, "y")); }
Graph transposed_sum() {
  return Graph(add(transpose(matrix("x"), {1, 0}, "t"), matrix("z", 96, 64), "y"));
}
Graph joined() { return Graph(relu(concat({matrix("x"), matrix("z")}, 0, "c"), "y")); }
Graph mean_graph() {
  PoolOptions halves;
  halves.window_h = halves.window_w = halves.stride_h = halves.stride_w = 2;
  return Graph(avg_pool(input("x", f32, {1, 64, 64, 32}), halves, "y"));
}
Graph blur() { return blur_graph(200, 24); }

TEST(SharedLoops, RowsOfASoftmax) {
  const std::string text = ledger(softmax_graph());
  EXPECT_THAT(text, HasSubstr("shared rows, p -> y: fused: saves "));
  EXPECT_THAT(text, Not(HasSubstr("not fused")));
}

TEST(SharedLoops, NormsWithWhatStandsBehindThem) {
  const Tensor x = matrix("x"), gamma = weight("gamma", f32, {96}),
               beta = weight("beta", f32, {96});
  for (const Tensor& y :
       {relu(layer_norm(x, gamma, beta), "y"), add(rms_norm(x, gamma), matrix("z"), "y")}) {
    const std::string text = ledger(Graph(y));
    EXPECT_THAT(text, HasSubstr("shared rows, "));
    EXPECT_THAT(text, Not(HasSubstr("not fused"))) << "all of it is one nest";
  }
}

TEST(SharedLoops, ColumnsOfASoftmaxOverChannels) {
  const std::string text = ledger(softmax_of_channels());
  EXPECT_THAT(text, HasSubstr("shared columns, y_exp -> y: fused: saves "));
  EXPECT_THAT(text, Not(HasSubstr("not fused")));
}

TEST(SharedLoops, RowsOfAttention) {
  const std::string text = ledger(attention(4, 128, 128, 64));
  EXPECT_THAT(text, HasSubstr("shared rows, e -> y: fused: saves "));
}

Graph layers() {
  const Tensor hidden = relu(matmul(matrix("x", 100, 16), weight("w", f32, {16, 16}), "m"), "h");
  return Graph(matmul(hidden, weight("v", f32, {16, 16}), "y"));
}
// Without what only a fusion makes a part of a layer.
Graph bare_layers() {
  const Tensor hidden = matmul(matrix("x", 100, 16), weight("w", f32, {16, 16}), "h");
  return Graph(matmul(hidden, weight("v", f32, {16, 16}), "y"));
}
const Target kSmallL2 = Target::parse("x86-64-v3,cores=1,l2=4096");

TEST(SharedLoops, LayersOfAnMlp) {
  const std::string text = ledger(layers(), "{}", kSmallL2);
  EXPECT_THAT(text, HasSubstr("layer blocks, h -> y: fused: saves 12800 bytes"));
  EXPECT_THAT(text, Not(HasSubstr("not fused")));
  const std::string config = R"({"fail_on_unfused": ["layer blocks"]})";
  EXPECT_NO_THROW(ledger(layers(), config, kSmallL2));
  EXPECT_ERROR(ledger(layers(), config, kTarget),
               "fail_on_unfused: expected the layer blocks h and y to be computed together, got "
               "them apart: expected more than 1048576 bytes, which the L2 cache holds, ");
}

TEST(SharedLoops, WindowsOfStencils) {
  EXPECT_THAT(ledger(blur(), "{}", small_cache(1)),
              HasSubstr("sliding windows, bx -> y: fused: saves "));
}

TEST(SharedLoops, SumsThatWaitInRegisters) {
  EXPECT_THAT(ledger(mean_graph()), HasSubstr("waiting sums, "));
}

TEST(SharedLoops, MovesThatAreReadThrough) {
  EXPECT_THAT(ledger(transposed_sum()),
              HasSubstr("moves read through, t -> y: fused: saves 49152 "));
  const Tensor t = reshape(matrix("x"), {96 * 64}, "t");
  EXPECT_THAT(ledger(Graph({neg(t, "a"), exp(t, "b")})),
              HasSubstr("moves read through, t -> a, b: fused: saves "));
}

// Of a value that two compute, one computes it again.
TEST(SharedLoops, ValuesThatSumsCompute) {
  const Tensor apart = sub(input("x", f32, {512, 64}), input("m", f32, {64}), "apart");
  const std::string text = ledger(Graph({sum(apart, {0}, false, "s"), exp(apart, "y")}));
  EXPECT_THAT(text, HasSubstr("moves read through, apart -> s, y: fused: saves "));
  EXPECT_THAT(text, HasSubstr(" bytes for 32768 operations more, "));
}

TEST(SharedLoops, BordersThatAreReadThrough) {
  const std::string text = ledger(joined());
  EXPECT_THAT(text, HasSubstr("borders read through, c -> y: fused: saves 98304 "));
  EXPECT_THAT(text, Not(HasSubstr("not fused")));
  const Tensor c = concat({matrix("x"), matrix("z")}, 0, "c");
  EXPECT_THAT(ledger(Graph(matmul(c, weight("w", f32, {96, 16}), "y"))),
              HasSubstr("borders read through, c -> y: not fused: expected no sums in y"));
  EXPECT_ERROR(ledger(Graph(matmul(c, weight("w", f32, {96, 16}), "y")),
                      R"({"fail_on_unfused": ["borders read through"]})"),
               "to be computed together, got them apart: expected no sums in y");
}

TEST(SharedLoops, AgreeWithTheTrafficOfTheNests) {
  DeriveOptions apart;
  apart.fuse = false;
  for (const Graph& graph : {softmax_graph(), transposed_sum(), joined()}) {
    const Lowered fused = lowered(graph);
    const int64_t before = measure_traffic(run_pipeline(graph, kTarget, apart).nest).bytes();
    const int64_t after = measure_traffic(fused.nest).bytes();
    EXPECT_EQ(fused.fusion.gain.value().bytes_saved, before - after) << to_string(fused.fusion);
  }
}

struct Refusal {
  std::string config, reason;
};

// The schedule shares nothing then, and gives the same numbers.
TEST(SharedLoops, WhatTheConfigRefuses) {
  const Refusal refusals[] = {
      {R"({"enabled": false})", "expected fusion to be enabled by the config"},
      {R"({"patterns": ["elementwise chain"]})",
       "expected a pattern that the config enables, got "},
      {R"({"least_elements": 10000000})", "of at least 10000000 elements, got "},
      {R"({"largest_group": 1})", "expected a group of at most 1 operation, got "}};
  struct Case {
    Graph graph;
    std::string pattern;
    bool is_alone;  // of one operation, in no group
  };
  const Case cases[] = {{softmax_graph(), kSharedRows, false},
                        {softmax_of_channels(), kSharedColumns, false},
                        {attention(2, 64, 64, 16), kSharedRows, false},
                        {blur(), kSlidingWindows, false},
                        {mean_graph(), kWaitingSums, false},
                        {bare_layers(), kLayerBlocks, false},
                        {transposed_sum(), kReadThrough, true},
                        {joined(), kBordersThrough, true}};
  for (const Case& one : cases) {
    const Target target = one.pattern == kSlidingWindows ? small_cache(1)
                          : one.pattern == kLayerBlocks  ? kSmallL2
                                                         : kTarget;
    ASSERT_THAT(ledger(one.graph, "{}", target), HasSubstr(one.pattern + ", "));
    for (const Refusal& refusal : refusals) {
      if (one.is_alone && refusal.config.find("largest") != std::string::npos) continue;
      const Lowered apart = lowered(one.graph, refusal.config, target);
      SCOPED_TRACE(refusal.config + "\n" + to_string(apart.fusion));
      bool found = false;
      for (const FusionDecision& decision : apart.fusion.decisions) {
        if (decision.pattern != one.pattern) continue;
        found = true;
        EXPECT_FALSE(decision.fused);
        EXPECT_THAT(decision.reason, HasSubstr(refusal.reason));
        EXPECT_THAT(to_string(apart.schedule),
                    Not(HasSubstr(decision.producer + ".compute_at(" + decision.consumer)));
      }
      EXPECT_TRUE(found);
    }
  }
}

TEST(SharedLoops, ApartTheyAreTheSame) {
  const Graph graph = softmax_by_hand(5, 17);
  const TensorValues arguments = {{"x", random_integers(f32, {5, 17}, 3)}};
  const TensorValues expected = interpret_graph(graph, arguments);
  for (const char* config : {"{}", R"({"enabled": false})"}) {
    const TensorValues found = interpret_nest(lowered(graph, config).nest, arguments);
    EXPECT_EQ(first_difference(expected.at("y"), found.at("y"), 1e-5, 1e-6), std::nullopt);
  }
}

TEST(SharedLoops, ThatMustNotStayApart) {
  EXPECT_NO_THROW(ledger(softmax_graph(), R"({"fail_on_unfused": ["shared rows"]})"));
  EXPECT_ERROR(
      ledger(softmax_graph(), R"({"largest_group": 2, "fail_on_unfused": ["shared rows"]})"),
      "to be computed together, got them apart: expected a group of at most 2 operations, got ");
  EXPECT_ERROR(ledger(Graph(neg(matrix("x"))), R"({"fail_on_unfused": ["shared rows"]})"),
               "fail_on_unfused: expected shared rows in the graph, got none");
  EXPECT_NO_THROW(ledger(softmax_of_channels(), R"({"fail_on_unfused": ["shared columns"]})"));
  EXPECT_ERROR(ledger(softmax_graph(), R"({"fail_on_unfused": ["shared columns"]})"),
               "expected shared columns in the graph, got none");
  EXPECT_ERROR(ledger(softmax_graph(), R"({"fail_on_unfused": ["sliding windows"]})"),
               "expected sliding windows in the graph, got none");
}

TEST(SharedLoops, WhatElseNeedsAValueIsInTheLedger) {
  const Graph softmax = softmax_graph();
  const Graph graph({Tensor(op_of(softmax, "y")), Tensor(op_of(softmax, "p"))});
  const char* const said = "shared rows, p -> total: not fused: expected p to be no output";
  EXPECT_THAT(ledger(graph), HasSubstr(said));
  EXPECT_NO_THROW(ledger(graph, R"({"fail_on_unfused": ["shared rows"]})")) << "the others are";
  EXPECT_THAT(to_string(find_opportunities(graph, kTarget)),
              HasSubstr("shared rows, p + total: not legal: expected p to be no output"));
}

TEST(SharedLoops, PatternsByNameThatAreRows) {
  const Tensor x = matrix("x"), gamma = weight("gamma", f32, {96}),
               beta = weight("beta", f32, {96});
  const char* const config = R"({"fail_on_unfused": ["layer_norm+relu"]})";
  EXPECT_NO_THROW(ledger(Graph(relu(layer_norm(x, gamma, beta), "y")), config));
  EXPECT_NO_THROW(ledger(softmax_graph(), R"({"fail_on_unfused": ["softmax"]})"));
  const Tensor powers = exp(sub(x, reduce_max(x, {1}, true), "d"), "e");  // a group inside
  EXPECT_NO_THROW(ledger(Graph(div(powers, sum(powers, {1}, true), "y")),
                         R"({"fail_on_unfused": ["softmax"]})"));
  EXPECT_ERROR(ledger(softmax_graph(), R"({"largest_group": 2, "fail_on_unfused": ["softmax"]})"),
               "fail_on_unfused: expected softmax at y to be one group, got ");
  EXPECT_ERROR(ledger(softmax_graph(), config),
               "fail_on_unfused: expected layer_norm+relu in the graph, got none");
}

TEST(SharedLoops, AreOpportunities) {
  const std::vector<FusionOpportunity> found = find_opportunities(softmax_graph(), kTarget);
  ASSERT_EQ(found.size(), 1u) << to_string(found);
  EXPECT_EQ(found[0].pattern, kSharedRows);
  EXPECT_TRUE(found[0].legal());
  EXPECT_EQ(found[0].operations.back(), "y");
  EXPECT_EQ(found[0].gain.value().bytes_saved,
            lowered(softmax_graph()).fusion.gain.value().bytes_saved);
  EXPECT_THAT(to_string(find_opportunities(transposed_sum(), kTarget)),
              HasSubstr("moves read through, t + y: legal: saves 49152 bytes"));
  EXPECT_ERROR(find_opportunities(softmax_graph(), Target::tile_machine()), "expected");
}

TEST(SharedLoops, TheLedgerAsJson) {
  const auto json = nlohmann::json::parse(to_json(lowered(softmax_graph()).fusion));
  EXPECT_EQ(json["refused"], 0);
  for (const auto& decision : json["decisions"]) {
    EXPECT_TRUE(decision["fused"]);
    EXPECT_GT(decision["bytes_saved"], 0) << decision;
  }
}

}  // namespace
}  // namespace emulsion
