// Random graphs: two interpreters, the JIT and NumPy agree. A failure prints what reproduces it:
//
//   ./bazelw test //tests/random:random_graph_test --test_env=EMULSION_SEED=7
//   --test_env=EMULSION_GRAPH=123
//
// EMULSION_GRAPHS is how many graphs all batches have together, EMULSION_GRAPH the number of the
// only one to run.

#include "tests/random/random_graph.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "dsl/graph_text.h"
#include "dsl/schedule_text.h"
#include "passes/analyse/machine_model.h"
#include "passes/analyse/recognise_op.h"
#include "passes/derive/derive_schedule.h"
#include "passes/derive/share_loops.h"
#include "passes/fuse/fuse_epilogues.h"
#include "passes/fuse/recompute_producers.h"
#include "passes/lower/lower.h"
#include "tests/random/check_recipe.h"
#include "tests/random/test_environment.h"

namespace emulsion {
namespace {

constexpr int kBatches = 20;
constexpr uint64_t kSeed = 20261121;
constexpr int kGraphs = 500;

uint64_t base_seed() { return number_from("EMULSION_SEED", kSeed); }
int graph_count() { return static_cast<int>(number_from("EMULSION_GRAPHS", kGraphs)); }

// Every kBatches-th graph: the operators' turns spread over all batches.
std::vector<int> batch(int number) {
  uint64_t only = number_from("EMULSION_GRAPH", UINT64_MAX);
  std::vector<int> graphs;
  for (int graph = number; graph < graph_count(); graph += kBatches) {
    if (only == UINT64_MAX || only == static_cast<uint64_t>(graph)) graphs.push_back(graph);
  }
  return graphs;
}

class RandomGraphs : public ::testing::TestWithParam<int> {};

TEST_P(RandomGraphs, AgreeWithNumPy) {
  std::vector<int> numbers = batch(GetParam());
  std::vector<Recipe> recipes;
  for (int number : numbers) {
    SCOPED_TRACE(fmt::format("EMULSION_SEED={} EMULSION_GRAPH={}", base_seed(), number));
    ASSERT_NO_THROW(recipes.push_back(random_recipe(base_seed(), number)));
  }
  std::vector<Answer> answers = ask_numpy(recipes);
  ASSERT_EQ(answers.size(), recipes.size());
  std::vector<CheckResult> results = check_recipes(recipes, answers);
  CheckResult total;
  for (size_t i = 0; i < recipes.size(); ++i) {
    const CheckResult& result = results[i];
    total.elements += result.elements;
    total.unknown += result.unknown;
    total.ordinary += result.ordinary;
    if (result.failure.empty()) continue;
    ADD_FAILURE() << "EMULSION_SEED=" << base_seed() << " EMULSION_GRAPH=" << numbers[i] << "\n"
                  << result.failure << "\nsmallest part that fails:\n"
                  << to_string(smallest_failure(recipes[i]));
  }
  fmt::print("seed {}: {} graphs, {} elements, {} of them ordinary numbers, {} unknown\n",
             base_seed(), recipes.size(), total.elements, total.ordinary, total.unknown);
  // A comparison with nothing known compares nothing.
  EXPECT_LE(total.unknown * 3, total.elements);
  EXPECT_GE(total.ordinary * 2, total.elements);
}

INSTANTIATE_TEST_SUITE_P(All, RandomGraphs, ::testing::Range(0, kBatches));

// What the graphs of a run are made of: counted, since a rule that never fires is tested by
// nothing.
class Census {
 public:
  void add(const Recipe& recipe, const Graph& graph, const Graph& fused, const Schedule& schedule) {
    ++graphs_;
    ++counts_[recipe.exact ? "graph: exact" : "graph: real"];
    if (recipe.specials) ++counts_["graph: special values"];
    if (!graph.sizes().empty()) ++counts_["graph: run-time sizes"];
    std::map<int, std::set<size_t>> users;
    std::set<int> outputs(recipe.outputs.begin(), recipe.outputs.end());
    for (size_t i = 0; i < recipe.nodes.size(); ++i) {
      if (!recipe.nodes[i].is_leaf()) ++counts_["operator: " + recipe.nodes[i].op];
      for (const Arg& arg : recipe.nodes[i].args) {
        if (arg.node >= 0) users[arg.node].insert(i);
      }
    }
    bool read_on = false;
    for (const auto& [node, readers] : users) {
      bool leaf = recipe.nodes[static_cast<size_t>(node)].is_leaf();
      if (!leaf) ++producers_;
      if (!leaf && readers.size() > 1) ++shared_;
      if (readers.size() > 1 && leaf && recipe.nodes[static_cast<size_t>(node)].op != "input") {
        ++counts_["graph: a weight with several users"];
      }
      read_on = read_on || outputs.count(node) > 0;
    }
    if (read_on) ++counts_["graph: an intermediate is an output"];
    for (const OpPtr& op : graph.ops()) {
      if (op->kind != OpKind::compute) continue;
      ++counts_["class: " + to_string(classify(*op))];
      ++counts_["rank: " + std::to_string(op->shape.size())];
      ++counts_["type: " + to_string(op->dtype)];
    }
    for (const OpPtr& op : fused.ops()) {
      if (op->kind == OpKind::fused) add_fusion(*op);
    }
    for (const auto& [name, stage] : schedule.stages()) {
      for (const Directive& d : stage.directives()) add_directive(d);
    }
  }

