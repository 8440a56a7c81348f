#ifndef EMULSION_BENCHMARKS_NEST_KERNEL_H_
#define EMULSION_BENCHMARKS_NEST_KERNEL_H_

// Kernels of nests beside peers that compute the same from the same values.

#include <memory>
#include <string>
#include <vector>

#include "backends/interpreter/tensor_value.h"
#include "benchmarks/comparison.h"
#include "dsl/extent.h"
#include "dsl/graph.h"
#include "passes/nest/loop_nest.h"

namespace emulsion::benchmarks {

// All kernels of a comparison share them, so none has the better place in memory.
struct KernelValues {
  TensorValues by_name;
  std::vector<std::string> outputs;

  template <typename T>
  T* data(const std::string& name) {
    return by_name.at(name).data<T>();
  }
};
using Values = std::shared_ptr<KernelValues>;

// Whole numbers, of which no order of summation rounds, and room for the graph's one output.
Values values_of(const Graph& graph, const SizeValues& sizes = {});
// Compiled into this process. Weights are packed now, into `values` too.
Call kernel_call(const LoopNest& nest, const Values& values);

// Error: the two calls, which read and write `values`, compute different outputs; `both` says in
// the message whose they are. `tolerance`: how far apart they may be, relative and absolute.
void check_equal_outputs(const std::string& both, const Call& one, const Call& other,
                         const Values& values, double tolerance);

// Adds a comparison of calls that read and write `values`, on all threads. Error: its calls compute
// different outputs.
void add(Comparison one, const Values& values, std::vector<Comparison>* all);
// Adds it on one thread. Of its results that are not whole numbers `tolerance` says how far apart,
// relative and absolute, they may be.
void add_on_one_thread(const Comparison& one, const Values& values, double tolerance,
                       std::vector<Comparison>* all);
// Adds it twice: on one thread, and on all where there are more.
void add_on_one_and_all_threads(const Comparison& one, const Values& values,
                                std::vector<Comparison>* all, double tolerance = 0);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_NEST_KERNEL_H_
