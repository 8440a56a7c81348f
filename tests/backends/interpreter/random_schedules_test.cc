// Random schedules for random graphs: what lower() accepts keeps every rule of verify_nest and
// means what the graph means, for every batch, forwards and backwards; what it refuses is a
// ScheduleError.
//
// Unlike those of tests/random the schedules are drawn blindly, for ten times as many graphs, and
// the derived ones are for three processors, whatever the machine. Nothing is compiled.

#include "tests/backends/interpreter/random_schedules.h"

#include <gtest/gtest.h>

#include <optional>

#include "backends/interpreter/interpret_graph.h"
#include "backends/interpreter/interpret_nest.h"
#include "dsl/error.h"
#include "dsl/graph_text.h"
#include "dsl/schedule_text.h"
#include "dsl/target.h"
#include "passes/lower/lower.h"
#include "passes/nest/verify_nest.h"
#include "passes/pipeline.h"
#include "tests/random/test_environment.h"

namespace emulsion {
namespace {

constexpr uint32_t kFirstSeed = 1;
constexpr uint32_t kSeedsPerTest = 200;

// As many of them as EMULSION_GRAPHS says, or all.
uint32_t seeds_per_test() {
  return static_cast<uint32_t>(number_from("EMULSION_GRAPHS", kSeedsPerTest));
}

TensorValues random_arguments(const Graph& graph, const SizeValues& sizes, uint64_t seed) {
  TensorValues arguments;
  for (const OpPtr& op : graph.arguments()) {
    const std::vector<int64_t> shape = evaluate_shape(op->name, op->shape, sizes);
    arguments[op->name] = random_integers(op->dtype, shape, ++seed, -3, 3);
  }
  return arguments;
}

std::optional<LoopNest> lower_or_refuse(const Graph& graph, const Schedule& schedule) {
  try {
    return lower(graph, schedule);
  } catch (const ScheduleError&) {
    return std::nullopt;
  }
}

void expect_same(const Graph& graph, const LoopNest& nest, int64_t batch, uint64_t seed) {
  const TensorValues arguments = random_arguments(graph, {{"B", batch}}, seed);
  const TensorValues expected = interpret_graph(graph, arguments);
  InterpretOptions options;
  options.reverse_parallel = seed % 2 == 1;
  const TensorValues actual = interpret_nest(nest, arguments, options);
  for (const auto& [name, value] : expected) {
    EXPECT_EQ(first_difference(value, actual.at(name)).value_or(""), "")
        << name << " with B = " << batch << "\n"
        << to_string(nest);
  }
}

class RandomSchedulesTest : public testing::TestWithParam<uint32_t> {};

TEST_P(RandomSchedulesTest, MeanWhatTheGraphMeans) {
  int accepted = 0;
  for (uint32_t i = 0; i < seeds_per_test() && !HasFailure(); ++i) {
    const uint32_t seed = kFirstSeed + GetParam() * kSeedsPerTest + i;
    RandomSchedules random(seed);
    const Graph graph = random.graph();
    const Schedule schedule = random.schedule(graph);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + to_string(graph) + to_string(schedule));
    std::optional<LoopNest> nest;
    ASSERT_NO_THROW(nest = lower_or_refuse(graph, schedule));
    if (!nest) continue;
    ++accepted;
    ASSERT_NO_THROW(verify_nest(*nest));
    for (int64_t batch : {0, 1, 3, 8}) {
      ASSERT_NO_THROW(expect_same(graph, *nest, batch, seed));
      if (nest->sizes.empty()) break;
    }
  }
  if (seeds_per_test() >= kSeedsPerTest) {
    EXPECT_GE(accepted, static_cast<int>(kSeedsPerTest) / 4);
  }
}

TEST_P(RandomSchedulesTest, DerivedOnesMeanWhatTheGraphMeans) {
  static const char* const kTargets[] = {"x86-64-linux", "x86-64-v3", "x86-64-v4"};
  for (uint32_t i = 0; i < seeds_per_test() && !HasFailure(); ++i) {
    const uint32_t seed = kFirstSeed + GetParam() * kSeedsPerTest + i;
    RandomSchedules random(seed);
    const Graph graph = random.graph();
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + to_string(graph));
    DeriveOptions options;
    options.fuse = random.pick(0, 3) != 0;
    std::optional<LoopNest> nest;
    ASSERT_NO_THROW(
        nest = run_pipeline(graph, Target::parse(kTargets[random.pick(0, 2)]), options).nest);
    ASSERT_NO_THROW(verify_nest(*nest));
    for (int64_t batch : {0, 1, 5, 9}) {
      ASSERT_NO_THROW(expect_same(graph, *nest, batch, seed));
      if (nest->sizes.empty()) break;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomSchedulesTest, testing::Range(0u, 10u));

}  // namespace
}  // namespace emulsion
