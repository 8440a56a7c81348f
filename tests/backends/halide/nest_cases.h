#ifndef EMULSION_TESTS_BACKENDS_HALIDE_NEST_CASES_H_
#define EMULSION_TESTS_BACKENDS_HALIDE_NEST_CASES_H_

// Graphs that between them need every expression, every kind of stage and every directive, and what
// it takes to run a nest by JIT on tensors. Shared by the tests of this folder.

#include <string>
#include <vector>

#include "backends/halide/jit.h"
#include "backends/interpreter/tensor_value.h"
#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "passes/loop_nest.h"

namespace emulsion {

struct GraphCase {
  std::string name;
  Graph graph;
};

// Every kind of comprehension that the operators make; a run-time size, where there is one, is "B".
std::vector<GraphCase> operator_cases();

struct ScheduledCase {
  std::string name;
  Graph graph;
  Schedule schedule;
};

// Schedules by hand: tiles, tails, fused loops, staged and packed buffers, threads.
std::vector<ScheduledCase> scheduled_cases();

// Whole numbers for every input and weight of a graph, B = batch.
TensorValues arguments_for(const Graph& graph, int64_t batch, uint64_t seed);

// The outputs, which start as poison.
TensorValues run_by_jit(const LoopNest& nest, const TensorValues& arguments, int64_t batch,
                        const Target& target = Target::host());
// The same with a kernel that has been made of the nest.
TensorValues run_by_jit(const JitKernel& kernel, const LoopNest& nest,
                        const TensorValues& arguments, int64_t batch);

}  // namespace emulsion

#endif  // EMULSION_TESTS_BACKENDS_HALIDE_NEST_CASES_H_
