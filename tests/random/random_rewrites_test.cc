// Random graphs in which rewrites fire: as they are, rewritten and fused, in whatever order of the
// passes, and taken apart again, they compute what NumPy says, to the bit; the nest and the kernel
// of what came out of the passes do, too. A failure prints what reproduces it:
//
//   ./bazelw test //tests/random:random_rewrites_test --test_env=EMULSION_SEED=7
//   --test_env=EMULSION_GRAPH=123

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backends/halide/jit.h"
#include "backends/interpreter/interpret_graph.h"
#include "backends/interpreter/interpret_nest.h"
#include "dsl/graph_text.h"
#include "passes/analyse/machine_model.h"
#include "passes/fuse/fuse_epilogues.h"
#include "passes/fuse/fused_group.h"
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
#include "tests/random/oracle.h"
#include "tests/random/random_numbers.h"
#include "tests/random/recipe.h"
#include "tests/random/rewrite_graph.h"
#include "tests/random/test_environment.h"
#include "tests/random/wrong_step.h"

namespace emulsion {
namespace {

constexpr uint64_t kSeed = 20261122;
constexpr int kGraphs = 2000;
// More expensive: not of every graph. Odd, since a shard has every second graph.
constexpr int kNestEvery = 3, kKernelEvery = 75;
constexpr size_t kAtATime = 250;  // graphs, of which one process of Python is asked

uint64_t base_seed() { return number_from("EMULSION_SEED", kSeed); }
int graph_count() { return static_cast<int>(number_from("EMULSION_GRAPHS", kGraphs)); }

using Counts = std::map<std::string, int>;

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

// From NumPy's answer, which has the outputs in the order of the graph. Values and their bounds
// alone where zeros may have either sign.
std::string difference(const Graph& graph, const std::vector<Expected>& expected,
                       const TensorValues& actual, bool signs_of_zeros) {
  for (size_t i = 0; i < expected.size(); ++i) {
    const std::string& name = graph.outputs()[i]->name;
    const auto found = actual.find(name);
    if (found == actual.end()) return "no output " + name;
    Expected value = expected[i];
    value.signs = value.signs && signs_of_zeros;
    const auto one = first_difference(value, found->second);
    if (one) return name + *one;
  }
  return "";
}

struct NamedPass {
  const char* name;
  std::function<Graph(const Graph&)> run;
};

// One graph through all passes in a random order.
class Trial {
 public:
  Trial(int number, const Recipe& recipe, const Answer& numpy, Counts* counts)
      : random_(base_seed() + static_cast<uint64_t>(number)),
        number_(number),
        numpy_(numpy),
        counts_(counts),
        original_(build_graph(recipe)) {
    for (const SizeValues& sizes : recipe.runs) {
      InterpretOptions options;
      options.sizes = sizes;
      options_.push_back(options);
      arguments_.push_back(arguments_of(recipe, original_, sizes));
    }
  }

  void run() {
    count_structure();
    ASSERT_EQ(numpy_.error, "") << where("NumPy");
    for (size_t i = 0; i < options_.size(); ++i) {
      expected_.push_back(interpret_graph(original_, arguments_[i], options_[i]));
      EXPECT_EQ(difference(original_, numpy_.runs[i], expected_[i], true), "")
          << where("as it is") << to_string(original_);
      for (const Expected& output : numpy_.runs[i]) {
        for (const double bound : output.bounds) (*counts_)["elements"] += bound == 0;
        for (const double bound : output.bounds) (*counts_)["rounded elements"] += bound != 0;
      }
    }
    Graph graph = original_;
    std::vector<NamedPass> passes = all_passes();
    // Needs another pass before it, and so stands at many places.
    passes.resize(passes.size() + 10, {"remove_dead_ops", remove_dead_ops});
    for (size_t i = passes.size(); i > 1; --i) {
      std::swap(passes[i - 1], passes[static_cast<size_t>(random_.below(static_cast<int>(i)))]);
    }
    passes.push_back(recomputing());  // last, for patterns do not look into its groups
    passes.push_back({"unfuse", unfuse});
    for (const NamedPass& pass : passes) {
      if (pass.name == std::string("unfuse")) check_lowered(graph);  // as groups
      graph = checked(pass, graph);
      if (::testing::Test::HasFatalFailure()) return;
    }
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
        {"fuse_epilogues",
         [this](const Graph& graph) {
           FusionReport report;
           Graph result = fuse_epilogues(graph, always_fuse, &report);
           for (const FusionDecision& decision : report.decisions) {
             ++(*counts_)[decision.fused ? decision.pattern : "fusion, refused"];
           }
           return result;
         }},
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
    if (rule.rfind("batch_norm", 0) != 0) return rule;
    return rule.find("_rank4_") != std::string::npos ? "batch_norm of a convolution" : "batch_norm";
  }

