// Chains of comprehensions by hand (random_chains.h): the nest of the derived schedule,
// interpreted, for each level of x86-64, and its compiled kernel, for those that the machine has,
// compute what the graph interpreter does; so do random schedules, and gradients are right. A
// failure prints what reproduces it:
//
//   ./bazelw test //tests/random:random_chains_test --test_env=EMULSION_SEED=7
//   --test_env=EMULSION_GRAPH=123
//
// EMULSION_GRAPHS is how many there are, EMULSION_GRAPH the number of the only one to run; with
// EMULSION_SHRINK=1 a smaller one that fails too is printed. The tests run some;
// //tests/random:all_random_chains_test, by hand, many.

#include "tests/random/random_chains.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "bazel/testing/needs.h"
#include "dsl/graph_text.h"
#include "dsl/schedule_text.h"
#include "dsl/target.h"
#include "passes/pipeline.h"
#include "tests/random/check_gradients.h"
#include "tests/random/check_recipe.h"
#include "tests/random/check_schedule.h"
#include "tests/random/expect_in_children.h"
#include "tests/random/level_batches.h"
#include "tests/random/random_comprehensions.h"
#include "tests/random/run_in_children.h"
#include "tests/random/scheduled_programs.h"
#include "tests/random/sizes_text.h"
#include "tests/random/smallest_program.h"
#include "tests/random/test_environment.h"

