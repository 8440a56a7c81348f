// Random schedules of random graphs, for what the few programs of random_schedule_test have no
// operators for: what the nest and the compiled kernel compute is NumPy's answer, the statement for
// Halide is what the nest says, and a schedule with a mistake is refused or computes the same. A
// failure prints what reproduces it:
//
//   ./bazelw test //tests/random:crossed_schedule_test --test_env=EMULSION_SEED=7
//   --test_env=EMULSION_GRAPH=123
//
// EMULSION_GRAPHS is how many graphs are run, EMULSION_GRAPH the number of the only one to run.
// The tests run a few; //tests/random:all_crossed_schedule_test, by hand, many.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "backends/halide/jit.h"
#include "backends/interpreter/interpret_nest.h"
#include "dsl/graph_text.h"
#include "dsl/schedule_text.h"
#include "passes/lower/lower.h"
#include "tests/backends/halide/check_emitted.h"
#include "tests/random/check_recipe.h"
#include "tests/random/check_schedule.h"
#include "tests/random/guarded_run.h"
#include "tests/random/oracle.h"
#include "tests/random/random_graph.h"
#include "tests/random/random_schedule.h"
#include "tests/random/run_in_children.h"
#include "tests/random/test_environment.h"

namespace emulsion {
namespace {

constexpr int kBatches = 10;
constexpr uint64_t kSeed = 20261121;
constexpr int kGraphs = 120;
constexpr size_t kLongestGraph = 4000;  // in text: the interpreter runs all of it several times

uint64_t base_seed() { return number_from("EMULSION_SEED", kSeed); }

// One graph and what NumPy says of it.
class Case {
 public:
  Case(const Recipe& recipe, const Answer& answer, uint64_t seed, const CompileOptions& options)
      : recipe_(recipe),
        answer_(answer),
        graph_(build_graph(recipe)),
        random_(seed),
        options_(options) {}

  // What is wrong; empty: nothing.
  std::string fault() {
    if (!answer_.error.empty()) return "the oracle failed: " + answer_.error;
    ScheduleLines lines;
    try {
      int refused = 0;
      draw_legal_schedule(graph_, &random_, &lines, &refused);
      const std::string text = schedule_text(graph_, lines);
      announce(to_string(graph_) + text);
      check(lower(graph_, parse_schedule(text, graph_)));
      check_mistakes(graph_, &random_, &lines, [&](const LoopNest& nest) { check(nest); });
      return "";
    } catch (const std::exception& error) {
      return fmt::format("{}\n{}{}", error.what(), to_string(graph_), schedule_text(graph_, lines));
    }
  }

  // What was compared of the statements.
  const EmittedCounts& emitted() const { return emitted_; }

 private:
  void check(const LoopNest& nest) {
    if (!is_compiled(nest)) return;
    emitted_ += check_statement(nest);
    const JitKernel kernel(nest, test_target(), options_);
    for (size_t run = 0; run < recipe_.runs.size(); ++run) {
      const SizeValues& sizes = recipe_.runs[run];
      const TensorValues arguments = arguments_of(recipe_, graph_, sizes);
      InterpretOptions options;
      options.sizes = sizes;
      expect("nest", answer_.runs[run], interpret_nest(nest, arguments, options));
      for (auto side : {GuardedBuffer::Side::start, GuardedBuffer::Side::end}) {
        expect("JIT", answer_.runs[run], run_guarded(kernel, graph_, arguments, sizes, side));
      }
    }
  }

  void expect(const std::string& by, const std::vector<Expected>& expected,
              const TensorValues& actual) const {
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const std::string& name = graph_.outputs()[i]->name;
      const auto difference = first_difference(expected[i], actual.at(name));
      if (difference) throw std::runtime_error(by + ": " + name + *difference);
    }
  }

  const Recipe& recipe_;
  const Answer& answer_;
  const Graph graph_;
  RandomNumbers random_;
  const CompileOptions options_;
  EmittedCounts emitted_;
};

class CrossedSchedules : public testing::TestWithParam<int> {};

TEST_P(CrossedSchedules, ChangeNothingOrAreRefused) {
  const int count = static_cast<int>(number_from("EMULSION_GRAPHS", kGraphs));
  const uint64_t only = number_from("EMULSION_GRAPH", UINT64_MAX);
  std::vector<int> indices;
  std::vector<Recipe> recipes;
  const auto take = [&](int index) {
    const Recipe recipe = random_recipe(base_seed(), index);
    if (to_string(build_graph(recipe)).size() > kLongestGraph) return;
    indices.push_back(index);
    recipes.push_back(recipe);
  };
  if (only == UINT64_MAX) {
    const auto wanted = static_cast<size_t>(count / kBatches);
    for (int index = GetParam(); recipes.size() < wanted; index += kBatches) take(index);
  } else if (only % kBatches == static_cast<uint64_t>(GetParam())) {
    take(static_cast<int>(only));
  }
  const std::vector<Answer> answers = ask_numpy(recipes);
  ASSERT_EQ(answers.size(), recipes.size());
  std::vector<std::function<std::string()>> tasks;
  for (size_t i = 0; i < recipes.size(); ++i) {
    const uint64_t seed = base_seed() * 1000003 + static_cast<uint64_t>(indices[i]);
    tasks.emplace_back([&, i, seed] {
      Case one(recipes[i], answers[i], seed, options_of_turn(static_cast<int>(i)));
      const std::string fault = one.fault();
      return nlohmann::json({fault, numbers_of(one.emitted())}).dump();
    });
  }
  start_jit();
  const std::vector<TaskResult> results = run_in_children(tasks);
  ASSERT_EQ(results.size(), tasks.size());
  EmittedCounts emitted;
  for (size_t i = 0; i < results.size(); ++i) {
    std::string fault = results[i].crash;
    if (fault.empty()) {
      const auto values = nlohmann::json::parse(results[i].text);
      values[0].get_to(fault);
      emitted += counts_of(values[1].get<std::vector<int64_t>>());
    }
    if (fault.empty()) continue;
    ADD_FAILURE() << "EMULSION_SEED=" << base_seed() << " EMULSION_GRAPH=" << indices[i] << "\n"
                  << fault;
  }
  fmt::print("seed {}: {} graphs run\n{}\n", base_seed(), results.size(), to_string(emitted));
  // The least of one graph whose schedule and whose mistakes are compared.
  if (only == UINT64_MAX) {
    EXPECT_GE(emitted.uops, static_cast<int64_t>(results.size()));
  }
}

INSTANTIATE_TEST_SUITE_P(All, CrossedSchedules, testing::Range(0, kBatches));

}  // namespace
}  // namespace emulsion
