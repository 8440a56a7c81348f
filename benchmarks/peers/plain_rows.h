#ifndef EMULSION_BENCHMARKS_PEERS_PLAIN_ROWS_H_
#define EMULSION_BENCHMARKS_PEERS_PLAIN_ROWS_H_

// Sums, norms and softmax of rows as a C++ programmer writes them first, and what the compiler
// makes of that at -O3 with the best instructions that the machine has. All arrays are row-major
// and dense.

#include <cstdint>

namespace emulsion::benchmarks {

// y[r] = sum over c of x[r, c].
void plain_sum_of_rows(int64_t rows, int64_t columns, const float* x, float* y);
// y[c] = sum over r of x[r, c].
void plain_sum_of_columns(int64_t rows, int64_t columns, const float* x, float* y);
// y[r, c] = exp(x[r, c] - max of row r) / sum of the row's.
void plain_softmax(int64_t rows, int64_t columns, const float* x, float* y);
// y[r, c] = (x[r, c] - mean of row r) / sqrt(its variance + 1e-5) * gamma[c] + beta[c].
void plain_layer_norm(int64_t rows, int64_t columns, const float* x, const float* gamma,
                      const float* beta, float* y);
// y[r, c] = x[r, c] / sqrt(mean of the squares of row r + 1e-5) * gamma[c].
void plain_rms_norm(int64_t rows, int64_t columns, const float* x, const float* gamma, float* y);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_PEERS_PLAIN_ROWS_H_
