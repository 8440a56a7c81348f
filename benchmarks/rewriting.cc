// How long the rewriting passes take over graphs of 100 to 100,000 operations.

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "benchmarks/comparison.h"
#include "dsl/operators.h"
#include "passes/fuse/fuse_epilogues.h"
#include "passes/rewrite/apply_rules.h"
#include "passes/rewrite/clean_up.h"
#include "passes/rewrite/fold_batch_norm.h"

namespace emulsion::benchmarks {
namespace {

constexpr char kMeasures[] =
    "Measures how long patterns, clean-ups and fusion take over graphs of 100 to 100,000 "
    "operations.";
constexpr int kLimitedSize = 10000;  // operations: less than a second

// Blocks of eight operations: a linear layer, a normalised one without bias, and what clean_up
// removes.
Graph blocks(int operations) {
  Tensor w = weight("w", f32, {64, 64}), b = weight("b", f32, {64}), s = weight("s", f32, {64});
  Tensor t = input("x", f32, {Extent::size("B"), 64});
  for (int made = 0; made < operations; made += 8) {
    t = relu(matmul(t, w) + b);
    t = matmul(-(-t), w) * s + b;
  }
  return Graph(t);
}

Graph stacked_diamonds(int count) {
  Tensor t = input("x", f32, {1024});
  for (int i = 0; i < count; ++i) {
    Tensor left = tanh(t), right = t * 1;
    t = left + right;
  }
  return Graph(t);
}

std::vector<RewriteRule> rules() {
  const Extent m = Extent::size("M"), k = Extent::size("K"), n = Extent::size("N");
  Tensor x = input("x", f32, {m, k});
  Tensor w = input("w", f32, {k, n});
  Tensor b = input("b", f32, {n});
  const Graph linear(relu(matmul(x, w) + b));
  std::vector<RewriteRule> all = batch_norm_rules({f32, 2, 1, 1});
  all.push_back({"linear_relu", linear, fuse_epilogues(linear)});
  return all;
}

Comparison timed(const std::string& name, int operations, const Call& call) {
  Comparison one{fmt::format("{}, {} operations", name, operations), "ms"};
  if (operations == kLimitedSize) one.limit = 1.0;
  one.emulsion.call = call;
  return one;
}

Report run(const ProgramOptions& options) {
  std::vector<Comparison> all;
  const auto patterns = std::make_shared<const std::vector<RewriteRule>>(rules());
  for (int operations : {100, 1000, 10000, 100000}) {
    const Graph graph = blocks(operations);
    all.push_back(timed("apply_rules", operations, [=] { apply_rules(graph, *patterns); }));
    all.push_back(timed("clean_up", operations, [=] { clean_up(graph); }));
    all.push_back(timed("fuse_epilogues", operations, [=] { fuse_epilogues(graph); }));
  }
  const Graph diamonds = stacked_diamonds(64);
  all.push_back(timed("apply_rules, 64 stacked diamonds of 3", 192,
                      [=] { apply_rules(diamonds, *patterns); }));
  all.push_back(timed("clean_up, 64 stacked diamonds of 3", 192, [=] { clean_up(diamonds); }));
  return {measure(all, options)};
}

}  // namespace
}  // namespace emulsion::benchmarks

int main(int argc, char** argv) {
  using namespace emulsion::benchmarks;
  return run_program(
      argc, argv, {"rewriting", kMeasures, "--benchmark_repetitions=1 --json=rewriting.json", run});
}
