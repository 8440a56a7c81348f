// Random graphs of operators (random_graph.h) and of comprehensions by hand
// (random_comprehensions.h): a schedule is derived and lowered for each level of x86-64, with large
// caches and small ones, and the nest is interpreted. Where all values are exact it means what the
// graph means. Nothing is compiled, and no other process is asked: this is what the sanitizers see
// of passes/fuse, passes/derive and passes/lower (derived_graphs_test_address). Compiled kernels
// are those of random_graph_test and random_comprehensions_test.
//
// EMULSION_SEED and EMULSION_GRAPHS as there; a report of a sanitizer comes behind the number of
// its graph.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "backends/interpreter/interpret_graph.h"
#include "backends/interpreter/interpret_nest.h"
#include "dsl/graph_text.h"
#include "dsl/schedule_text.h"
#include "passes/nest/verify_nest.h"
#include "passes/pipeline.h"
#include "tests/random/level_batches.h"
#include "tests/random/random_comprehensions.h"
#include "tests/random/random_graph.h"
#include "tests/random/recipe.h"
#include "tests/random/test_environment.h"

namespace emulsion {
namespace {

constexpr uint64_t kSeed = 20261121;
constexpr int kGraphs = 96;  // of operators, and for each two of them one of comprehensions
constexpr int64_t kMostSteps = 1000;  // of one comprehension

uint64_t base_seed() { return number_from("EMULSION_SEED", kSeed); }
int graph_count() { return static_cast<int>(number_from("EMULSION_GRAPHS", kGraphs)); }

DeriveOptions options_of(int index) {
  DeriveOptions options;
  options.fuse = index % 16 != 15;
  if (index % 2 == 0) options.siblings = share_always;
  return options;
}

// What was derived in the whole program: a way that never occurs is looked at by nothing.
class Derived {
 public:
  void add(const Lowered& lowered) {
    ++counts_["schedules"];
    for (const LoopGroup& group : lowered.grouped.loop_groups()) {
      static const std::map<LoopGroupKind, const char*> kNames = {
          {LoopGroupKind::rows, "rows"},
          {LoopGroupKind::columns, "columns"},
          {LoopGroupKind::row_blocks, "row blocks"},
          {LoopGroupKind::windows, "windows"},
          {LoopGroupKind::waiting_sums, "waiting sums"}};
      ++counts_[kNames.at(group.kind)];
    }
    for (const auto& [name, stage] : lowered.schedule.stages()) {
      for (const Directive& directive : stage.directives()) ++counts_[to_string(directive.kind)];
    }
  }
  int count(const std::string& what) const {
    const auto found = counts_.find(what);
    return found == counts_.end() ? 0 : found->second;
  }
  void print() const {
    for (const auto& [what, number] : counts_) fmt::print("{:6} {}\n", number, what);
  }

 private:
  std::map<std::string, int> counts_;
};

struct Program {
  Graph graph;
  std::vector<SizeValues> runs;
  std::function<TensorValues(const SizeValues& sizes)> arguments;
  bool exact = false;
};

void check(const Program& program, int index, Derived* derived) {
  SCOPED_TRACE(to_string(program.graph));
  const Lowered lowered = run_pipeline(program.graph, machine_of(index), options_of(index));
  derived->add(lowered);
  verify_nest(lowered.nest);
  for (const SizeValues& sizes : program.runs) {
    const TensorValues arguments = program.arguments(sizes);
    InterpretOptions options;
    options.sizes = sizes;
    options.reverse_parallel = true;
    const TensorValues actual = interpret_nest(lowered.nest, arguments, options);
    if (!program.exact) continue;
    const TensorValues expected = interpret_graph(program.graph, arguments, options);
    for (const auto& [name, value] : expected) {
      ASSERT_EQ(first_difference(value, actual.at(name)).value_or(""), "")
          << name << " with\n"
          << to_string(lowered.schedule);
    }
  }
}

Program program_of_operators(int index) {
  const Recipe recipe = random_recipe(base_seed(), index);
  const Graph graph = build_graph(recipe);
  return {graph, recipe.runs,
          [recipe, graph](const SizeValues& sizes) { return arguments_of(recipe, graph, sizes); },
          recipe.exact};
}

Program program_of_comprehensions(int index) {
  const ScheduleProgram drawn = random_comprehensions(base_seed(), index, {kMostSteps});
  return {drawn.graph, drawn.runs,
          [drawn](const SizeValues& sizes) { return drawn.arguments(drawn.graph, sizes); },
          drawn.relative == 0};
}

Derived derive_all(Program (*program)(int index), int count, const char* of) {
  Derived derived;
  for (int index = 0; index < count && !testing::Test::HasFailure(); ++index) {
    fmt::print(stderr, "EMULSION_SEED={} of {}: graph {}\n", base_seed(), of, index);
    EXPECT_NO_THROW(check(program(index), index, &derived)) << of << " " << index;
  }
  derived.print();
  return derived;
}

using Floors = std::map<std::string, int>;

void expect_at_least(const Derived& derived, const Floors& floors) {
  for (const auto& [what, floor] : floors) EXPECT_GE(derived.count(what), floor) << what;
}

TEST(DerivedGraphs, OfOperatorsMeanWhatTheGraphMeans) {
  const Derived derived = derive_all(program_of_operators, graph_count(), "operators");
  if (graph_count() < kGraphs) return;
  expect_at_least(derived, {{"schedules", graph_count()},
                            {"rows", 5},
                            {"columns", 3},
                            {"row blocks", 3},
                            {"windows", 2},
                            {"waiting sums", 3},
                            {"cache_write", 30},
                            {"compute_at", 100},
                            {"compute_with", 15},
                            {"pack", 30},
                            {"rfactor", 30}});
}

TEST(DerivedGraphs, OfComprehensionsMeanWhatTheGraphMeans) {
  const Derived derived =
      derive_all(program_of_comprehensions, graph_count() / 2, "comprehensions");
  if (graph_count() < kGraphs) return;
  expect_at_least(derived, {{"schedules", graph_count() / 2},
                            {"alternative", 2},
                            {"compute_at", 5},
                            {"partition", 50},
                            {"specialize", 50},
                            {"vectorize", 100}});
}

}  // namespace
}  // namespace emulsion
