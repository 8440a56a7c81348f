// Random graphs in which rewrites fire: rewritten, in whatever order of the passes, they compute
// what they did, to the bit; the nest of the rewritten graph does, too. A failure prints what
// reproduces it:
//
//   ./bazelw test //tests/random:random_rewrites_test --test_env=EMULSION_SEED=7
//   --test_env=EMULSION_GRAPH=123

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "backends/halide/jit.h"
#include "backends/interpreter/interpret_graph.h"
#include "backends/interpreter/interpret_nest.h"
#include "dsl/graph_text.h"
#include "passes/analyse/machine_model.h"
#include "passes/fuse/fuse_epilogues.h"
#include "passes/fuse/join_products.h"
#include "passes/fuse/recompute_producers.h"
#include "passes/pipeline.h"
#include "passes/rewrite/apply_rules.h"
#include "passes/rewrite/clean_up.h"
#include "passes/rewrite/fold_constants.h"
#include "passes/rewrite/merge_common_ops.h"
#include "passes/rewrite/remove_dead_ops.h"
#include "passes/rewrite/simplify_values.h"
#include "tests/random/guarded_run.h"
#include "tests/random/random_numbers.h"
#include "tests/random/rewrite_graph.h"
#include "tests/random/test_environment.h"

namespace emulsion {
namespace {

constexpr uint64_t kSeed = 20261122;
constexpr int kGraphs = 2000;
// More expensive: not of every graph. Odd, since a shard has every second graph.
constexpr int kNestEvery = 3, kKernelEvery = 75;

uint64_t base_seed() { return number_from("EMULSION_SEED", kSeed); }
int graph_count() { return static_cast<int>(number_from("EMULSION_GRAPHS", kGraphs)); }

using Counts = std::map<std::string, int>;

TensorValues arguments_of(const Graph& graph, const SizeValues& sizes) {
  TensorValues values;
  for (const OpPtr& op : graph.arguments()) {
    const uint64_t seed = std::hash<std::string>()(op->name);  // NOLINT: any numbers will do
    values[op->name] =
        random_integers(op->dtype, evaluate_shape(op->name, op->shape, sizes), seed, -3, 3);
  }
  return values;
}

// Rules rearrange sums of whole numbers, and a kernel takes either zero for the larger one: only
// the sign of a zero may change. What cleans up changes no bit.
constexpr double kSignsOfZeros = 1e-12;

std::string difference(const TensorValues& expected, const TensorValues& actual,
                       double relative = 0) {
  for (const auto& [name, value] : expected) {
    auto found = actual.find(name);
    if (found == actual.end()) return "no output " + name;
    const auto one = first_difference(value, found->second, relative);
    if (one) return name + *one;
  }
  return expected.size() == actual.size() ? "" : "another number of outputs";
}

struct NamedPass {
  const char* name;
  std::function<Graph(const Graph&)> run;
};

// One graph through all passes in a random order.
class Trial {
 public:
  Trial(int number, Counts* counts)
      : random_(base_seed() + static_cast<uint64_t>(number)),
        number_(number),
        counts_(counts),
        original_(rewrite_graph(base_seed(), number)) {}

  void run() {
    count_structure();
    for (int64_t batch : {3, 0}) {
      InterpretOptions options;
      for (const std::string& size : original_.sizes()) options.sizes[size] = batch;
      options_.push_back(options);
      arguments_.push_back(arguments_of(original_, options.sizes));
      expected_.push_back(interpret_graph(original_, arguments_.back(), options));
      if (original_.sizes().empty()) break;
    }
    Graph graph = original_;
    std::vector<NamedPass> passes = all_passes();
    // Needs another pass before it, and so stands at many places.
    passes.resize(passes.size() + 5, {"remove_dead_ops", remove_dead_ops});
    for (size_t i = passes.size(); i > 1; --i) {
      std::swap(passes[i - 1], passes[static_cast<size_t>(random_.below(static_cast<int>(i)))]);
    }
    passes.push_back(recomputing());  // last, for patterns do not look into its groups
    for (const NamedPass& pass : passes) {
      graph = checked(pass, graph);
      if (::testing::Test::HasFatalFailure()) return;
    }
    check_lowered(graph);
  }

 private:
  std::vector<NamedPass> all_passes() {
    static const std::vector<RewriteRule> rules = exact_rules();
    return {
        {"apply_rules",
         [this](const Graph& graph) {
           const Rewritten result = apply_rules(graph, rules);
           for (const RewriteDecision& decision : result.decisions) {
             ++(*counts_)[family(decision.rule) + (decision.applied ? "" : ", refused")];
           }
           return result.graph;
         }},
        {"simplify_values", simplify_values},
        {"fold_constants", fold_constants},
        {"merge_common_ops", merge_common_ops},
        {"remove_dead_ops", remove_dead_ops},
        {"clean_up", clean_up},
        {"fuse_epilogues", [](const Graph& graph) { return fuse_epilogues(graph); }},
        {"join_products",
         [this](const Graph& graph) {
           FusionReport report;
           Graph result = join_products(graph, always_join, &report);
           (*counts_)["siblings, refused"] +=
               static_cast<int>(report.decisions.size()) - report.fused_count();
           return result;
         }},
    };
  }

  NamedPass recomputing() {
    return {"recompute_producers", [this](const Graph& graph) {
              FusionReport report;
              Graph result = recompute_producers(graph, machine_model(Target::host()),
                                                 recompute_always, &report);
              (*counts_)["recomputation, refused"] +=
                  static_cast<int>(report.decisions.size()) - report.fused_count();
              return result;
            }};
  }