  // What share_loops() decided.
  void add_loops(const Graph& shared, const FusionReport& report) {
    static const std::map<LoopGroupKind, std::string> kNames = {
        {LoopGroupKind::rows, "rows"},
        {LoopGroupKind::columns, "columns"},
        {LoopGroupKind::row_blocks, "row blocks"},
        {LoopGroupKind::windows, "windows"},
        {LoopGroupKind::waiting_sums, "waiting sums"}};
    for (const LoopGroup& group : shared.loop_groups()) {
      ++counts_["loop group: " + kNames.at(group.kind)];
      if (group.kind == LoopGroupKind::rows && group.axes.front() != 0) {
        ++counts_["loop group: rows in pieces"];
      }
      bool keeps = false, has_results = false;
      for (const OpPtr& member : group.members) {
        if (member == group.members.back() || !is_needed_outside(*member, group, shared)) continue;
        keeps = true;
        has_results = has_results || member->shape == group.members.back()->shape;
      }
      if (keeps) ++counts_["loop group: rows that keep something"];
      if (has_results) ++counts_["loop group: rows with several results"];
    }
    for (const FusionDecision& decision : report.decisions) {
      if (!decision.fused) continue;
      if (is_read_through(decision) || decision.pattern == kLayerBlocks) {
        ++counts_["fusion: " + decision.pattern];
      }
    }
  }

  // The names that occur less often than they have to.
  std::vector<std::string> missing(const std::map<std::string, int>& floors, int of_graphs) const {
    std::vector<std::string> result;
    for (const auto& [name, floor] : floors) {
      auto found = counts_.find(name);
      int count = found == counts_.end() ? 0 : found->second;
      if (count * of_graphs < floor * graphs_) {
        result.push_back(
            fmt::format("{}: {}, at least {}", name, count, floor * graphs_ / of_graphs));
      }
    }
    return result;
  }

  void print() const {
    fmt::print("{} graphs, {} of {} producers have several users\n", graphs_, shared_, producers_);
    for (const auto& [name, count] : counts_) fmt::print("{:6} {}\n", count, name);
  }
  void add_copies(const FusionReport& report) {
    counts_["fusion: a value computed again by its users"] += report.fused_count();
  }
  double shared() const { return static_cast<double>(shared_) / std::max(producers_, 1); }

 private:
  static bool is_needed_outside(const Op& member, const LoopGroup& group, const Graph& shared) {
    if (shared.is_output(member)) return true;
    return std::any_of(shared.ops().begin(), shared.ops().end(), [&](const OpPtr& op) {
      const std::vector<OpPtr> read = operands(*op);
      return std::any_of(read.begin(), read.end(),
                         [&](const OpPtr& operand) { return operand.get() == &member; }) &&
             std::count(group.members.begin(), group.members.end(), op) == 0;
    });
  }

