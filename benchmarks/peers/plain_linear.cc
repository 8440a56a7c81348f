#include "benchmarks/peers/plain_linear.h"

#include <algorithm>

#include "benchmarks/peers/best_instructions.h"

namespace emulsion::benchmarks {

// Whole rows of w are added up, so that the innermost loop runs along memory and becomes vectors.
EMULSION_BEST_INSTRUCTIONS void plain_linear(const LinearShape& shape, const float* __restrict x,
                                             const float* __restrict w,
                                             const float* __restrict bias, float* __restrict y) {
  for (int64_t m = 0; m < shape.m; ++m) {
    float* row = y + m * shape.n;
    for (int64_t n = 0; n < shape.n; ++n) row[n] = bias[n];
    for (int64_t k = 0; k < shape.k; ++k) {
      const float factor = x[m * shape.k + k];
      for (int64_t n = 0; n < shape.n; ++n) row[n] += factor * w[k * shape.n + n];
    }
    for (int64_t n = 0; n < shape.n; ++n) row[n] = std::max(row[n], 0.0F);
  }
}

}  // namespace emulsion::benchmarks
