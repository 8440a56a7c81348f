#include "benchmarks/peers/plain_reductions.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "benchmarks/peers/best_instructions.h"

namespace emulsion::benchmarks {
namespace {

constexpr float kEpsilon = 1e-5F, kLowest = -std::numeric_limits<float>::infinity();

// Inlined into each function's clones, for their instructions.

template <typename T>
inline __attribute__((always_inline)) void sum_rows(int64_t rows, int64_t columns,
                                                    const T* __restrict x, T* __restrict y) {
  for (int64_t r = 0; r < rows; ++r) {
    T sum = 0;
    for (int64_t c = 0; c < columns; ++c) sum += x[r * columns + c];
    y[r] = sum;
  }
}

// Whole rows of w are added up, so that the innermost loop runs along memory and becomes vectors.
template <typename T>
inline __attribute__((always_inline)) void matmul(int64_t m, int64_t n, int64_t k,
                                                  const T* __restrict x, const T* __restrict w,
                                                  T* __restrict y) {
  for (int64_t i = 0; i < m; ++i) {
    T* __restrict row = y + i * n;
    std::fill_n(row, n, T(0));
    for (int64_t p = 0; p < k; ++p) {
      const T factor = x[i * k + p];
      for (int64_t j = 0; j < n; ++j) row[j] += factor * w[p * n + j];
    }
  }
}

inline __attribute__((always_inline)) void softmax(int64_t columns, const float* x, float* y) {
  float largest = kLowest, sum = 0;
  for (int64_t c = 0; c < columns; ++c) largest = std::max(largest, x[c]);
  for (int64_t c = 0; c < columns; ++c) {
    y[c] = std::exp(x[c] - largest);
    sum += y[c];
  }
  for (int64_t c = 0; c < columns; ++c) y[c] /= sum;
}

}  // namespace

EMULSION_BEST_INSTRUCTIONS void plain_sum_rows(int64_t rows, int64_t columns,
                                               const float* __restrict x, float* __restrict y) {
  sum_rows(rows, columns, x, y);
}

EMULSION_BEST_INSTRUCTIONS void plain_sum_rows(int64_t rows, int64_t columns,
                                               const double* __restrict x, double* __restrict y) {
  sum_rows(rows, columns, x, y);
}

EMULSION_BEST_INSTRUCTIONS void plain_sum_rows(int64_t rows, int64_t columns,
                                               const uint8_t* __restrict x, uint8_t* __restrict y) {
  sum_rows(rows, columns, x, y);
}

EMULSION_BEST_INSTRUCTIONS float plain_squared_error(int64_t values, const float* __restrict x,
                                                     const float* __restrict t) {
  float sum = 0;
  for (int64_t i = 0; i < values; ++i) sum += (x[i] - t[i]) * (x[i] - t[i]);
  return sum / static_cast<float>(values);
}

EMULSION_BEST_INSTRUCTIONS void plain_sum_columns(int64_t rows, int64_t columns,
                                                  const float* __restrict x, float* __restrict y) {
  std::fill_n(y, columns, 0.0F);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) y[c] += x[r * columns + c];
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_sum_maps(int64_t pictures, int64_t channels, int64_t pixels,
                                               const float* __restrict x, float* __restrict y) {
  std::fill_n(y, channels, 0.0F);
  for (int64_t n = 0; n < pictures; ++n) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t p = 0; p < pixels; ++p) y[c] += x[(n * channels + c) * pixels + p];
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_channel_means(int64_t pictures, int64_t channels,
                                                    int64_t places, const float* __restrict x,
                                                    float* __restrict y) {
  const auto count = static_cast<float>(channels);
  for (int64_t n = 0; n < pictures; ++n) {
    float* mean = y + n * places;
    std::fill_n(mean, places, 0.0F);
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t p = 0; p < places; ++p) mean[p] += x[(n * channels + c) * places + p];
    }
    for (int64_t p = 0; p < places; ++p) mean[p] /= count;
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_batch_norm(int64_t rows, int64_t columns,
                                                 const float* __restrict x, float* __restrict mean,
                                                 float* __restrict scale, float* __restrict y) {
  const auto count = static_cast<float>(rows);
  std::fill_n(mean, columns, 0.0F);
  std::fill_n(scale, columns, 0.0F);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) mean[c] += x[r * columns + c];
  }
  for (int64_t c = 0; c < columns; ++c) mean[c] /= count;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      const float apart = x[r * columns + c] - mean[c];
      scale[c] += apart * apart;
    }
  }
  for (int64_t c = 0; c < columns; ++c) scale[c] = 1 / std::sqrt(scale[c] / count + kEpsilon);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      y[r * columns + c] = (x[r * columns + c] - mean[c]) * scale[c];
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_max_rows(int64_t rows, int64_t columns,
                                               const float* __restrict x, float* __restrict y) {
  for (int64_t r = 0; r < rows; ++r) {
    float largest = kLowest;
    for (int64_t c = 0; c < columns; ++c) largest = std::max(largest, x[r * columns + c]);
    y[r] = largest;
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_max_middle(int64_t parts, int64_t rows, int64_t columns,
                                                 const int16_t* __restrict x,
                                                 int16_t* __restrict y) {
  std::fill_n(y, parts * columns, std::numeric_limits<int16_t>::min());
  for (int64_t p = 0; p < parts; ++p) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        y[p * columns + c] = std::max(y[p * columns + c], x[(p * rows + r) * columns + c]);
      }
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_buckets(int64_t values, int64_t borders,
                                              const float* __restrict x,
                                              const float* __restrict border,
                                              int32_t* __restrict y) {
  for (int64_t i = 0; i < values; ++i) {
    int32_t above = 0;
    for (int64_t b = 0; b < borders; ++b) above += x[i] > border[b] ? 1 : 0;
    y[i] = above;
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_argmin_columns(int64_t rows, int64_t columns,
                                                     const float* __restrict x,
                                                     float* __restrict least,
                                                     int32_t* __restrict y) {
  std::copy_n(x, columns, least);
  std::fill_n(y, columns, 0);
  for (int64_t r = 1; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      const float value = x[r * columns + c];
      const bool less = value < least[c];
      least[c] = less ? value : least[c];
      y[c] = less ? static_cast<int32_t>(r) : y[c];
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_argmax_rows(int64_t rows, int64_t columns,
                                                  const float* __restrict x,
                                                  int32_t* __restrict y) {
  for (int64_t r = 0; r < rows; ++r) {
    float most = x[r * columns];
    int32_t place = 0;
    for (int64_t c = 1; c < columns; ++c) {
      if (x[r * columns + c] <= most) continue;
      most = x[r * columns + c];
      place = static_cast<int32_t>(c);
    }
    y[r] = place;
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_softmax(int64_t rows, int64_t columns,
                                              const float* __restrict x, float* __restrict y) {
  for (int64_t r = 0; r < rows; ++r) softmax(columns, x + r * columns, y + r * columns);
}

EMULSION_BEST_INSTRUCTIONS void plain_group_norm(int64_t groups, int64_t values,
                                                 const float* __restrict x, float* __restrict y) {
  for (int64_t g = 0; g < groups; ++g, x += values, y += values) {
    float sum = 0, squares = 0;
    for (int64_t i = 0; i < values; ++i) sum += x[i];
    const float mean = sum / static_cast<float>(values);
    for (int64_t i = 0; i < values; ++i) squares += (x[i] - mean) * (x[i] - mean);
    const float scale = 1 / std::sqrt(squares / static_cast<float>(values) + kEpsilon);
    for (int64_t i = 0; i < values; ++i) y[i] = (x[i] - mean) * scale;
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_group_norm_last(
    int64_t pictures, int64_t places, int64_t groups, int64_t channels, const float* __restrict x,
    float* __restrict mean, float* __restrict scale, float* __restrict y) {
  const auto count = static_cast<float>(places * channels);
  const int64_t values = groups * channels;  // of a place
  for (int64_t n = 0; n < pictures; ++n, x += places * values, y += places * values) {
    std::fill_n(mean, groups, 0.0F);
    std::fill_n(scale, groups, 0.0F);
    for (int64_t p = 0; p < places; ++p) {
      for (int64_t g = 0; g < groups; ++g) {
        for (int64_t c = 0; c < channels; ++c) mean[g] += x[(p * groups + g) * channels + c];
      }
    }
    for (int64_t g = 0; g < groups; ++g) mean[g] /= count;
    for (int64_t p = 0; p < places; ++p) {
      for (int64_t g = 0; g < groups; ++g) {
        for (int64_t c = 0; c < channels; ++c) {
          const float apart = x[(p * groups + g) * channels + c] - mean[g];
          scale[g] += apart * apart;
        }
      }
    }
    for (int64_t g = 0; g < groups; ++g) scale[g] = 1 / std::sqrt(scale[g] / count + kEpsilon);
    for (int64_t p = 0; p < places; ++p) {
      for (int64_t g = 0; g < groups; ++g) {
        for (int64_t c = 0; c < channels; ++c) {
          const int64_t i = (p * groups + g) * channels + c;
          y[i] = (x[i] - mean[g]) * scale[g];
        }
      }
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_layer_norm(int64_t rows, int64_t columns,
                                                 const float* __restrict x,
                                                 const float* __restrict gamma,
                                                 const float* __restrict beta,
                                                 float* __restrict y) {
  const auto count = static_cast<float>(columns);
  for (int64_t r = 0; r < rows; ++r) {
    const float* row = x + r * columns;
    float sum = 0;
    for (int64_t c = 0; c < columns; ++c) sum += row[c];
    const float mean = sum / count;
    float squares = 0;
    for (int64_t c = 0; c < columns; ++c) squares += (row[c] - mean) * (row[c] - mean);
    const float scale = 1 / std::sqrt(squares / count + kEpsilon);
    for (int64_t c = 0; c < columns; ++c) {
      y[r * columns + c] = (row[c] - mean) * scale * gamma[c] + beta[c];
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_rms_norm(int64_t rows, int64_t columns,
                                               const float* __restrict x,
                                               const float* __restrict gamma, float* __restrict y) {
  for (int64_t r = 0; r < rows; ++r) {
    const float* row = x + r * columns;
    float squares = 0;
    for (int64_t c = 0; c < columns; ++c) squares += row[c] * row[c];
    const float scale = 1 / std::sqrt(squares / static_cast<float>(columns) + kEpsilon);
    for (int64_t c = 0; c < columns; ++c) y[r * columns + c] = row[c] * scale * gamma[c];
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_matmul(int64_t m, int64_t n, int64_t k,
                                             const float* __restrict x, const float* __restrict w,
                                             float* __restrict y) {
  matmul(m, n, k, x, w, y);
}

EMULSION_BEST_INSTRUCTIONS void plain_matmul(int64_t m, int64_t n, int64_t k,
                                             const double* __restrict x, const double* __restrict w,
                                             double* __restrict y) {
  matmul(m, n, k, x, w, y);
}

EMULSION_BEST_INSTRUCTIONS void plain_matmul(int64_t m, int64_t n, int64_t k,
                                             const int32_t* __restrict x,
                                             const int32_t* __restrict w, int32_t* __restrict y) {
  matmul(m, n, k, x, w, y);
}

EMULSION_BEST_INSTRUCTIONS void plain_matrix_vector(int64_t m, int64_t k, const float* __restrict x,
                                                    const float* __restrict w,
                                                    float* __restrict y) {
  for (int64_t i = 0; i < m; ++i) {
    float sum = 0;
    for (int64_t p = 0; p < k; ++p) sum += x[i * k + p] * w[p];
    y[i] = sum;
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_distances(int64_t m, int64_t n, int64_t d,
                                                const float* __restrict x,
                                                const float* __restrict z, float* __restrict y) {
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < d; ++p) {
        const float difference = x[i * d + p] - z[j * d + p];
        sum += difference * difference;
      }
      y[i * n + j] = sum;
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_attention(int64_t steps, int64_t heads, int64_t depth,
                                                const float* __restrict q,
                                                const float* __restrict k,
                                                const float* __restrict v, float* __restrict scores,
                                                float* __restrict y) {
  const int64_t row = heads * depth;
  const float scale = 1 / std::sqrt(static_cast<float>(depth));
  for (int64_t h = 0; h < heads; ++h) {
    for (int64_t i = 0; i < steps; ++i) {
      for (int64_t j = 0; j < steps; ++j) {
        float sum = 0;
        for (int64_t d = 0; d < depth; ++d) {
          sum += q[i * row + h * depth + d] * k[j * row + h * depth + d];
        }
        scores[j] = sum * scale;
      }
      softmax(steps, scores, scores);
      float* result = y + i * row + h * depth;
      std::fill_n(result, depth, 0.0F);
      for (int64_t j = 0; j < steps; ++j) {
        for (int64_t d = 0; d < depth; ++d) {
          result[d] += scores[j] * v[j * row + h * depth + d];
        }
      }
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_sums_by_class(int64_t classes, int64_t columns, int64_t rows,
                                                    const float* __restrict x,
                                                    const int32_t* __restrict which,
                                                    float* __restrict y) {
  std::fill_n(y, classes * columns, 0.0F);
  for (int64_t c = 0; c < classes; ++c) {
    for (int64_t m = 0; m < rows; ++m) {
      if (which[m] != c) continue;
      for (int64_t d = 0; d < columns; ++d) y[c * columns + d] += x[m * columns + d];
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_histogram(int64_t places, int64_t count,
                                                const int32_t* __restrict which,
                                                int32_t* __restrict y) {
  std::fill_n(y, places, 0);
  for (int64_t i = 0; i < count; ++i) ++y[which[i]];
}

EMULSION_BEST_INSTRUCTIONS void plain_lengths(int64_t points, const float* __restrict x,
                                              float* __restrict y) {
  for (int64_t p = 0; p < points; ++p) {
    float sum = 0;
    for (int64_t d = 0; d < 3; ++d) sum += x[p * 3 + d] * x[p * 3 + d];
    y[p] = sum;
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_colours(int64_t pixels, const float* __restrict x,
                                              const float* __restrict w, float* __restrict y) {
  for (int64_t p = 0; p < pixels; ++p) {
    for (int64_t j = 0; j < 3; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < 3; ++k) sum += x[p * 3 + k] * w[k * 3 + j];
      y[p * 3 + j] = sum;
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_four_colours(int64_t pixels, const float* __restrict x,
                                                   const float* __restrict w, float* __restrict y) {
  for (int64_t p = 0; p < pixels; ++p) {
    for (int64_t j = 0; j < 4; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < 4; ++k) sum += x[p * 4 + k] * w[k * 4 + j];
      y[p * 4 + j] = sum;
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_points(int64_t points, const float* __restrict x,
                                             const float* __restrict w, float* __restrict y) {
  for (int64_t p = 0; p < points; ++p) {
    for (int64_t i = 0; i < 3; ++i) {
      float sum = 0;
      for (int64_t k = 0; k < 3; ++k) sum += w[i * 4 + k] * x[p * 3 + k];
      y[p * 3 + i] = sum + w[i * 4 + 3];
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_nearest(int64_t points, int64_t centres,
                                              const float* __restrict x, const float* __restrict z,
                                              int32_t* __restrict y) {
  for (int64_t p = 0; p < points; ++p) {
    float least = std::numeric_limits<float>::infinity();
    int32_t nearest = 0;
    for (int64_t k = 0; k < centres; ++k) {
      float sum = 0;
      for (int64_t d = 0; d < 3; ++d) {
        const float difference = x[p * 3 + d] - z[k * 3 + d];
        sum += difference * difference;
      }
      if (sum < least) {
        least = sum;
        nearest = static_cast<int32_t>(k);
      }
    }
    y[p] = nearest;
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_cosines(int64_t count, const float* __restrict x,
                                              const float* __restrict c, float* __restrict y) {
  constexpr int kSide = 8;
  for (int64_t b = 0; b < count; ++b) {
    const float* square = x + b * kSide * kSide;
    float rows[kSide][kSide];
    for (int i = 0; i < kSide; ++i) {
      for (int v = 0; v < kSide; ++v) {
        float s = 0;
        for (int j = 0; j < kSide; ++j) s += square[i * kSide + j] * c[v * kSide + j];
        rows[i][v] = s;
      }
    }
    for (int u = 0; u < kSide; ++u) {
      for (int v = 0; v < kSide; ++v) {
        float s = 0;
        for (int i = 0; i < kSide; ++i) s += c[u * kSide + i] * rows[i][v];
        y[(b * kSide + u) * kSide + v] = s;
      }
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_small_products(int64_t count, const float* __restrict x,
                                                     const float* __restrict w,
                                                     float* __restrict y) {
  for (int64_t b = 0; b < count; ++b) {
    for (int64_t i = 0; i < 3; ++i) {
      for (int64_t j = 0; j < 3; ++j) {
        float sum = 0;
        for (int64_t k = 0; k < 3; ++k) sum += x[b * 9 + i * 3 + k] * w[b * 9 + k * 3 + j];
        y[b * 9 + i * 3 + j] = sum;
      }
    }
  }
}

}  // namespace emulsion::benchmarks
