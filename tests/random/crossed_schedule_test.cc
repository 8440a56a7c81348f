// Random schedules of random graphs: the graph, the nest and the compiled kernel agree. By hand,
// for what the few programs of random_schedule_test have no operators for:
//
//   ./bazelw test //tests/random:crossed_schedule_test --test_env=EMULSION_SEED=7
//
// EMULSION_GRAPHS is how many graphs are drawn; those whose values are whole numbers are run.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "backends/halide/jit.h"
#include "backends/interpreter/interpret_graph.h"
#include "backends/interpreter/interpret_nest.h"
#include "dsl/graph_text.h"
#include "dsl/schedule_text.h"
#include "passes/lower.h"
#include "tests/random/check_recipe.h"
#include "tests/random/guarded_run.h"
#include "tests/random/random_graph.h"
#include "tests/random/random_schedule.h"
#include "tests/random/run_in_children.h"
#include "tests/random/test_environment.h"

namespace emulsion {
namespace {

constexpr int kBatches = 10;
constexpr uint64_t kSeed = 20261121;
constexpr int kGraphs = 400;
constexpr size_t kLongestGraph = 4000;  // in text: the interpreters run all of it several times

void expect_equal(const std::string& by, const TensorValues& expected, const TensorValues& actual) {
  for (const auto& [name, value] : expected) {
    const auto difference = first_difference(value, actual.at(name));
    if (difference) throw std::runtime_error(by + ": " + name + *difference);
  }
}

void check(const Recipe& recipe, const Graph& graph, const LoopNest& nest) {
  const JitKernel kernel(nest, test_target());
  for (const SizeValues& sizes : recipe.runs) {
    const TensorValues arguments = arguments_of(recipe, graph, sizes);
    InterpretOptions options;
    options.sizes = sizes;
    const TensorValues expected = interpret_graph(graph, arguments, options);
    expect_equal("nest", expected, interpret_nest(nest, arguments, options));
    for (auto side : {GuardedBuffer::Side::start, GuardedBuffer::Side::end}) {
      expect_equal("JIT", expected, run_guarded(kernel, graph, arguments, sizes, side));
    }
  }
}

// What is wrong with a schedule of that graph; empty: nothing.
std::string fault_of(const Recipe& recipe, uint64_t seed) {
  const Graph graph = build_graph(recipe);
  if (to_string(graph).size() > kLongestGraph) return "";
  ScheduleLines lines;
  try {
    RandomNumbers random(seed);
    int refused = 0;
    draw_legal_schedule(graph, &random, &lines, &refused);
    const std::string text = schedule_text(graph, lines);
    announce(to_string(graph) + text);
    const LoopNest nest = lower(graph, parse_schedule(text, graph));
    if (text.find("tensorize") == std::string::npos) check(recipe, graph, nest);
    return "";
  } catch (const std::exception& error) {
    return fmt::format("{}\n{}{}", error.what(), to_string(graph), schedule_text(graph, lines));
  }
}

class CrossedSchedules : public testing::TestWithParam<int> {};

TEST_P(CrossedSchedules, ChangeNothing) {
  const uint64_t seed = number_from("EMULSION_SEED", kSeed);
  const int count = static_cast<int>(number_from("EMULSION_GRAPHS", kGraphs));
  std::vector<std::function<std::string()>> tasks;
  std::vector<int> indices;
  for (int index = GetParam(); index < count; index += kBatches) {
    const Recipe recipe = random_recipe(seed, index);
    if (!recipe.exact) continue;
    indices.push_back(index);
    tasks.emplace_back(
        [=] { return fault_of(recipe, seed * 1000003 + static_cast<uint64_t>(index)); });
  }
  EXPECT_GE(static_cast<int>(tasks.size()), count / kBatches / 10);
  const std::vector<TaskResult> results = run_in_children(tasks);
  ASSERT_EQ(results.size(), tasks.size());
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string fault = results[i].crash + results[i].text;
    if (fault.empty()) continue;
    ADD_FAILURE() << "EMULSION_SEED=" << seed << ", graph " << indices[i] << "\n" << fault;
  }
  fmt::print("seed {}: {} graphs run\n", seed, results.size());
}

INSTANTIATE_TEST_SUITE_P(All, CrossedSchedules, testing::Range(0, kBatches));

}  // namespace
}  // namespace emulsion
