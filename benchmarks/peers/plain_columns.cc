#include "benchmarks/peers/plain_columns.h"

#include <cmath>
#include <vector>

#include "benchmarks/peers/best_instructions.h"

namespace emulsion::benchmarks {

EMULSION_BEST_INSTRUCTIONS void plain_norm_by_hand(
    int64_t rows, int64_t columns, const float* __restrict x, const float* __restrict mean,
    const float* __restrict gamma, const float* __restrict var, const float* __restrict beta,
    float* __restrict y) {
  std::vector<float> scale(static_cast<size_t>(columns));
  float* __restrict s = scale.data();
  for (int64_t c = 0; c < columns; ++c) s[c] = gamma[c] / std::sqrt(std::abs(var[c]) + 1e-5F);
  for (int64_t n = 0; n < rows; ++n) {
    for (int64_t c = 0; c < columns; ++c) {
      y[n * columns + c] = (x[n * columns + c] - mean[c]) * s[c] + beta[c];
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_scaled_by_exp(int64_t rows, int64_t columns,
                                                    const float* __restrict x,
                                                    const float* __restrict g,
                                                    float* __restrict y) {
  std::vector<float> scale(static_cast<size_t>(columns));
  float* __restrict s = scale.data();
  for (int64_t c = 0; c < columns; ++c) s[c] = std::exp(g[c]);
  for (int64_t n = 0; n < rows; ++n) {
    for (int64_t c = 0; c < columns; ++c) y[n * columns + c] = x[n * columns + c] * s[c];
  }
}

}  // namespace emulsion::benchmarks
