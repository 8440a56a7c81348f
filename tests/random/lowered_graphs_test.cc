// Large graphs, chains of comprehensions and comprehensions by themselves: what is derived for them
// is lowered and verified, and not run. What threads share has other loops than what one computes;
// the graphs that other tests run are too small for most of these. A failure prints what reproduces
// it:
//
//   ./bazelw test //tests/random:lowered_graphs_test --test_env=EMULSION_SEED=7
//   --test_env=EMULSION_GRAPH=123
//
// EMULSION_GRAPHS is how many there are of each kind, EMULSION_GRAPH the number of the only one to
// run. //tests/random:all_lowered_graphs_test, by hand, lowers many.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <tuple>

#include "dsl/graph_text.h"
#include "dsl/target.h"
#include "passes/pipeline.h"
#include "tests/random/expect_in_children.h"
#include "tests/random/level_batches.h"
#include "tests/random/random_chains.h"
#include "tests/random/random_comprehensions.h"
#include "tests/random/run_in_children.h"
#include "tests/random/test_environment.h"

namespace emulsion {
namespace {

constexpr uint64_t kSeed = 20261129;
constexpr int kGraphs = 600;  // of each kind
constexpr int64_t kMostSteps = 50'000'000;

uint64_t base_seed() { return number_from("EMULSION_SEED", kSeed); }

Graph chain(int index) {
  ChainOptions options;
  options.most_steps = kMostSteps;
  options.large = true;
  return random_chain(base_seed(), index, options).program.graph;
}

Graph comprehensions(int index) {
  return random_comprehensions(base_seed(), index, {kMostSteps, true}).graph;
}

// As a rule what users get; else operation by operation, or with all copies and joins that are
// legal.
void lower_as_drawn(const Graph& graph, const Target& target, int index) {
  DeriveOptions options;
  options.fuse = index % 16 != 15;
  if (index % 8 != 3) {
    run_pipeline(graph, target, options);
    return;
  }
  FusionPolicies policies;
  policies.products = always_join;
  policies.copies = recompute_always;
  run_pipeline(graph, target, policies, {});
}

Target many_cores(int level, int index) {
  constexpr std::array<int, 4> kCores = {2, 1, 16, 64};
  Target target = machine_of(index);
  target.features = level_of(level).features;
  target.cores = kCores[static_cast<size_t>(index) / kLevelCount % kCores.size()];
  return target;
}

class LargeGraphs : public testing::TestWithParam<std::tuple<int, int>> {
 protected:
  static void expect_lowered(const std::function<Graph(int)>& drawn) {
    const auto [level, number_of_batch] = GetParam();
    const auto check = [&drawn, level = level](int index) -> std::string {
      const Graph graph = drawn(index);
      const Target target = many_cores(level, index);
      const std::string text =
          fmt::format("\n{}target {}", to_string(graph), target.to_string_with_machine());
      announce(text);
      try {
        lower_as_drawn(graph, target, index);
        return "";
      } catch (const std::exception& error) {
        return error.what() + text;
      }
    };
    expect_nothing_wrong(batch(level, number_of_batch, kGraphs), base_seed(), check);
  }
};

TEST_P(LargeGraphs, OfChainsAreLowered) { expect_lowered(chain); }

TEST_P(LargeGraphs, OfComprehensionsAreLowered) { expect_lowered(comprehensions); }

INSTANTIATE_TEST_SUITE_P(All, LargeGraphs,
                         testing::Combine(testing::Range(0, kLevelCount),
                                          testing::Range(0, kBatches)));

}  // namespace
}  // namespace emulsion
