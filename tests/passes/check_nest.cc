#include "tests/passes/check_nest.h"

#include <exception>
#include <string>

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

testing::AssertionResult same_values(const LoopNest& nest, const Graph& graph,
                                     const SizeValues& sizes, double tolerance) {
  const TensorValues arguments = integer_arguments(graph, sizes);
  InterpretOptions options;
  options.sizes = sizes;
  const TensorValues expected = interpret_graph(graph, arguments, options);
  const bool parallel = to_string(nest).find("parallel ") != std::string::npos;
  for (bool reverse : {false, true}) {
    if (reverse && !parallel) break;
    options.reverse_parallel = reverse;
    const TensorValues actual = interpret_nest(nest, arguments, options);
    for (const auto& [name, value] : expected) {
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
    return same_values(nest, graph, sizes, tolerance);
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
  for (bool fuse : {true, false}) {
    DeriveOptions options;
    options.fuse = fuse;
    LoopNest nest;
    Schedule schedule(graph);
    try {
      schedule = derive_schedule(graph, target, options);
      if (!(parse_schedule(to_string(schedule), graph) == schedule)) {
        return testing::AssertionFailure() << "the text does not parse back to the schedule\n"
                                           << to_string(schedule);
      }
      nest = run_pipeline(graph, schedule);
    } catch (const std::exception& error) {
      return testing::AssertionFailure() << error.what() << "\n"
                                         << to_string(graph) << to_string(schedule);
    }
    for (int64_t batch : batches) {
      SizeValues sizes;
      for (const std::string& name : graph.sizes()) sizes[name] = batch;
      testing::AssertionResult result = computes(nest, graph, sizes, tolerance);
      if (!result) return result << "\n" << to_string(schedule) << "with" << text_of(sizes);
      if (sizes.empty()) break;
    }
  }
  return testing::AssertionSuccess();
}

}  // namespace emulsion
