#include "tests/random/check_gradients.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "backends/halide/jit.h"
#include "backends/interpreter/interpret_graph.h"
#include "dsl/graph_text.h"
#include "passes/differentiate/differentiate.h"
#include "passes/pipeline.h"
#include "tests/random/guarded_run.h"
#include "tests/random/run_in_children.h"
#include "tests/random/scattered_gradients.h"
#include "tests/random/sizes_text.h"

namespace emulsion {
namespace {

constexpr int64_t kMostNodesOfTwo = 250;
constexpr int64_t kMostNodesToCompile = 700;

struct Differentiated {
  Graph graph;                                    // the outputs, then the gradients
  std::map<std::string, std::string> gradients;   // of each tensor, the name of its gradient
  std::map<std::string, std::string> cotangents;  // of each output, of those that have one
};

// `prefix`: of the cotangents' names.
Differentiated differentiated(const Graph& graph, const std::vector<std::string>& by,
                              const std::string& prefix) {
  std::vector<Tensor> outputs, tensors, cotangents;
  std::map<std::string, std::string> names;
  for (const std::string& name : by) tensors.emplace_back(*graph.find(name));
  for (const OpPtr& op : graph.outputs()) {
    outputs.emplace_back(op);
    names[op->name] = prefix + op->name;
    cotangents.push_back(input(prefix + op->name, op->dtype, op->shape));
  }
  std::vector<Tensor> all = outputs;
  for (const Tensor& gradient : gradients(outputs, tensors, cotangents)) all.push_back(gradient);
  Differentiated result = {Graph(all), {}, names};
  for (size_t i = 0; i < by.size(); ++i) {
    result.gradients[by[i]] = result.graph.outputs()[outputs.size() + i]->name;
  }
  return result;
}

// How much there is to compile.
int64_t size_of(const Graph& graph) {
  int64_t nodes = 0;
  for (const OpPtr& op : graph.ops()) {
    if (op->kind == OpKind::compute) nodes += size_of(op->body).nodes;
  }
  return nodes;
}

// The graph, and that of its gradients; of some the latter is itself a graph of gradients.
struct Problem {
  Graph graph;
  std::vector<std::string> by;
  Differentiated whole;
};

Problem problem_of(const GradientProgram& program, bool is_twice) {
  Problem problem = {program.graph, program.by, differentiated(program.graph, program.by, "c_")};
  // Of long ones the second gradients are very long.
  if (!is_twice || size_of(problem.whole.graph) > kMostNodesOfTwo) return problem;
  const Graph& graph = problem.whole.graph;
  return {graph, program.by, differentiated(graph, program.by, "d_")};
}

// The arguments of the gradients' graph and of the graph itself: both may have some that the other
// does not need.
TensorValues arguments_of(const Problem& problem, const SizeValues& sizes, uint64_t seed) {
  TensorValues arguments = gradient_arguments(problem.whole.graph, sizes, seed);
  for (const auto& [name, value] : gradient_arguments(problem.graph, sizes, seed + 1)) {
    arguments.emplace(name, value);
  }
  return arguments;
}

TensorValues only_those_of(const Graph& graph, const TensorValues& arguments) {
  TensorValues own;
  for (const OpPtr& op : graph.arguments()) own[op->name] = arguments.at(op->name);
  return own;
}

InterpretOptions at_sizes(const SizeValues& sizes) {
  InterpretOptions options;
  options.sizes = sizes;
  return options;
}

TensorValues interpret(const Graph& graph, const TensorValues& arguments, const SizeValues& sizes) {
  return interpret_graph(graph, only_those_of(graph, arguments), at_sizes(sizes));
}

// Random ones, for all outputs.
TensorValues cotangents_of(const Problem& problem, const TensorValues& arguments,
                           const SizeValues& sizes) {
  TensorValues cotangents;
  for (const auto& [output, value] : interpret(problem.graph, arguments, sizes)) {
    const auto given = arguments.find(problem.whole.cotangents.at(output));
    if (given != arguments.end()) cotangents[output] = given->second;
  }
  return cotangents;
}

using Expected = std::map<std::string, ScatteredGradient>;

std::string difference(const Problem& problem, const Expected& expected, const TensorValues& actual,
                       double tolerance) {
  for (const auto& [by, gradient] : problem.whole.gradients) {
    const ScatteredGradient& wanted = expected.at(by);
    const TensorValue& found = actual.at(gradient);
    if (found.shape != wanted.shape) return gradient + ": another shape";
    double largest = 0;
    for (const double magnitude : wanted.magnitude) largest = std::max(largest, magnitude);
    for (size_t i = 0; i < wanted.value.size(); ++i) {
      const double value = found.value(static_cast<int64_t>(i));
      const double bound = tolerance * (1 + wanted.magnitude[i] + 0.01 * largest);
      if (std::abs(value - wanted.value[i]) <= bound) continue;
      return fmt::format("{}, element {}: expected {}, got {}", gradient, i, wanted.value[i],
                         value);
    }
  }
  return "";
}

// In one direction: a misconception of both that run backwards. Where a step crosses a kink, a
// smaller one does not.
std::string against_central_differences(const Problem& problem, const Expected& expected,
                                        const TensorValues& arguments,
                                        const TensorValues& cotangents, const SizeValues& sizes) {
  double along = 0, magnitude = 0;
  const auto direction = [](int64_t i) { return i * 7 % 5 < 2 ? 1.0 : -0.5; };
  for (const std::string& by : problem.by) {
    const ScatteredGradient& gradient = expected.at(by);
    for (size_t i = 0; i < gradient.value.size(); ++i) {
      along += gradient.value[i] * direction(static_cast<int64_t>(i));
      magnitude += gradient.magnitude[i];
    }
  }
  const auto loss = [&](double step) {
    TensorValues moved = arguments;
    for (const std::string& by : problem.by) {
      TensorValue& x = moved.at(by);
      for (int64_t i = 0; i < x.element_count(); ++i) {
        x.set_value(i, x.value(i) + step * direction(i));
      }
    }
    double total = 0;
    for (const auto& [name, value] : interpret(problem.graph, moved, sizes)) {
      const auto cotangent = cotangents.find(name);
      if (cotangent == cotangents.end()) continue;
      for (int64_t i = 0; i < value.element_count(); ++i) {
        total += value.value(i) * cotangent->second.value(i);
      }
    }
    return total;
  };
  double found = 0;
  for (const double step : {1e-5, 1e-6, 1e-7, 1e-8}) {
    found = (loss(step) - loss(-step)) / (2 * step);
    if (std::abs(found - along) <= 1e-4 * (1 + magnitude)) return "";
  }
  return fmt::format("central differences: expected {}, got {}", found, along);
}

// The first difference, or nothing. `rounded`: the same problem in f32, or nothing.
std::string compare(const Problem& problem, const Problem* rounded,
                    const std::vector<SizeValues>& runs, const Target& target,
                    const DeriveOptions& options, uint64_t seed) {
  const Problem& run = rounded != nullptr ? *rounded : problem;
  std::optional<Lowered> lowered;
  std::optional<JitKernel> kernel;
  if (size_of(run.whole.graph) <= kMostNodesToCompile) {
    lowered = run_pipeline(run.whole.graph, target, options);
    kernel.emplace(lowered->nest, target);
  }
  for (const SizeValues& sizes : runs) {
    const TensorValues arguments = arguments_of(problem, sizes, seed);
    const TensorValues cotangents = cotangents_of(problem, arguments, sizes);
    const TensorValues own = only_those_of(problem.graph, arguments);
    const Expected expected = scattered_gradients(problem.graph, own, sizes, cotangents);
    if (expected.empty()) continue;
    const Graph& whole = problem.whole.graph;
    std::string wrong = difference(problem, expected, interpret(whole, arguments, sizes), 1e-10);
    if (!wrong.empty()) return "interpreted: " + wrong + sizes_text(sizes);
    wrong = against_central_differences(problem, expected, arguments, cotangents, sizes);
    if (!wrong.empty()) return wrong + sizes_text(sizes);
    if (!kernel) continue;
    TensorValues given = only_those_of(whole, arguments);
    if (rounded != nullptr) {
      const TensorValues exact = given;
      for (const OpPtr& op : run.whole.graph.arguments()) {
        TensorValue value = zeros(op->dtype, exact.at(op->name).shape);
        for (int64_t i = 0; i < value.element_count(); ++i) {
          value.set_value(i, exact.at(op->name).value(i));
        }
        given[op->name] = value;
      }
    } else {
      wrong = difference(run, expected, interpret(lowered->grouped, given, sizes), 1e-10);
      if (!wrong.empty()) return "fused, interpreted: " + wrong + sizes_text(sizes);
    }
    for (const auto side : {GuardedBuffer::Side::start, GuardedBuffer::Side::end}) {
      const TensorValues actual = run_guarded(*kernel, run.whole.graph, given, sizes, side);
      wrong = difference(run, expected, actual, rounded != nullptr ? 1e-4 : 1e-10);
      if (!wrong.empty()) return "compiled: " + wrong + sizes_text(sizes);
    }
  }
  return "";
}

}  // namespace

std::string wrong_gradients(const GradientProgram& program, const GradientProgram* rounded,
                            const GradientWay& way, uint64_t seed) {
  std::string text = to_string(program.graph);
  announce(text);
  try {
    const Problem problem = problem_of(program, way.is_twice);
    text += to_string(problem.whole.graph);
    announce(text);
    std::optional<Problem> other;
    if (rounded != nullptr) other = problem_of(*rounded, way.is_twice);
    const std::string wrong =
        compare(problem, other ? &*other : nullptr, program.runs, way.target, way.options, seed);
    return wrong.empty() ? "" : fmt::format("{}\n{}", wrong, text);
  } catch (const std::exception& error) {
    return fmt::format("{}\n{}", error.what(), text);
  }
}

}  // namespace emulsion
