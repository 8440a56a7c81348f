#include "tests/random/check_recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "backends/halide/jit.h"
#include "backends/interpreter/interpret_graph.h"
#include "backends/interpreter/interpret_nest.h"
#include "dsl/graph_text.h"
#include "dsl/schedule_text.h"
#include "passes/analyse/machine_model.h"
#include "passes/derive/share_loops.h"
#include "passes/fuse/fuse_epilogues.h"
#include "passes/fuse/fused_group.h"
#include "passes/fuse/recompute_producers.h"
#include "passes/lower/lower.h"
#include "passes/nest/verify_nest.h"
#include "tests/random/guarded_run.h"
#include "tests/random/run_in_children.h"
#include "tests/random/sizes_text.h"
#include "tests/random/wrong_step.h"

namespace emulsion {
namespace {

using nlohmann::json;

// The graph to check and the passes that made it. For every second pair of seeds, each reader
// computes again what several read. The outputs stay the same.
std::vector<GraphStep> steps_apart(const Recipe& recipe) {
  std::vector<GraphStep> steps = {{"the graph", build_graph(recipe)}};
  if (recipe.seed / 2 % 2 == 0) return steps;
  steps.push_back({"fuse_epilogues", fuse_epilogues(steps.back().graph)});
  steps.push_back(
      {"recompute_producers",
       recompute_producers(steps.back().graph, machine_model(test_target()), recompute_always)});
  steps.push_back({"unfuse", unfuse(steps.back().graph)});
  return steps;
}

Graph graph_to_check(const Recipe& recipe) { return steps_apart(recipe).back().graph; }

struct Difference : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The ways to run one graph, compiled once for all values of its sizes.
class Runner {
 public:
  explicit Runner(const Recipe& recipe)
      : recipe_(recipe),
        graph_(graph_to_check(recipe)),
        shared_(share_loops(fuse_epilogues(graph_), target_for(recipe))),
        schedule_(derive_stages(graph_, shared_, target_for(recipe), test_options())),
        plain_(lower(graph_, Schedule(graph_))),
        derived_(lower(shared_, schedule_)) {
    verify_nest(plain_);
    verify_nest(derived_);
    for (const Graph* graph : {&graph_, &shared_}) {
      const Graph parsed = parse_graph(to_string(*graph));
      if (parsed.ops().size() != graph->ops().size() || to_string(parsed) != to_string(*graph)) {
        throw Difference("the graph's text does not parse back to the same text");
      }
      verify_graph(parsed);
    }
    kernel_ = std::make_unique<JitKernel>(derived_, test_target());
  }

  void compare(const SizeValues& sizes, const std::vector<Expected>& expected) const {
    TensorValues arguments = arguments_of(recipe_, graph_, sizes);
    InterpretOptions options;
    options.sizes = sizes;
    check("graph interpreter", sizes, expected, interpret_graph(graph_, arguments, options));
    check("nest interpreter, no schedule", sizes, expected,
          interpret_nest(plain_, arguments, options));
    options.reverse_parallel = true;
    check("nest interpreter, derived schedule", sizes, expected,
          interpret_nest(derived_, arguments, options));
    // Half of the graphs end where the forbidden page begins, half begin where one ends.
    auto side = recipe_.seed % 2 == 0 ? GuardedBuffer::Side::end : GuardedBuffer::Side::start;
    check("JIT, derived schedule", sizes, expected,
          run_guarded(*kernel_, graph_, arguments, sizes, side));
  }

 private:
  // Empty where they agree.
  std::string difference(const std::vector<Expected>& expected, const TensorValues& actual) const {
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const std::string& name = graph_.outputs()[i]->name;
      if (const auto found = first_difference(expected[i], actual.at(name))) return name + *found;
    }
    return "";
  }

  void check(const std::string& way, const SizeValues& sizes, const std::vector<Expected>& expected,
             const TensorValues& actual) const {
    const std::string found = difference(expected, actual);
    if (found.empty()) return;
    std::vector<GraphStep> graphs = steps_apart(recipe_);
    graphs.push_back({"fuse_epilogues", fuse_epilogues(graph_)});
    graphs.push_back({"share_loops", shared_});
    const std::string step = first_wrong_step(
        graphs, schedule_, arguments_of(recipe_, graph_, sizes), sizes,
        [&](const TensorValues& results) { return difference(expected, results).empty(); });
    throw Difference(
        fmt::format("{}:{} {}\nfirst wrong after: {}", way, sizes_text(sizes), found, step));
  }

