#ifndef EMULSION_TESTS_PASSES_CHECK_NEST_H_
#define EMULSION_TESTS_PASSES_CHECK_NEST_H_

// Whether a nest means what its graph means: it keeps every rule of verify_nest, and run step by
// step it gives what the comprehensions give, in as many uOps and points as
// count_uops() and measure_work() say. Arguments are
// small whole numbers, so sums are exact in any order and results are compared bit for bit.

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "backends/interpreter/tensor_value.h"
#include "dsl/extent.h"
#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "dsl/target.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

// Every input and weight of the graph, filled with whole numbers from -3 to 3.
TensorValues integer_arguments(const Graph& graph, const SizeValues& sizes, uint64_t seed = 1);

// `tolerance`: relative and absolute, for graphs whose values are not whole numbers.
testing::AssertionResult computes(const LoopNest& nest, const Graph& graph,
                                  const SizeValues& sizes = {}, double tolerance = 0);

// Not with small whole numbers, but with these.
struct NestRun {
  SizeValues sizes;
  TensorValues arguments;
  double relative = 0, absolute = 0;  // within which results agree
};
testing::AssertionResult computes_with(const LoopNest& nest, const Graph& graph,
                                       const NestRun& run);

// The same of lower(graph, schedule), which must not refuse.
testing::AssertionResult lowers(const Graph& graph, const Schedule& schedule,
                                const SizeValues& sizes = {}, double tolerance = 0);

// A directive's nest: its golden text, from the schedule and from the schedule's own text, and what
// it computes for each batch.
void expect_nest(const Schedule& schedule, const std::vector<int64_t>& batches = {0, 1, 3, 8});

// The same of the derived schedule; each run-time size takes every value of `batches` in turn.
testing::AssertionResult derives(const Graph& graph, const Target& target,
                                 const std::vector<int64_t>& batches = {0, 1, 2, 7, 17},
                                 double tolerance = 0);

}  // namespace emulsion

#endif  // EMULSION_TESTS_PASSES_CHECK_NEST_H_
