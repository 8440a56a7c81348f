#include "benchmarks/peers/plain_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#define BEST_INSTRUCTIONS \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), optimize("O3")))

namespace emulsion::benchmarks {

constexpr float kEpsilon = 1e-5F;

BEST_INSTRUCTIONS void plain_sum_of_rows(int64_t rows, int64_t columns, const float* __restrict x,
                                         float* __restrict y) {
  for (int64_t r = 0; r < rows; ++r) {
    float sum = 0;
    for (int64_t c = 0; c < columns; ++c) sum += x[r * columns + c];
    y[r] = sum;
  }
}

BEST_INSTRUCTIONS void plain_sum_of_columns(int64_t rows, int64_t columns,
                                            const float* __restrict x, float* __restrict y) {
  for (int64_t c = 0; c < columns; ++c) y[c] = 0;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) y[c] += x[r * columns + c];
  }
}

BEST_INSTRUCTIONS void plain_softmax(int64_t rows, int64_t columns, const float* __restrict x,
                                     float* __restrict y) {
  for (int64_t r = 0; r < rows; ++r) {
    const float* from = x + r * columns;
    float* to = y + r * columns;
    float highest = -std::numeric_limits<float>::infinity(), sum = 0;
    for (int64_t c = 0; c < columns; ++c) highest = std::max(highest, from[c]);
    for (int64_t c = 0; c < columns; ++c) {
      to[c] = std::exp(from[c] - highest);
      sum += to[c];
    }
    for (int64_t c = 0; c < columns; ++c) to[c] /= sum;
  }
}

BEST_INSTRUCTIONS void plain_layer_norm(int64_t rows, int64_t columns, const float* __restrict x,
                                        const float* __restrict gamma, const float* __restrict beta,
                                        float* __restrict y) {
  for (int64_t r = 0; r < rows; ++r) {
    const float* from = x + r * columns;
    float* to = y + r * columns;
    float sum = 0, squares = 0;
    for (int64_t c = 0; c < columns; ++c) sum += from[c];
    const float mean = sum / static_cast<float>(columns);
    for (int64_t c = 0; c < columns; ++c) squares += (from[c] - mean) * (from[c] - mean);
    const float scale = 1 / std::sqrt(squares / static_cast<float>(columns) + kEpsilon);
    for (int64_t c = 0; c < columns; ++c) to[c] = (from[c] - mean) * scale * gamma[c] + beta[c];
  }
}

BEST_INSTRUCTIONS void plain_rms_norm(int64_t rows, int64_t columns, const float* __restrict x,
                                      const float* __restrict gamma, float* __restrict y) {
  for (int64_t r = 0; r < rows; ++r) {
    const float* from = x + r * columns;
    float* to = y + r * columns;
    float squares = 0;
    for (int64_t c = 0; c < columns; ++c) squares += from[c] * from[c];
    const float scale = 1 / std::sqrt(squares / static_cast<float>(columns) + kEpsilon);
    for (int64_t c = 0; c < columns; ++c) to[c] = from[c] * scale * gamma[c];
  }
}

}  // namespace emulsion::benchmarks
