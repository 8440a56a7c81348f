#ifndef EMULSION_BENCHMARKS_PEERS_PLAIN_LINEAR_H_
#define EMULSION_BENCHMARKS_PEERS_PLAIN_LINEAR_H_

// What a C++ programmer writes first, and what the compiler makes of it at -O3 with the best
// instructions that the machine has: the peer that needs no library.

#include "benchmarks/linear_shape.h"

namespace emulsion::benchmarks {

// y[m, n] = max(sum over k of x[m, k] * w[k, n] + bias[n], 0), row-major and dense.
void plain_linear(const LinearShape& shape, const float* x, const float* w, const float* bias,
                  float* y);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_PEERS_PLAIN_LINEAR_H_
