#include "benchmarks/peers/plain_pointwise.h"

#include <algorithm>
#include <cmath>

#include "benchmarks/peers/best_instructions.h"

namespace emulsion::benchmarks {

EMULSION_BEST_INSTRUCTIONS void plain_relu(int64_t count, const float* __restrict x,
                                           float* __restrict y) {
  for (int64_t i = 0; i < count; ++i) y[i] = std::max(x[i], 0.0F);
}

EMULSION_BEST_INSTRUCTIONS void plain_gelu(int64_t count, const float* __restrict x,
                                           float* __restrict y) {
  for (int64_t i = 0; i < count; ++i) {
    const float inner = 0.79788456F * (x[i] + 0.044715F * x[i] * x[i] * x[i]);
    y[i] = x[i] / 2 * (1 + std::tanh(inner));
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_silu(int64_t count, const float* __restrict x,
                                           const float* __restrict z, float* __restrict y) {
  for (int64_t i = 0; i < count; ++i) y[i] = x[i] / (1 + std::exp(-x[i])) * z[i];
}

EMULSION_BEST_INSTRUCTIONS void plain_sums(int64_t count, const float* __restrict a,
                                           const float* __restrict b, const float* __restrict c,
                                           const float* __restrict d, float* __restrict y) {
  for (int64_t i = 0; i < count; ++i) y[i] = std::max(a[i] + b[i] + c[i] - d[i], 0.0F);
}

EMULSION_BEST_INSTRUCTIONS void plain_pixels(int64_t count, const uint8_t* __restrict x,
                                             float* __restrict y) {
  for (int64_t i = 0; i < count; ++i) y[i] = static_cast<float>(x[i]) / 255 - 0.5F;
}

EMULSION_BEST_INSTRUCTIONS void plain_inverse(int64_t count, const uint8_t* __restrict x,
                                              uint8_t* __restrict y) {
  for (int64_t i = 0; i < count; ++i) y[i] = static_cast<uint8_t>(255 - x[i]);
}

EMULSION_BEST_INSTRUCTIONS void plain_blend(int64_t pixels, const uint8_t* __restrict x,
                                            const uint8_t* __restrict z, uint8_t* __restrict y) {
  for (int64_t p = 0; p < pixels; ++p) {
    const int part = x[p * 4 + 3];
    for (int64_t c = 0; c < 4; ++c) {
      const int value = x[p * 4 + c] * part + z[p * 4 + c] * (255 - part) + 128;
      y[p * 4 + c] = static_cast<uint8_t>(value / 256);
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_blend(int64_t pixels, const float* __restrict x,
                                            const float* __restrict z, float* __restrict y) {
  for (int64_t p = 0; p < pixels; ++p) {
    const float part = x[p * 4 + 3];
    for (int64_t c = 0; c < 4; ++c) y[p * 4 + c] = x[p * 4 + c] * part + z[p * 4 + c] * (1 - part);
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_scale_colours(int64_t pixels, const uint8_t* __restrict x,
                                                    const float* __restrict scale,
                                                    const float* __restrict shift,
                                                    float* __restrict y) {
  for (int64_t p = 0; p < pixels; ++p) {
    for (int64_t c = 0; c < 3; ++c) {
      y[p * 3 + c] = static_cast<float>(x[p * 3 + c]) * scale[c] + shift[c];
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_scale_colours(int64_t pixels, const float* __restrict x,
                                                    const float* __restrict scale,
                                                    const float* __restrict shift,
                                                    float* __restrict y) {
  for (int64_t p = 0; p < pixels; ++p) {
    for (int64_t c = 0; c < 3; ++c) y[p * 3 + c] = x[p * 3 + c] * scale[c] + shift[c];
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_integers(int64_t count, const int32_t* __restrict a,
                                               const int32_t* __restrict b, int32_t* __restrict y) {
  for (int64_t i = 0; i < count; ++i) y[i] = std::max(3 * a[i] - b[i], 7);
}

EMULSION_BEST_INSTRUCTIONS void plain_choice(int64_t count, const float* __restrict a,
                                             const float* __restrict b, float* __restrict y) {
  for (int64_t i = 0; i < count; ++i) y[i] = a[i] < b[i] ? a[i] : b[i] * b[i];
}

EMULSION_BEST_INSTRUCTIONS void plain_batch_norm(
    int64_t rows, int64_t channels, const float* __restrict x, const float* __restrict mean,
    const float* __restrict variance, const float* __restrict gamma, const float* __restrict beta,
    float* __restrict y) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t c = 0; c < channels; ++c) {
      const float scale = gamma[c] / std::sqrt(variance[c] + 1e-5F);
      y[i * channels + c] = (x[i * channels + c] - mean[c]) * scale + beta[c];
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_transpose(int64_t rows, int64_t columns,
                                                const float* __restrict x, float* __restrict y) {
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t r = 0; r < rows; ++r) y[c * rows + r] = x[r * columns + c];
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_heads(int64_t steps, int64_t heads, int64_t depth,
                                            const float* __restrict x, float* __restrict y) {
  for (int64_t h = 0; h < heads; ++h) {
    for (int64_t s = 0; s < steps; ++s) {
      for (int64_t d = 0; d < depth; ++d) {
        y[(h * steps + s) * depth + d] = x[(s * heads + h) * depth + d];
      }
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_interleave(int64_t colours, int64_t pixels,
                                                 const uint8_t* __restrict x,
                                                 uint8_t* __restrict y) {
  for (int64_t p = 0; p < pixels; ++p) {
    for (int64_t c = 0; c < colours; ++c) y[p * colours + c] = x[c * pixels + p];
  }
}

namespace {

template <typename T>
inline __attribute__((always_inline)) void join_rows(int64_t rows, int64_t columns_a,
                                                     int64_t columns_b, const T* __restrict a,
                                                     const T* __restrict b, T* __restrict y) {
  for (int64_t r = 0; r < rows; ++r) {
    T* row = y + r * (columns_a + columns_b);
    std::copy_n(a + r * columns_a, columns_a, row);
    std::copy_n(b + r * columns_b, columns_b, row + columns_a);
  }
}

template <typename T>
inline __attribute__((always_inline)) void pad_rows(int64_t rows, int64_t columns, int64_t border,
                                                    const T* __restrict x, T* __restrict y) {
  const int64_t width = columns + 2 * border;
  std::fill_n(y, (rows + 2 * border) * width, T(0));
  for (int64_t r = 0; r < rows; ++r) {
    std::copy_n(x + r * columns, columns, y + (r + border) * width + border);
  }
}

}  // namespace

EMULSION_BEST_INSTRUCTIONS void plain_concat(int64_t rows, int64_t columns_a, int64_t columns_b,
                                             const float* a, const float* b, float* y) {
  join_rows(rows, columns_a, columns_b, a, b, y);
}

EMULSION_BEST_INSTRUCTIONS void plain_concat(int64_t rows, int64_t columns_a, int64_t columns_b,
                                             const uint8_t* a, const uint8_t* b, uint8_t* y) {
  join_rows(rows, columns_a, columns_b, a, b, y);
}

EMULSION_BEST_INSTRUCTIONS void plain_wavelet(int64_t rows, int64_t half, const float* __restrict x,
                                              float* __restrict y) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < half; ++c) {
      const float first = x[(r * half + c) * 2], second = x[(r * half + c) * 2 + 1];
      y[r * half * 2 + c] = (first + second) * 0.5F;
      y[r * half * 2 + half + c] = (first - second) * 0.5F;
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_complex(int64_t count, const float* __restrict x,
                                              const float* __restrict z, float* __restrict y) {
  for (int64_t i = 0; i < count; ++i) {
    y[i * 2] = x[i * 2] * z[i * 2] - x[i * 2 + 1] * z[i * 2 + 1];
    y[i * 2 + 1] = x[i * 2] * z[i * 2 + 1] + x[i * 2 + 1] * z[i * 2];
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_quaternions(int64_t count, const float* __restrict x,
                                                  const float* __restrict z, float* __restrict y) {
  for (int64_t i = 0; i < count; ++i) {
    const float *a = x + 4 * i, *b = z + 4 * i;
    y[4 * i] = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
    y[4 * i + 1] = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
    y[4 * i + 2] = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
    y[4 * i + 3] = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_complex_planes(
    int64_t count, const float* __restrict a, const float* __restrict b, const float* __restrict c,
    const float* __restrict d, float* __restrict real, float* __restrict imaginary) {
  for (int64_t i = 0; i < count; ++i) {
    real[i] = a[i] * c[i] - b[i] * d[i];
    imaginary[i] = a[i] * d[i] + b[i] * c[i];
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_inverses_of_2(int64_t count, const float* __restrict a,
                                                    float* __restrict y) {
  for (int64_t i = 0; i < count; ++i) {
    const float* m = a + 4 * i;
    const float det = m[0] * m[3] - m[1] * m[2];
    y[4 * i] = m[3] / det;
    y[4 * i + 1] = -m[1] / det;
    y[4 * i + 2] = -m[2] / det;
    y[4 * i + 3] = m[0] / det;
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_inverses_of_3(int64_t count, const float* __restrict a,
                                                    float* __restrict y) {
  for (int64_t i = 0; i < count; ++i) {
    const float* m = a + 9 * i;
    float* inverse = y + 9 * i;
    const float c0 = m[4] * m[8] - m[5] * m[7];
    const float c1 = m[5] * m[6] - m[3] * m[8];
    const float c2 = m[3] * m[7] - m[4] * m[6];
    const float det = m[0] * c0 + m[1] * c1 + m[2] * c2;
    inverse[0] = c0 / det;
    inverse[1] = (m[2] * m[7] - m[1] * m[8]) / det;
    inverse[2] = (m[1] * m[5] - m[2] * m[4]) / det;
    inverse[3] = c1 / det;
    inverse[4] = (m[0] * m[8] - m[2] * m[6]) / det;
    inverse[5] = (m[2] * m[3] - m[0] * m[5]) / det;
    inverse[6] = c2 / det;
    inverse[7] = (m[1] * m[6] - m[0] * m[7]) / det;
    inverse[8] = (m[0] * m[4] - m[1] * m[3]) / det;
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_cholesky(int64_t count, const double* __restrict a,
                                               double* __restrict y) {
  constexpr int kSide = 4;
  for (int64_t n = 0; n < count; ++n) {
    const double* m = a + n * kSide * kSide;
    double l[kSide][kSide] = {};
    for (int i = 0; i < kSide; ++i) {
      for (int j = 0; j <= i; ++j) {
        double s = m[i * kSide + j];
        for (int k = 0; k < j; ++k) s -= l[i][k] * l[j][k];
        l[i][j] = i == j ? std::sqrt(s) : s / l[j][j];
      }
    }
    for (int i = 0; i < kSide; ++i) {
      for (int j = 0; j < kSide; ++j) y[(n * kSide + i) * kSide + j] = l[i][j];
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_luma_chroma(int64_t count, const float* __restrict x,
                                                  float* __restrict y, float* __restrict u,
                                                  float* __restrict v) {
  for (int64_t i = 0; i < count; ++i) {
    const float r = x[3 * i], g = x[3 * i + 1], b = x[3 * i + 2];
    y[i] = 0.25F * r + 0.5F * g + 0.25F * b;
    u[i] = -0.125F * r - 0.25F * g + 0.375F * b;
    v[i] = 0.5F * r - 0.375F * g - 0.125F * b;
  }
}

namespace {

struct Yuv {
  uint8_t y, u, v;
};

inline Yuv yuv_of(const uint8_t* pixel) {
  const auto byte = [](int value) { return static_cast<uint8_t>(std::clamp(value, 0, 255)); };
  const int r = pixel[0], g = pixel[1], b = pixel[2];
  return {byte(((66 * r + 129 * g + 25 * b + 128) >> 8) + 16),
          byte(((-38 * r - 74 * g + 112 * b + 128) >> 8) + 128),
          byte(((112 * r - 94 * g - 18 * b + 128) >> 8) + 128)};
}

}  // namespace

EMULSION_BEST_INSTRUCTIONS void plain_yuv_planes(int64_t count, const uint8_t* __restrict x,
                                                 uint8_t* __restrict y, uint8_t* __restrict u,
                                                 uint8_t* __restrict v) {
  for (int64_t i = 0; i < count; ++i) {
    const Yuv made = yuv_of(x + 3 * i);
    y[i] = made.y;
    u[i] = made.u;
    v[i] = made.v;
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_yuv_pixels(int64_t count, const uint8_t* __restrict x,
                                                 uint8_t* __restrict y) {
  for (int64_t i = 0; i < count; ++i) {
    const Yuv made = yuv_of(x + 3 * i);
    y[3 * i] = made.y;
    y[3 * i + 1] = made.u;
    y[3 * i + 2] = made.v;
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_grey(int64_t count, const uint8_t* __restrict x,
                                           uint8_t* __restrict y) {
  for (int64_t i = 0; i < count; ++i) {
    const int sum = 77 * x[3 * i] + 150 * x[3 * i + 1] + 29 * x[3 * i + 2] + 128;
    y[i] = static_cast<uint8_t>(sum >> 8);
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_slice(int64_t rows, int64_t columns,
                                            const float* __restrict x, float* __restrict y) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns / 2; ++c) {
      y[r * (columns / 2) + c] = x[(rows - 1 - r) * columns + c * 2];
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_pad(int64_t rows, int64_t columns, int64_t border,
                                          const float* x, float* y) {
  pad_rows(rows, columns, border, x, y);
}

EMULSION_BEST_INSTRUCTIONS void plain_pad(int64_t rows, int64_t columns, int64_t border,
                                          const uint8_t* x, uint8_t* y) {
  pad_rows(rows, columns, border, x, y);
}

EMULSION_BEST_INSTRUCTIONS void plain_gather(int64_t count, int64_t rows, int64_t columns,
                                             const int32_t* __restrict index,
                                             const float* __restrict table, float* __restrict y) {
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = std::clamp<int64_t>(index[i], 0, rows - 1);
    std::copy_n(table + row * columns, columns, y + i * columns);
  }
}

}  // namespace emulsion::benchmarks
