#ifndef EMULSION_BACKENDS_CODEGEN_KERNEL_CASES_H_
#define EMULSION_BACKENDS_CODEGEN_KERNEL_CASES_H_

// What the generated test and benchmark of every kernel have in common: which sizes to try, what to
// fill arguments with, and how to call a kernel through its table without knowing it.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backends/interpreter/tensor_value.h"
#include "backends/runtime/kernel_call.h"
#include "dsl/extent.h"
#include "dsl/graph.h"

namespace emulsion {

// A kernel and where its data files are. The program that tests it defines the function.
struct KernelUnderTest {
  const runtime::KernelInfo* info = nullptr;
  std::map<std::string, std::string> data;
};
const KernelUnderTest& kernel_under_test();
// What it computes, by its source.
Graph graph_under_test();

// 0, 1, primes, powers of two and their neighbours for every run-time size; with several sizes also
// unequal values. One empty set for a graph without sizes. Values that make an extent negative are
// left out, and so are the largest where the interpreter would take longer than a small test may: a
// convolution has enough to compute in each element of a batch.
std::vector<SizeValues> awkward_sizes(const Graph& graph);

// Every input and weight, filled with small whole numbers.
TensorValues make_arguments(const Graph& graph, const SizeValues& sizes, uint64_t seed);

// Whether a float result of such arguments is a whole number that no order of summation changes, as
// long as it stays small: every operation is one that keeps whole numbers whole.
bool keeps_whole_numbers(const Graph& graph);

// Packs what has to be packed and calls the kernel; the outputs by name. Error: its message.
TensorValues run_kernel(const runtime::KernelInfo& info, const TensorValues& arguments,
                        const SizeValues& sizes);

// Arguments that are made and packed once, for a call that is repeated.
class PreparedCall {
 public:
  // Error: a weight cannot be packed.
  PreparedCall(const runtime::KernelInfo& info, const TensorValues& arguments,
               const SizeValues& sizes);
  PreparedCall(const PreparedCall&) = delete;
  PreparedCall& operator=(const PreparedCall&) = delete;

  // 0 or the kernel's code.
  int run() { return info_.call(raw_.data()); }
  // Error: something was written outside of an output.
  TensorValues outputs() const;

 private:
  // With a margin on both sides that nobody may write to.
  struct Argument {
    const runtime::KernelArgument* declared = nullptr;
    std::vector<int64_t> shape;
    std::vector<uint8_t> storage;
    std::vector<halide_dimension_t> dimensions;
    halide_buffer_t raw = {};
  };
  void set(const runtime::KernelArgument& declared, const TensorValue* value, Argument* argument);
  void pack(const runtime::KernelPack& pack, const TensorValue& weight, Argument* packed);

  const runtime::KernelInfo& info_;
  std::vector<int64_t> sizes_;
  std::vector<Argument> arguments_;  // never resized: raw_ points into it
  std::vector<halide_buffer_t*> raw_;
};

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_CODEGEN_KERNEL_CASES_H_
