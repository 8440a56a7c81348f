#ifndef EMULSION_BENCHMARKS_NEST_PAIR_H_
#define EMULSION_BENCHMARKS_NEST_PAIR_H_

// Kernels of nests beside what computes the same y from the same values.

#include <functional>
#include <memory>
#include <vector>

#include "backends/interpreter/tensor_value.h"
#include "benchmarks/side_by_side_benchmarks.h"
#include "dsl/graph.h"
#include "passes/nest/loop_nest.h"

namespace emulsion::benchmarks {

// By name, of both kernels of a pair: so neither has the better place in memory.
using Values = std::shared_ptr<TensorValues>;

// Small whole numbers, of which no order of summation rounds, and room for y.
Values values_of(const Graph& graph);
// Compiled into this process. Weights are packed now.
std::function<void()> emulsion_kernel(const LoopNest& nest, const Values& values);
// Adds a pair that reads and writes `values`; on all threads, unless it says how many. Error: its
// kernels make different ys.
void add(KernelPair pair, const Values& values, std::vector<KernelPair>* pairs);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_NEST_PAIR_H_
