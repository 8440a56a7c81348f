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

EMULSION_BEST_INSTRUCTIONS void plain_less_of_groups(int64_t pictures, int64_t pixels,
                                                     int64_t groups, int64_t group,
                                                     const float* __restrict x,
                                                     const float* __restrict m,
                                                     float* __restrict y) {
  const int64_t channels = groups * group;
  std::vector<float> of_channels(static_cast<size_t>(channels));
  float* __restrict each = of_channels.data();
  for (int64_t n = 0; n < pictures; ++n) {
    for (int64_t c = 0; c < channels; ++c) each[c] = m[n * groups + c / group];
    for (int64_t p = 0; p < pixels; ++p) {
      const int64_t at = (n * pixels + p) * channels;
      for (int64_t c = 0; c < channels; ++c) y[at + c] = x[at + c] - each[c];
    }
  }
}

// Sums by channel, which are vectors, then of each group.
EMULSION_BEST_INSTRUCTIONS void plain_group_norm(int64_t pictures, int64_t pixels, int64_t groups,
                                                 int64_t group, const float* __restrict x,
                                                 const float* __restrict gamma,
                                                 const float* __restrict beta,
                                                 float* __restrict y) {
  const int64_t channels = groups * group;
  const auto count = static_cast<float>(pixels * group);
  std::vector<float> of_channels(static_cast<size_t>(2 * channels));
  float* __restrict sums = of_channels.data();
  float* __restrict each = of_channels.data() + channels;
  const auto spread = [&] {  // the sums of the channels of a group to all of these, over the count
    for (int64_t g = 0; g < groups; ++g) {
      float sum = 0;
      for (int64_t k = 0; k < group; ++k) sum += sums[g * group + k];
      for (int64_t k = 0; k < group; ++k) sums[g * group + k] = sum / count;
    }
  };
  for (int64_t n = 0; n < pictures; ++n) {
    const float* __restrict in = x + n * pixels * channels;
    for (int64_t c = 0; c < channels; ++c) sums[c] = 0;
    for (int64_t p = 0; p < pixels; ++p) {
      for (int64_t c = 0; c < channels; ++c) sums[c] += in[p * channels + c];
    }
    spread();
    for (int64_t c = 0; c < channels; ++c) each[c] = sums[c];
    for (int64_t c = 0; c < channels; ++c) sums[c] = 0;
    for (int64_t p = 0; p < pixels; ++p) {
      for (int64_t c = 0; c < channels; ++c) {
        const float d = in[p * channels + c] - each[c];
        sums[c] += d * d;
      }
    }
    spread();
    for (int64_t c = 0; c < channels; ++c) sums[c] = std::sqrt(sums[c] + 1e-5F);
    float* __restrict out = y + n * pixels * channels;
    for (int64_t p = 0; p < pixels; ++p) {
      const int64_t at = p * channels;
      for (int64_t c = 0; c < channels; ++c) {
        out[at + c] = (in[at + c] - each[c]) / sums[c] * gamma[c] + beta[c];
      }
    }
  }
}

}  // namespace emulsion::benchmarks
