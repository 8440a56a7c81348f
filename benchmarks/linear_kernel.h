#ifndef EMULSION_BENCHMARKS_LINEAR_KERNEL_H_
#define EMULSION_BENCHMARKS_LINEAR_KERNEL_H_

// The compiled linear layers that the benchmark calls: y[m, n] = relu(sum over k of x[m, k] * w[k,
// n] + bias[n]). One set for each level of x86-64, made by make_linear_kernels; a machine runs the
// best set that it can.

#include <cstdint>
#include <string>
#include <vector>

#include "benchmarks/linear_shape.h"

struct halide_buffer_t;

namespace emulsion::benchmarks {

struct LinearKernel {
  LinearShape shape;
  bool fused;  // false: matmul, add and relu each in a nest of its own
  int (*run)(halide_buffer_t* x, halide_buffer_t* w, halide_buffer_t* bias, halide_buffer_t* y);
  // Brings w[k, n] into `packed_shape`; null when the kernel reads it as it is.
  int (*pack)(halide_buffer_t* w, halide_buffer_t* packed);
  std::vector<int64_t> packed_shape;
};

struct LinearKernelSet {
  // As Target::parse() reads it, with the cores that the schedules were derived for.
  std::string target;
  std::vector<LinearKernel> kernels;
};

// Every set, the best level first. Generated.
LinearKernelSet linear_kernels_v4();
LinearKernelSet linear_kernels_v3();
LinearKernelSet linear_kernels_v2();

// The best set that this machine can run. Error: there is none.
LinearKernelSet linear_kernels_for_this_machine();

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_LINEAR_KERNEL_H_