  void add_fusion(const Op& group) {
    std::map<std::string, int> classes;
    for (const OpPtr& member : group.members) ++classes[to_string(classify(*member))];
    std::string name = "fusion: ";
    for (const char* other : {"contraction", "reduction"}) {
      if (classes.count(other)) name += std::string(other) + " + ";
    }
    int elementwise = classes.count("elementwise") ? classes.at("elementwise") : 0;
    ++counts_[name + (elementwise > 1 ? "several elementwise" : "elementwise")];
  }

  void add_directive(const Directive& d) {
    ++counts_["directive: " + to_string(d.kind)];
    if (d.kind == DirectiveKind::split) ++counts_["tail: " + to_string(d.tail)];
    if (d.kind == DirectiveKind::store_in) ++counts_["memory: " + to_string(d.memory)];
  }

  int graphs_ = 0, producers_ = 0, shared_ = 0;
  std::map<std::string, int> counts_;
};

TEST(RandomGraphCensus, EveryOperatorFusionAndStrategyOccurs) {
  Census census;
  for (int number = 0; number < graph_count(); ++number) {
    Recipe recipe = random_recipe(base_seed(), number);
    Graph graph = build_graph(recipe);
    census.add(recipe, graph, fuse_epilogues(graph),
               derive_schedule(graph, target_for(recipe), test_options()));
    FusionReport copies;
    recompute_producers(fuse_epilogues(graph), machine_model(test_target()), recompute_always,
                        &copies);
    census.add_copies(copies);
    FusionReport loops;
    const Graph shared =
        share_loops(fuse_epilogues(graph), target_for(recipe), share_all_loops, &loops);
    census.add_loops(shared, loops);
  }
  census.print();
  std::map<std::string, int> floors = {
      // for 500 graphs
      {"graph: exact", 100},
      {"graph: real", 100},
      {"graph: special values", 25},
      {"graph: run-time sizes", 100},
      {"graph: a weight with several users", 25},
      {"graph: an intermediate is an output", 100},
      {"class: contraction", 200},
      {"class: reduction", 200},
      {"class: elementwise", 500},
      {"class: data movement", 200},
      {"fusion: contraction + elementwise", 20},
      {"fusion: contraction + several elementwise", 100},
      {"fusion: several elementwise", 100},
      {"fusion: a value computed again by its users", 100},
      {"fusion: moves read through", 13},  // 50 of 2,000, as those below
      {"fusion: borders read through", 13},
      {"fusion: layer blocks", 13},
      {"loop group: columns", 20},
      {"loop group: rows", 13},
      {"loop group: rows in pieces", 13},
      {"loop group: rows that keep something", 2},
      {"loop group: rows with several results", 2},
      {"loop group: row blocks", 13},
      {"loop group: windows", 13},
      {"loop group: waiting sums", 13},
      {"directive: cache_write", 50},
      {"directive: compute_at", 100},
      {"directive: compute_with", 50},
      {"directive: compute_inline", 100},
      {"directive: pack", 50},
      {"directive: parallel", 50},
      {"directive: rfactor", 10},
      {"directive: unroll", 50},
      {"directive: vectorize", 500},
      {"tail: guard", 30},
      {"tail: predicate", 30},
      {"tail: shift_inwards", 30},
  };
  for (const std::string& op : operator_names()) floors["operator: " + op] = 10;
  for (const char* type : {"bool", "i32", "f32", "f64"}) floors[std::string("type: ") + type] = 100;
  for (const char* type : {"i8", "u8", "i16", "u16"}) floors[std::string("type: ") + type] = 30;
  for (int rank = 0; rank <= 5; ++rank) floors["rank: " + std::to_string(rank)] = 50;
  EXPECT_EQ(census.missing(floors, kGraphs), std::vector<std::string>());
  EXPECT_GE(census.shared(), 0.3);
}

}  // namespace
}  // namespace emulsion