  Graph checked(const NamedPass& pass, const Graph& before) {
    Counts counts = *counts_;
    const Graph after = pass.run(before);
    if (after.ops() != before.ops()) ++(*counts_)[pass.name];
    counts = *counts_;
    const Graph again = pass.run(after);
    *counts_ = counts;  // of the first run only
    verify_graph(after);
    EXPECT_EQ(again.ops(), after.ops()) << where(pass.name) << "a second run changes\n"
                                        << to_string(after);
    const bool rearranges = std::string(pass.name) == "apply_rules";
    rearranged_ = rearranged_ || rearranges;
    for (size_t i = 0; i < expected_.size(); ++i) {
      TensorValues actual = interpret_graph(after, arguments_[i], options_[i]);
      const std::string found = difference(expected_[i], actual, rearranges ? kSignsOfZeros : 0);
      EXPECT_EQ(found, "") << where(pass.name) << to_string(before) << to_string(after);
      EXPECT_EQ(difference(original_, numpy_.runs[i], actual, !rearranged_), "")
          << where(pass.name) << to_string(before) << to_string(after);
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
    const TensorValues& arguments = arguments_[0];
    const TensorValues interpreted = interpret_nest(lowered.nest, arguments, options_[0]);
    EXPECT_EQ(difference(original_, numpy_.runs[0], interpreted, false), "")
        << where("lowered") << wrong_step(graph, lowered) << to_string(graph);
    if (number_ % kKernelEvery != 0) return;
    const TensorValues computed = run_guarded(JitKernel(lowered.nest), graph, arguments,
                                              options_[0].sizes, GuardedBuffer::Side::end);
    EXPECT_EQ(difference(original_, numpy_.runs[0], computed, false), "")
        << where("compiled") << wrong_step(graph, lowered) << to_string(graph);
  }

  std::string wrong_step(const Graph& graph, const Lowered& lowered) const {
    const auto agrees = [this](const TensorValues& results) {
      return difference(original_, numpy_.runs[0], results, false).empty();
    };
    const std::string step =
        first_wrong_step({{"unfuse", unfuse(graph)}, {"the groups", lowered.grouped}},
                         lowered.schedule, arguments_[0], options_[0].sizes, agrees);
    return "first wrong after: " + step + "\n";
  }

  void count_structure() {
    Counts& counts = *counts_;
    bool has_several_users = false, has_inner_output = false, has_diamond = false;
    bool has_shared_weight = false;
    int operations = 0;
    std::set<std::string> seen;  // ranks and extents
    for (const OpPtr& op : original_.ops()) {
      const bool is_output = original_.is_output(*op);
      const int readers = original_.user_count(*op) - (is_output ? 1 : 0);
      if (op->kind == OpKind::weight && readers > 1) has_shared_weight = true;
      if (op->kind != OpKind::compute) continue;
      ++operations;
      has_several_users = has_several_users || readers > 1;
      has_inner_output = has_inner_output || (readers > 0 && is_output);
      has_diamond = has_diamond || is_end_of_diamond(*op);
      seen.insert(fmt::format("rank {}", op->shape.size()));
      for (const Extent& extent : op->shape) {
        for (int n : {0, 1}) {
          if (extent == Extent(n)) seen.insert(fmt::format("extent {}", n));
        }
      }
    }
    EXPECT_TRUE(operations >= 5 && operations <= 40) << where("drawn") << operations;
    for (const std::string& one : seen) ++counts[one];
    counts["several users"] += has_several_users;
    counts["inner outputs"] += has_inner_output;
    counts["diamonds"] += has_diamond;
    counts["shared weights"] += has_shared_weight;
    counts["run-time sizes"] += original_.sizes().empty() ? 0 : 1;
  }

  // Whether it reads two operations that are made of one: a value that several read.
  static bool is_end_of_diamond(const Op& op) {
    std::set<const Op*> above;
    for (const OpPtr& side : operands(op)) {
      if (side->kind != OpKind::compute) continue;
      for (const OpPtr& top : operands(*side)) {
        if (top->kind == OpKind::compute && !above.insert(top.get()).second) return true;
      }
    }
    return false;
  }

  std::string where(const std::string& step) const {
    return fmt::format("EMULSION_SEED={} EMULSION_GRAPH={} {}\n", base_seed(), number_, step);
  }

  RandomNumbers random_;
  int number_;
  const Answer& numpy_;
  Counts* counts_;
  Graph original_;
  bool rearranged_ = false;
  std::vector<InterpretOptions> options_;
  std::vector<TensorValues> arguments_, expected_;
};

constexpr int kBatches = 2;  // shards

class RandomRewrites : public ::testing::TestWithParam<int> {};

TEST_P(RandomRewrites, ComputeTheSame) {
  const uint64_t only = number_from("EMULSION_GRAPH", UINT64_MAX);
  std::vector<int> numbers;
  for (int number = GetParam(); number < graph_count(); number += kBatches) {
    if (only == UINT64_MAX || only == static_cast<uint64_t>(number)) numbers.push_back(number);
  }
  Counts counts;
  for (size_t first = 0; first < numbers.size(); first += kAtATime) {
    std::vector<Recipe> recipes;
    const size_t end = std::min(numbers.size(), first + kAtATime);
    for (size_t i = first; i < end; ++i) {
      recipes.push_back(rewrite_recipe(base_seed(), numbers[i]));
    }
    const std::vector<Answer> answers = ask_numpy(recipes);
    ASSERT_EQ(answers.size(), recipes.size());
    for (size_t i = 0; i < recipes.size(); ++i) {
      Trial(numbers[first + i], recipes[i], answers[i], &counts).run();
      ++counts["graphs"];
    }
  }
  for (const auto& [name, count] : counts) fmt::print("{:8} {}\n", count, name);
  EXPECT_EQ(counts["rounded elements"], 0) << "a mistake of the generator: not exact";
  if (only != UINT64_MAX || graph_count() < kGraphs) return;
  // A rule that does not fire is not tested: 50 times in the run of the test, 200 in the large one,
  // each shard its part of it.
  const int least = counts["graphs"] / (graph_count() > kGraphs ? 50 : 40);
  for (const char* what : {"linear_relu",
                           "linear_relu, refused",
                           "batch_norm",
                           "batch_norm, refused",
                           "batch_norm of a convolution",
                           "batch_norm of a convolution, refused",
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
                           kContractionEpilogue,
                           kElementwiseChain,
                           "fusion, refused",
                           "unfuse",
                           "recompute_producers",
                           "recomputation, refused",
                           "join_products",
                           "siblings, refused",
                           "one loop",
                           "one loop, refused"}) {
    EXPECT_GE(counts[what], least) << what;
  }
  for (int rank = 0; rank <= 5; ++rank) {
    EXPECT_GE(counts[fmt::format("rank {}", rank)], 0.05 * counts["graphs"]) << rank;
  }
  for (const char* what : {"extent 0", "extent 1", "diamonds", "shared weights", "inner outputs"}) {
    EXPECT_GE(counts[what], 0.2 * counts["graphs"]) << what;
  }
  for (const char* what : {"several users", "run-time sizes"}) {
    EXPECT_GE(counts[what], 0.3 * counts["graphs"]) << what;
  }
}

INSTANTIATE_TEST_SUITE_P(Batches, RandomRewrites, ::testing::Range(0, kBatches));

}  // namespace
}  // namespace emulsion
