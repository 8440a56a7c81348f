#ifndef EMULSION_BENCHMARKS_PEERS_PLAIN_COLUMNS_H_
#define EMULSION_BENCHMARKS_PEERS_PLAIN_COLUMNS_H_

// Programs in which something depends on columns, or on groups of them, alone, as a C++ programmer
// writes them first, for one thread and without a library. What columns have in common is computed
// once. Arrays are dense and row-major; extents come first, results last.

#include <cstdint>

namespace emulsion::benchmarks {

// (x - mean[c]) * (gamma[c] / sqrt(|var[c]| + 1e-5)) + beta[c].
void plain_norm_by_hand(int64_t rows, int64_t columns, const float* x, const float* mean,
                        const float* gamma, const float* var, const float* beta, float* y);
// x * exp(g[c]).
void plain_scaled_by_exp(int64_t rows, int64_t columns, const float* x, const float* g, float* y);
// x - m of the group of each channel, for each picture.
void plain_less_of_groups(int64_t pictures, int64_t pixels, int64_t groups, int64_t group,
                          const float* x, const float* m, float* y);
// (x - mean) / sqrt(variance + 1e-5) * gamma + beta, of the group of each channel.
void plain_group_norm(int64_t pictures, int64_t pixels, int64_t groups, int64_t group,
                      const float* x, const float* gamma, const float* beta, float* y);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_PEERS_PLAIN_COLUMNS_H_
