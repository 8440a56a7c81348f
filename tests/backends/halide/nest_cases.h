#ifndef EMULSION_TESTS_BACKENDS_HALIDE_NEST_CASES_H_
#define EMULSION_TESTS_BACKENDS_HALIDE_NEST_CASES_H_

// Graphs that between them need every expression, every kind of stage and every directive, and what
// it takes to run a nest by JIT on tensors. Shared by the tests of this folder.

#include <string>
#include <vector>

#include "backends/entry/compile_options.h"
#include "backends/halide/jit.h"
#include "backends/interpreter/tensor_value.h"
#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "dsl/target.h"
#include "passes/nest/loop_nest.h"

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
// With a kernel that has been made of the nest: one for arguments of several sizes.
TensorValues run_by_jit(const JitKernel& kernel, const LoopNest& nest,
                        const TensorValues& arguments, int64_t batch);

// Expects the graph's nest, run by JIT for `target`, to compute what the graph says for each of
// `batches`, or once when it has no run-time size.
void expect_same_as_graph(const Graph& graph, const LoopNest& nest,
                          const std::vector<int64_t>& batches, double tolerance,
                          const Target& target = Target::host(),
                          const CompileOptions& options = {});

}  // namespace emulsion

#endif  // EMULSION_TESTS_BACKENDS_HALIDE_NEST_CASES_H_