  const Recipe& recipe_;
  Graph graph_, shared_;
  Schedule schedule_;
  LoopNest plain_, derived_;
  std::unique_ptr<JitKernel> kernel_;
};

void count(const Recipe& recipe, const Answer& answer, CheckResult* result) {
  for (const auto& run : answer.runs) {
    for (const Expected& output : run) {
      result->elements += static_cast<int64_t>(output.values.size());
      for (size_t i = 0; i < output.values.size(); ++i) {
        result->unknown += std::isinf(output.bounds[i]) ? 1 : 0;
        result->ordinary +=
            std::isfinite(output.bounds[i]) && std::isfinite(output.values[i]) ? 1 : 0;
        bool rounded = output.bounds[i] > 0 && std::isfinite(output.bounds[i]);
        if (recipe.exact && rounded && result->failure.empty()) {
          result->failure =
              "the recipe says exact, but a result is not (a mistake of the generator)";
        }
      }
    }
  }
}

// Without the values of large constants: the recipe makes them again.
std::string without_hex(const std::string& text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    bool hex =
        text[at] == ' ' &&
        text.substr(at, end - at).find_first_not_of(" 0123456789abcdef\n") == std::string::npos;
    if (!hex) result += text.substr(at, end - at);
    at = end;
  }
  return result;
}

// What went wrong, and how far it came.
std::string describe(const Recipe& recipe, const std::string& what) {
  std::string text;
  try {
    Graph graph = graph_to_check(recipe);
    text = without_hex(to_string(graph));
    text += "schedule:\n" + to_string(derive_schedule(graph, target_for(recipe), test_options()));
  } catch (const std::exception& error) {
    text += fmt::format("(no further: {})\n", error.what());
  }
  return fmt::format("{}\nrecipe:\n{}graph:\n{}", what, to_string(recipe), text);
}

CheckResult check_one(const Recipe& recipe, const Answer& answer) {
  CheckResult result;
  if (!answer.error.empty()) {
    result.failure = describe(recipe, "the oracle failed: " + answer.error);
    return result;
  }
  try {
    count(recipe, answer, &result);
    if (!result.failure.empty()) throw Difference(result.failure);
    Runner runner(recipe);
    for (size_t run = 0; run < recipe.runs.size(); ++run) {
      runner.compare(recipe.runs[run], answer.runs[run]);
    }
  } catch (const std::exception& error) {
    result.failure = describe(recipe, error.what());
  }
  return result;
}

}  // namespace

Target test_target() {
  static const Target* const target = [] {
    auto* host = new Target(Target::host());
    host->cores = 2;
    return host;
  }();
  return *target;
}

Target target_for(const Recipe& recipe) {
  Target target = test_target();
  if (recipe.seed / 4 % 2 == 0) target.l2_bytes = 4096;
  if (recipe.seed / 4 % 4 == 1) target.l2_bytes = 64;
  return target;
}

DeriveOptions test_options() {
  DeriveOptions options;
  options.siblings = share_always;
  return options;
}

void start_jit() {
  static const JitKernel* const kernel = [] {
    const Axis i("i", 1);
    const Graph graph(compute("y", {i}, input("x", f32, {1})(i) + 1.0f));
    return new JitKernel(lower(graph, Schedule(graph)), test_target());
  }();
  static_cast<void>(kernel);
}

std::vector<CheckResult> check_recipes(const std::vector<Recipe>& recipes,
                                       const std::vector<Answer>& answers) {
  std::vector<std::function<std::string()>> tasks;
  for (size_t i = 0; i < recipes.size(); ++i) {
    tasks.emplace_back([&recipes, &answers, i] {
      CheckResult result = check_one(recipes[i], answers.at(i));
      return json{result.failure, result.elements, result.unknown, result.ordinary}.dump();
    });
  }
  start_jit();
  std::vector<TaskResult> done = run_in_children(tasks);
  std::vector<CheckResult> results(recipes.size());
  for (size_t i = 0; i < recipes.size(); ++i) {
    if (!done[i].crash.empty()) {
      results[i].failure = describe(recipes[i], done[i].crash);
      continue;
    }
    json values = json::parse(done[i].text);
    results[i] = {values[0], values[1], values[2], values[3]};
  }
  return results;
}

std::vector<bool> recipes_that_fail(const std::vector<Recipe>& recipes) {
  std::vector<bool> fails;
  for (const CheckResult& result : check_recipes(recipes, ask_numpy(recipes))) {
    fails.push_back(!result.failure.empty());
  }
  return fails;
}

Recipe smallest_failure(const Recipe& recipe, const FindFailures& fails) {
  std::vector<Recipe> parts;
  for (size_t node = 0; node < recipe.nodes.size(); ++node) {
    if (recipe.nodes[node].is_leaf()) continue;
    parts.push_back(with_outputs(recipe, {static_cast<int>(node)}));
  }
  const std::vector<bool> failed = fails(parts);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (failed[i]) return parts[i];
  }
  Recipe smallest = recipe;
  for (size_t i = 0; i < smallest.outputs.size();) {
    std::vector<int> fewer = smallest.outputs;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (fewer.empty()) break;
    const Recipe part = with_outputs(smallest, fewer);
    if (fails({part})[0]) {
      smallest = part;
    } else {
      ++i;
    }
  }
  return smallest;
}

}  // namespace emulsion
