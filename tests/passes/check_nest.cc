#include "tests/passes/check_nest.h"

#include <exception>
#include <map>
#include <string>
#include <utility>

#include "backends/interpreter/interpret_graph.h"
#include "backends/interpreter/interpret_nest.h"
#include "dsl/graph_text.h"
#include "dsl/schedule_text.h"
#include "passes/derive/derive_schedule.h"
#include "passes/lower/lower.h"
#include "passes/nest/verify_nest.h"
#include "passes/pipeline.h"
#include "tests/golden.h"

namespace emulsion {
namespace {

// Arguments of a graph and what its comprehensions make of them.
struct Sample {
  SizeValues sizes;
  TensorValues arguments, expected;
};

Sample sample_of(const Graph& graph, const SizeValues& sizes) {
  InterpretOptions options;
  options.sizes = sizes;
  Sample sample{sizes, integer_arguments(graph, sizes), {}};
  sample.expected = interpret_graph(graph, sample.arguments, options);
  return sample;
}

testing::AssertionResult same_values(const LoopNest& nest, const Sample& sample, double tolerance) {
  const bool parallel = to_string(nest).find("parallel ") != std::string::npos;
  InterpretOptions options;
  options.sizes = sample.sizes;
  for (bool reverse : {false, true}) {
    if (reverse && !parallel) break;
    options.reverse_parallel = reverse;
    const TensorValues actual = interpret_nest(nest, sample.arguments, options);
    for (const auto& [name, value] : sample.expected) {
      const auto difference = first_difference(value, actual.at(name), tolerance, tolerance);
      if (difference) {
        return testing::AssertionFailure()
               << name << (reverse ? ", parallel loops backwards" : "") << *difference << "\n"
               << to_string(nest);
      }
    }
  }
  return testing::AssertionSuccess();
}

std::string text_of(const SizeValues& sizes) {
  std::string text;
  for (const auto& [name, value] : sizes) text += " " + name + " = " + std::to_string(value);
  return text;
}

}  // namespace

TensorValues integer_arguments(const Graph& graph, const SizeValues& sizes, uint64_t seed) {
  TensorValues arguments;
  for (const OpPtr& op : graph.arguments()) {
    const std::vector<int64_t> shape = evaluate_shape(op->name, op->shape, sizes);
    arguments[op->name] = op->dtype == DType::boolean
                              ? random_integers(op->dtype, shape, ++seed, 0, 1)
                              : random_integers(op->dtype, shape, ++seed, -3, 3);
  }
  return arguments;
}

testing::AssertionResult computes(const LoopNest& nest, const Graph& graph, const SizeValues& sizes,
                                  double tolerance) {
  try {
    verify_nest(nest);
    return same_values(nest, sample_of(graph, sizes), tolerance);
  } catch (const std::exception& error) {
    return testing::AssertionFailure() << error.what() << "\nwith" << text_of(sizes) << "\n"
                                       << to_string(graph) << to_string(nest);
  }
}

testing::AssertionResult lowers(const Graph& graph, const Schedule& schedule,
                                const SizeValues& sizes, double tolerance) {
  LoopNest nest;
  try {
    nest = lower(graph, schedule);
  } catch (const std::exception& error) {
    return testing::AssertionFailure() << error.what() << "\n"
                                       << to_string(graph) << to_string(schedule);
  }
  return computes(nest, graph, sizes, tolerance) << "\n" << to_string(schedule);
}

void expect_nest(const Schedule& schedule, const std::vector<int64_t>& batches) {
  const Graph& graph = schedule.graph();
  const LoopNest nest = lower(graph, schedule);
  EXPECT_TRUE(matches_golden(to_string(nest)));
  EXPECT_EQ(to_string(lower(graph, parse_schedule(to_string(schedule), graph))), to_string(nest));
  for (int64_t batch : batches) {
    SizeValues sizes;
    for (const std::string& size : graph.sizes()) sizes[size] = batch;
    EXPECT_TRUE(computes(nest, graph, sizes));
    if (sizes.empty()) break;
  }
}

testing::AssertionResult derives(const Graph& graph, const Target& target,
                                 const std::vector<int64_t>& batches, double tolerance) {
  Schedule schedule(graph);
  SizeValues sizes;
  try {
    // By text: where nothing is fused, both are one nest.
    std::map<std::string, std::pair<Schedule, LoopNest>> nests;
    for (bool fuse : {true, false}) {
      DeriveOptions options;
      options.fuse = fuse;
      schedule = derive_schedule(graph, target, options);
      if (!(parse_schedule(to_string(schedule), graph) == schedule)) {
        return testing::AssertionFailure() << "the text does not parse back to the schedule\n"
                                           << to_string(schedule);
      }
      const LoopNest nest = run_pipeline(graph, schedule);
      if (nests.try_emplace(to_string(nest), schedule, nest).second) verify_nest(nest);
    }
    for (int64_t batch : batches) {
      for (const std::string& name : graph.sizes()) sizes[name] = batch;
      const Sample sample = sample_of(graph, sizes);
      for (const auto& [text, derived] : nests) {
        schedule = derived.first;
        testing::AssertionResult result = same_values(derived.second, sample, tolerance);
        if (!result) return result << "\n" << to_string(schedule) << "with" << text_of(sizes);
      }
      if (sizes.empty()) break;
    }
  } catch (const std::exception& error) {
    return testing::AssertionFailure() << error.what() << "\nwith" << text_of(sizes) << "\n"
                                       << to_string(graph) << to_string(schedule);
  }
  return testing::AssertionSuccess();
}

}  // namespace emulsion