namespace emulsion {
namespace {

constexpr uint64_t kSeed = 20261128;
constexpr int kNests = 180;  // chains whose nests are interpreted
constexpr int kKernels = 45, kScheduled = 27, kDifferentiated = 27;
constexpr int kSchedules = 1;                  // of each chain
constexpr int64_t kMostSteps = 4000;           // of one comprehension
constexpr int64_t kMostStepsOfGradient = 400;  // which is run backwards, again and again

uint64_t base_seed() { return number_from("EMULSION_SEED", kSeed); }

RandomChain chain_of(int index) {
  ChainOptions options;
  options.most_steps = static_cast<int64_t>(number_from("EMULSION_STEPS", kMostSteps));
  return random_chain(base_seed(), index, options);
}

// Of each level, with one core up to sixteen and small caches and large ones.
Target machine_for(int level, int index) {
  Target target = machine_of(index);
  const Target other = level_of(level);
  target.features = other.features;
  const int cores[] = {1, 2, 16};
  target.cores = cores[index / 9 % 3];
  return target;
}

// As a rule what users get; else what is fused otherwise.
Lowered lowered_for(const Graph& graph, const Target& target, int index) {
  DeriveOptions options = index % 2 == 0 ? test_options() : DeriveOptions{};
  options.fuse = index % 16 != 15;
  if (index % 8 != 3) return run_pipeline(graph, target, options);
  FusionPolicies policies;
  policies.products = always_join;
  policies.copies = recompute_always;
  return run_pipeline(graph, target, policies, {});
}

enum class Way : uint8_t { nest, kernel };

// What is wrong, or nothing. The schedule is announced as soon as there is one.
std::string wrong_of(const ScheduleProgram& program, Way way, int level, int index) {
  const Target target = machine_for(level, index);
  std::string text = fmt::format("\n{}", to_string(program.graph));
  for (const SizeValues& sizes : program.runs) text += sizes_text(sizes) + "\n";
  text += fmt::format("target {}\n", target.to_string_with_machine());
  announce(text);
  try {
    const Lowered lowered = lowered_for(program.graph, target, index);
    text += to_string(lowered.schedule);
    announce(text);
    if (way == Way::nest) {
      check_interpreted(program, lowered.nest);
    } else {
      check_lowered(program, lowered, target);
    }
    return "";
  } catch (const std::exception& error) {
    return error.what() + text;
  }
}

std::string check(Way way, int level, int index) {
  return wrong_of(chain_of(index).program, way, level, index);
}

void expect_right(Way way, int level, const std::vector<int>& numbers) {
  expect_nothing_wrong(numbers, base_seed(), [=](int index) { return check(way, level, index); });
  if (number_from("EMULSION_SHRINK", 0) == 0 || !testing::Test::HasFailure()) return;
  for (const int index : numbers) {
    const auto wrong = [=](const ScheduleProgram& part) {
      return wrong_of(part, way, level, index);
    };
    const RandomChain chain = chain_of(index);
    const std::vector<TaskResult> again = run_in_children({[&] { return wrong(chain.program); }});
    if (again[0].text.empty() && again[0].crash.empty()) continue;
    const ScheduleProgram smallest = smallest_program(chain.program, wrong);
    const std::vector<TaskResult> what = run_in_children({[&] { return wrong(smallest); }});
    fmt::print("of graph {}, as small as still fails:\n{}\n", index, what[0].text + what[0].crash);
  }
}

class RandomChainNests : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(RandomChainNests, AreWhatIsWritten) {
  const auto [level, number_of_batch] = GetParam();
  expect_right(Way::nest, level, batch(level, number_of_batch, kNests));
}

INSTANTIATE_TEST_SUITE_P(All, RandomChainNests,
                         testing::Combine(testing::Range(0, kLevelCount),
                                          testing::Range(0, kBatches)));

class RandomChains : public testing::TestWithParam<std::tuple<int, int>> {
 protected:
  void SetUp() override { SKIP_UNLESS_IT_RUNS(level_of(std::get<0>(GetParam()))); }
};

TEST_P(RandomChains, AreComputedAsTheyAreWritten) {
  const auto [level, number_of_batch] = GetParam();
  expect_right(Way::kernel, level, batch(level, number_of_batch, kKernels));
}

TEST_P(RandomChains, AreComputedBySchedulesThatAreDrawn) {
  const auto [level, number_of_batch] = GetParam();
  const std::vector<int> numbers = batch(level, number_of_batch, kScheduled);
  const ScheduledPrograms total =
      expect_scheduled(numbers, base_seed() + 1, kSchedules, [](int number) {
        ChainOptions options;
        options.most_steps = kMostSteps / 2;
        return random_chain(base_seed() + 1, number, options).program;
      });
  if (std::getenv("EMULSION_GRAPH") != nullptr) return;
  EXPECT_GE(total.schedules, static_cast<int>(numbers.size()));
}

TEST_P(RandomChains, HaveTheGradientsOfEveryPoint) {
  const auto [level, number_of_batch] = GetParam();
  const auto check = [](int index) {
    ChainOptions options;
    options.most_steps = kMostStepsOfGradient;
    options.differentiable = true;
    const RandomChain chain = random_chain(base_seed() + 2, index, options);
    GradientProgram program = {chain.program.graph, {}, chain.program.runs};
    for (const OpPtr& op : program.graph.arguments()) program.by.push_back(op->name);
    if (program.by.size() > 3) program.by.resize(3);
    return wrong_gradients(program, nullptr, {machine_of(index), {}, false}, base_seed());
  };
  expect_nothing_wrong(batch(level, number_of_batch, kDifferentiated), base_seed(), check);
}

INSTANTIATE_TEST_SUITE_P(All, RandomChains,
                         testing::Combine(testing::Range(0, kLevelCount),
                                          testing::Range(0, kBatches)));

// What is drawn: of the tests' run, half as many of each as there are with the tests' own seed.
TEST(RandomChainKinds, AreAllDrawn) {
  std::map<std::string, int> counts;
  for (int index = 0; index < kNests; ++index) {
    for (const std::string& kind : chain_of(index).kinds) ++counts[kind];
  }
  for (const auto& [kind, count] : counts) fmt::print("{:6} {}\n", count, kind);
  const std::map<std::string, int> floors = {
      {"exact", 40},           {"move", 55},    {"narrow types", 35},
      {"places of data", 30},  {"product", 45}, {"rows", 70},
      {"run-time size", 40},   {"series", 30},  {"window", 45},
      {"several outputs", 45}, {"pixels", 15}};
  for (const auto& [kind, floor] : floors) EXPECT_GE(counts[kind], floor) << kind;
}

}  // namespace
}  // namespace emulsion
