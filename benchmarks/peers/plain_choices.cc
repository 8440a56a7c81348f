#include "benchmarks/peers/plain_choices.h"

#include <algorithm>

#include "benchmarks/peers/best_instructions.h"

namespace emulsion::benchmarks {

EMULSION_BEST_INSTRUCTIONS void plain_mixed_planes(int64_t count, const float* __restrict x,
                                                   float* __restrict y) {
  for (int64_t i = 0; i < count; ++i) {
    const float r = x[i], g = x[count + i], b = x[2 * count + i];
    y[i] = 0.25F * r + 0.5F * g + 0.25F * b;
    y[count + i] = -0.125F * r - 0.25F * g + 0.375F * b;
    y[2 * count + i] = 0.5F * r - 0.375F * g - 0.125F * b;
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_filters(int64_t channels, const float* __restrict x,
                                              const float* __restrict q, const float* __restrict z,
                                              float* __restrict y, float* __restrict next) {
  for (int64_t c = 0; c < channels; ++c) {
    float in = x[c];
    for (int64_t s = 0; s < 2; ++s) {
      const float* k = q + 5 * s;
      const int64_t first = 2 * s * channels + c, second = first + channels;
      const float out = k[0] * in + z[first];
      next[first] = k[1] * in - k[3] * out + z[second];
      next[second] = k[2] * in - k[4] * out;
      in = out;
    }
    y[c] = in;
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_rotated_pairs(int64_t rows, int64_t heads, int64_t pairs,
                                                    const float* __restrict x,
                                                    const float* __restrict c,
                                                    const float* __restrict s,
                                                    float* __restrict y) {
  for (int64_t i = 0; i < rows * heads; ++i) {
    for (int64_t p = 0; p < pairs; ++p) {
      const int64_t at = 2 * (i * pairs + p), angle = i / heads * pairs + p;
      y[at] = x[at] * c[angle] - x[at + 1] * s[angle];
      y[at + 1] = x[at] * s[angle] + x[at + 1] * c[angle];
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_rotated_halves(int64_t rows, int64_t heads, int64_t pairs,
                                                     const float* __restrict x,
                                                     const float* __restrict c,
                                                     const float* __restrict s,
                                                     float* __restrict y) {
  for (int64_t i = 0; i < rows * heads; ++i) {
    for (int64_t p = 0; p < pairs; ++p) {
      const int64_t at = 2 * i * pairs + p, angle = i / heads * pairs + p;
      y[at] = x[at] * c[angle] - x[at + pairs] * s[angle];
      y[at + pairs] = x[at + pairs] * c[angle] + x[at] * s[angle];
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_chosen_sums(int64_t classes, int64_t rows,
                                                  const int32_t* __restrict which,
                                                  const double* __restrict x,
                                                  const uint8_t* __restrict size,
                                                  double* __restrict y) {
  constexpr int kLimit = 200;
  std::fill_n(y, classes, 0.0);
  for (int64_t i = 0; i < rows; ++i) {
    const bool counts = size[i] < kLimit && which[i] >= 0 && which[i] < classes;
    if (counts) y[which[i]] += x[i];
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_confusion(int64_t classes, int64_t count,
                                                const uint8_t* __restrict a,
                                                const uint8_t* __restrict b,
                                                int32_t* __restrict y) {
  std::fill_n(y, classes * classes, 0);
  for (int64_t i = 0; i < count; ++i) {
    if (a[i] < classes && b[i] < classes) ++y[a[i] * classes + b[i]];
  }
}

}  // namespace emulsion::benchmarks
