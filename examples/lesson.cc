#include "examples/lesson.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <limits>
#include <map>
#include <utility>

#include "backends/interpreter/bind_arguments.h"
#include "backends/interpreter/interpret_graph.h"
#include "backends/interpreter/interpret_nest.h"
#include "dsl/error.h"
#include "dsl/schedule_text.h"
#include "examples/measure_lowering.h"
#include "passes/lower/lower.h"

namespace emulsion::lesson {
namespace {

// Storage for the outputs, which starts as poison.
TensorValues outputs_for(const LoopNest& nest, const TensorValues& arguments) {
  std::vector<DeclaredTensor> inputs;
  for (const Buffer* buffer : nest.arguments()) {
    if (buffer->role != BufferRole::output) {
      inputs.push_back({buffer->name, buffer->dtype, buffer->shape});
    }
  }
  const SizeValues sizes = bind_arguments(inputs, arguments, {});
  TensorValues outputs;
  for (const Buffer* buffer : nest.arguments()) {
    if (buffer->role != BufferRole::output) continue;
    TensorValue value = zeros(buffer->dtype, evaluate_shape(buffer->name, buffer->shape, sizes));
    fill_with_poison(&value);
    outputs.emplace(buffer->name, std::move(value));
  }
  return outputs;
}

// The caller's memory, as the kernel takes it.
std::map<std::string, JitBuffer> buffers_of(TensorValues* arguments, TensorValues* outputs) {
  std::map<std::string, JitBuffer> buffers;
  for (TensorValues* values : {arguments, outputs}) {
    for (auto& [name, value] : *values) {
      buffers[name] = {value.dtype, value.shape, value.bytes.data()};
    }
  }
  return buffers;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void check_outputs(const std::string& how, const TensorValues& expected, const TensorValues& actual,
                   double relative) {
  for (const auto& [name, value] : expected) {
    const auto difference = first_difference(value, actual.at(name), relative, relative);
    if (difference) fail("{}, {}: {}", name, how, *difference);
  }
}

}  // namespace

Trial make_trial(const Graph& graph, TensorValues arguments) {
  TensorValues expected = interpret_graph(graph, arguments);
  return {std::move(arguments), std::move(expected)};
}

Step show(const std::string& title, const Schedule& schedule, const std::vector<Trial>& trials,
          double relative) {
  measure_lowering(title, schedule);
  const LoopNest nest = lower(schedule.graph(), schedule);
  Step step{nest, JitKernel(nest)};
  std::printf("%s\n\n%s\n%s", title.c_str(), to_string(schedule).c_str(),
              to_string(step.nest).c_str());
  for (const Trial& trial : trials) check_values(step, trial, relative);
  std::printf("the same numbers interpreted and compiled\n\n");
  return step;
}

void check_values(const Step& step, const Trial& trial, double relative) {
  check_outputs("interpreted", trial.expected, interpret_nest(step.nest, trial.arguments),
                relative);
  check_outputs("compiled", trial.expected, run_compiled(step, trial.arguments), relative);
}

TensorValues run_compiled(const Step& step, const TensorValues& arguments) {
  TensorValues inputs = arguments;
  TensorValues outputs = outputs_for(step.nest, apply_packs(step.nest, arguments));
  step.kernel.run(buffers_of(&inputs, &outputs));
  return outputs;
}

double seconds(const Step& step, const TensorValues& arguments) {
  constexpr int kCalls = 4;  // the first one warms the caches
  TensorValues inputs = apply_packs(step.nest, arguments);
  TensorValues outputs = outputs_for(step.nest, inputs);
  const auto buffers = buffers_of(&inputs, &outputs);
  double least = std::numeric_limits<double>::infinity();
  for (int call = 0; call < kCalls; ++call) {
    const auto start = std::chrono::steady_clock::now();
    step.kernel.run(buffers);
    least = std::min(least, seconds_since(start));
  }
  return least;
}

int run(int argc, char** argv, const std::string& name, const std::string& about,
        void (*lesson)()) {
  CLI::App app(about + "\nPrints schedules and their loop nests, and checks that they hold.\n\n" +
               "Example: ./bazelw run //examples/" + name);
  add_lowering_option(&app);
  CLI11_PARSE(app, argc, argv);
  try {
    lesson();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}

}  // namespace emulsion::lesson