  static std::string family(const std::string& rule) {
    return rule.substr(0, 10) == "batch_norm" ? "batch_norm" : rule;
  }

  Graph checked(const NamedPass& pass, const Graph& before) {
    Counts counts = *counts_;
    const Graph after = pass.run(before);
    if (after.ops() != before.ops()) ++(*counts_)[pass.name];
    counts = *counts_;
    const Graph again = pass.run(after);
    *counts_ = counts;  // of the first run only
    const std::string where =
        fmt::format("EMULSION_SEED={} EMULSION_GRAPH={} {}\n", base_seed(), number_, pass.name);
    verify_graph(after);
    EXPECT_EQ(again.ops(), after.ops()) << where << "a second run changes\n" << to_string(after);
    const bool rearranges = std::string(pass.name) == "apply_rules";
    for (size_t i = 0; i < expected_.size(); ++i) {
      TensorValues actual = interpret_graph(after, arguments_[i], options_[i]);
      const std::string found = difference(expected_[i], actual, rearranges ? kSignsOfZeros : 0);
      EXPECT_EQ(found, "") << where << to_string(before) << to_string(after);
      if (rearranges) expected_[i] = std::move(actual);
    }
    return after;
  }

  void check_lowered(const Graph& graph) const {
    if (number_ % kNestEvery != 0) return;
    DeriveOptions options;
    options.siblings = share_always;
    FusionConfig config;
    if (number_ % (2 * kNestEvery) == 0) config.patterns = fusion_patterns();  // all of them
    const Lowered lowered = run_pipeline(graph, Target::host(), options, nullptr, config);
    for (const FusionDecision& decision : lowered.fusion.decisions) {
      if (decision.pattern != kSiblings) continue;
      ++(*counts_)[decision.fused ? "one loop" : "one loop, refused"];
    }
    const std::string where =
        fmt::format("EMULSION_SEED={} EMULSION_GRAPH={} lowered\n", base_seed(), number_);
    const TensorValues& arguments = arguments_[0];
    const TensorValues interpreted = interpret_nest(lowered.nest, arguments, options_[0]);
    EXPECT_EQ(difference(expected_[0], interpreted, kSignsOfZeros), "")
        << where << to_string(graph);
    if (number_ % kKernelEvery != 0) return;
    const TensorValues computed = run_guarded(JitKernel(lowered.nest), graph, arguments,
                                              options_[0].sizes, GuardedBuffer::Side::end);
    EXPECT_EQ(difference(expected_[0], computed, kSignsOfZeros), "") << where << to_string(graph);
  }

  void count_structure() {
    bool has_several_users = false, has_inner_output = false;
    for (const OpPtr& op : original_.ops()) {
      if (op->kind != OpKind::compute) continue;
      const int users = original_.user_count(*op);
      has_several_users = has_several_users || users > 1;
      has_inner_output = has_inner_output || (users > 1 && original_.is_output(*op));
    }
    (*counts_)["several users"] += has_several_users;
    (*counts_)["inner outputs"] += has_inner_output;
    (*counts_)["run-time sizes"] += original_.sizes().empty() ? 0 : 1;
  }

  RandomNumbers random_;
  int number_;
  Counts* counts_;
  Graph original_;
  std::vector<InterpretOptions> options_;
  std::vector<TensorValues> arguments_, expected_;
};

constexpr int kBatches = 2;  // shards

class RandomRewrites : public ::testing::TestWithParam<int> {};

TEST_P(RandomRewrites, ComputeTheSame) {
  const uint64_t only = number_from("EMULSION_GRAPH", UINT64_MAX);
  Counts counts;
  for (int number = GetParam(); number < graph_count(); number += kBatches) {
    if (only != UINT64_MAX && only != static_cast<uint64_t>(number)) continue;
    Trial(number, &counts).run();
    ++counts["graphs"];
  }
  if (only != UINT64_MAX || graph_count() < kGraphs) return;
  // A rule that does not fire is not tested: 50 times in the run of the test, 250 in the large one.
  const int least = counts["graphs"] / 40;
  for (const char* what : {"linear_relu",
                           "linear_relu, refused",
                           "batch_norm",
                           "batch_norm, refused",
                           "sum_of_sums",
                           "sum_of_sums, refused",
                           "sum_of_products",
                           "sum_of_products, refused",
                           "difference_of_squares",
                           "difference_of_squares, refused",
                           "chosen_relu",
                           "two_squares",
                           "two_squares, refused",
                           "two_products",
                           "simplify_values",
                           "fold_constants",
                           "merge_common_ops",
                           "remove_dead_ops",
                           "clean_up",
                           "fuse_epilogues",
                           "recompute_producers",
                           "recomputation, refused",
                           "join_products",
                           "siblings, refused",
                           "one loop",
                           "one loop, refused"}) {
    EXPECT_GE(counts[what], least) << what;
  }
  EXPECT_GE(counts["several users"], 0.3 * counts["graphs"]);
  EXPECT_GE(counts["inner outputs"], 0.2 * counts["graphs"]);
  EXPECT_GE(counts["run-time sizes"], 0.3 * counts["graphs"]);
}

INSTANTIATE_TEST_SUITE_P(Batches, RandomRewrites, ::testing::Range(0, kBatches));

}  // namespace
}  // namespace emulsion
