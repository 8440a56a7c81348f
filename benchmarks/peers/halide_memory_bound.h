#ifndef EMULSION_BENCHMARKS_PEERS_HALIDE_MEMORY_BOUND_H_
#define EMULSION_BENCHMARKS_PEERS_HALIDE_MEMORY_BOUND_H_

// Kernels as fast as memory is, at best, written and scheduled in Halide without Emulsion: what
// //benchmarks:products compares with.

#include <functional>

#include "dsl/target.h"

namespace emulsion::benchmarks {

// Compiled kernels on dense row-major arrays that stay where they are. Error: Halide refuses.

// y[i, j] = x[j, i]: blocks of one vector by as many rows, turned in registers, in tiles that the
// first cache holds. x: f32[rows, columns]; 64 divides both.
std::function<void()> halide_transpose(int rows, int columns, const Target& target, const float* x,
                                       float* y);

// y[m] = sum over k of x[m, k] * v[k]: four rows at a time, one vector of sums for each.
// x: f32[rows, columns]; 32 divides rows, and a vector columns.
std::function<void()> halide_matrix_vector(int rows, int columns, const Target& target,
                                           const float* x, const float* v, float* y);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_PEERS_HALIDE_MEMORY_BOUND_H_
