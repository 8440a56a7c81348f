#include "benchmarks/peers/plain_windows.h"

#include <algorithm>

#include "benchmarks/peers/best_instructions.h"

namespace emulsion::benchmarks {
namespace {

template <typename Pick>
inline __attribute__((always_inline)) void pick_along(int64_t height, int64_t width,
                                                      const uint8_t* __restrict x,
                                                      uint8_t* __restrict y, const Pick& pick) {
  for (int64_t i = 0; i < height; ++i) {
    const uint8_t* row = x + i * width;
    uint8_t* result = y + i * width;
    for (int64_t j = 0; j < width; ++j) {
      if (j < 2 || j + 2 >= width) {
        result[j] = row[j];
        for (int64_t k = -2; k <= 2; ++k) {
          result[j] = pick(result[j], row[std::clamp<int64_t>(j + k, 0, width - 1)]);
        }
      }
    }
    for (int64_t j = 2; j < width - 2; ++j) {
      result[j] = pick(pick(pick(row[j - 2], row[j - 1]), pick(row[j + 1], row[j + 2])), row[j]);
    }
  }
}

template <typename Pick>
inline __attribute__((always_inline)) void pick_down(int64_t height, int64_t width,
                                                     const uint8_t* __restrict x,
                                                     uint8_t* __restrict y, const Pick& pick) {
  for (int64_t i = 0; i < height; ++i) {
    const auto row = [&](int64_t k) {
      return x + std::clamp<int64_t>(i + k, 0, height - 1) * width;
    };
    const uint8_t *a = row(-2), *b = row(-1), *c = row(0), *d = row(1), *e = row(2);
    uint8_t* result = y + i * width;
    for (int64_t j = 0; j < width; ++j) {
      result[j] = pick(pick(pick(a[j], b[j]), pick(c[j], d[j])), e[j]);
    }
  }
}

inline __attribute__((always_inline)) void weigh_rows(int64_t height, int64_t width,
                                                      const float* __restrict x,
                                                      float* __restrict y) {
  for (int64_t i = 0; i < height; ++i) {
    const float* above = x + std::max<int64_t>(i - 1, 0) * width;
    const float* below = x + std::min(i + 1, height - 1) * width;
    for (int64_t j = 0; j < width; ++j) {
      y[i * width + j] = above[j] + 2 * x[i * width + j] + below[j];
    }
  }
}

inline __attribute__((always_inline)) float weigh_columns(int64_t width,
                                                          const float* __restrict row, int64_t j) {
  return row[std::max<int64_t>(j - 1, 0)] + 2 * row[j] + row[std::min(j + 1, width - 1)];
}

// Of each channel 3 x 3 pixels, at every `stride`-th place of rows of `columns` pixels.
inline __attribute__((always_inline)) void depthwise(int64_t height, int64_t width,
                                                     int64_t channels, int64_t stride,
                                                     int64_t columns, const float* __restrict x,
                                                     const float* __restrict w,
                                                     float* __restrict y) {
  for (int64_t i = 0; i < height; ++i) {
    for (int64_t j = 0; j < width; ++j) {
      float* __restrict pixel = y + (i * width + j) * channels;
      std::fill_n(pixel, channels, 0.0F);
      for (int64_t ky = 0; ky < 3; ++ky) {
        for (int64_t kx = 0; kx < 3; ++kx) {
          const float* from = x + ((stride * i + ky) * columns + stride * j + kx) * channels;
          const float* weights = w + (ky * 3 + kx) * channels;
          for (int64_t c = 0; c < channels; ++c) pixel[c] += from[c] * weights[c];
        }
      }
    }
  }
}

// Each result is of a square of nine pixels.
template <typename T>
inline __attribute__((always_inline)) void square_max(int64_t height, int64_t width,
                                                      const T* __restrict x, T* __restrict y) {
  for (int64_t i = 0; i < height; ++i) {
    for (int64_t j = 0; j < width; ++j) {
      T most = x[i * (width + 2) + j];
      for (int64_t ky = 0; ky < 3; ++ky) {
        for (int64_t kx = 0; kx < 3; ++kx) {
          most = std::max(most, x[(i + ky) * (width + 2) + j + kx]);
        }
      }
      y[i * width + j] = most;
    }
  }
}

// Each result is of a square of four pixels.
template <typename Combine>
inline __attribute__((always_inline)) void pool(int64_t height, int64_t width, int64_t channels,
                                                const float* __restrict x, float* __restrict y,
                                                Combine combine) {
  const int64_t row = 2 * width * channels;
  for (int64_t i = 0; i < height; ++i) {
    for (int64_t j = 0; j < width; ++j) {
      const float* from = x + 2 * i * row + 2 * j * channels;
      for (int64_t c = 0; c < channels; ++c) {
        y[(i * width + j) * channels + c] =
            combine(from[c], from[channels + c], from[row + c], from[row + channels + c]);
      }
    }
  }
}

}  // namespace

EMULSION_BEST_INSTRUCTIONS void plain_conv(const PlainWindow& window, const float* __restrict x,
                                           const float* __restrict w, float* __restrict y) {
  const int64_t columns = window.width + window.size - 1;
  const int64_t in = window.in / window.groups, out = window.out / window.groups;
  for (int64_t i = 0; i < window.height; ++i) {
    for (int64_t j = 0; j < window.width; ++j) {
      float* __restrict pixel = y + (i * window.width + j) * window.out;
      std::fill_n(pixel, window.out, 0.0F);
      for (int64_t ky = 0; ky < window.size; ++ky) {
        for (int64_t kx = 0; kx < window.size; ++kx) {
          const float* from = x + ((i + ky) * columns + j + kx) * window.in;
          const float* weights = w + (ky * window.size + kx) * in * window.out;
          for (int64_t g = 0; g < window.groups; ++g) {
            for (int64_t c = 0; c < in; ++c) {
              const float factor = from[g * in + c];
              for (int64_t o = g * out; o < (g + 1) * out; ++o) {
                pixel[o] += factor * weights[c * window.out + o];
              }
            }
          }
        }
      }
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_depthwise(int64_t height, int64_t width, int64_t channels,
                                                const float* __restrict x,
                                                const float* __restrict w, float* __restrict y) {
  depthwise(height, width, channels, 1, width + 2, x, w, y);
}

EMULSION_BEST_INSTRUCTIONS void plain_max_pool(int64_t height, int64_t width, int64_t channels,
                                               const float* __restrict x, float* __restrict y) {
  pool(height, width, channels, x, y,
       [](float a, float b, float c, float d) { return std::max(std::max(a, b), std::max(c, d)); });
}

EMULSION_BEST_INSTRUCTIONS void plain_avg_pool(int64_t height, int64_t width, int64_t channels,
                                               const float* __restrict x, float* __restrict y) {
  pool(height, width, channels, x, y,
       [](float a, float b, float c, float d) { return (a + b + c + d) / 4; });
}

EMULSION_BEST_INSTRUCTIONS void plain_depthwise_strided(int64_t height, int64_t width,
                                                        int64_t channels, const float* __restrict x,
                                                        const float* __restrict w,
                                                        float* __restrict y) {
  depthwise(height, width, channels, 2, 2 * width + 1, x, w, y);
}

EMULSION_BEST_INSTRUCTIONS void plain_dilated(int64_t height, int64_t width,
                                              const float* __restrict x, const float* __restrict w,
                                              float* __restrict y) {
  for (int64_t i = 0; i < height; ++i) {
    for (int64_t j = 0; j < width; ++j) {
      float sum = 0;
      for (int64_t ky = 0; ky < 3; ++ky) {
        for (int64_t kx = 0; kx < 3; ++kx) {
          sum += x[(i + 2 * ky) * (width + 4) + j + 2 * kx] * w[ky * 3 + kx];
        }
      }
      y[i * width + j] = sum;
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_window_max(int64_t count, const float* __restrict x,
                                                 float* __restrict y) {
  for (int64_t i = 0; i < count; ++i) {
    float most = x[i];
    for (int64_t k = 1; k < 8; ++k) most = x[i + k] > most ? x[i + k] : most;
    y[i] = most;
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_window_sums(int64_t count, const float* __restrict x,
                                                  float* __restrict y) {
  for (int64_t i = 0; i < count; ++i) {
    float sum = 0;
    for (int64_t k = 0; k < 8; ++k) sum += x[i + k];
    y[i] = sum;
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_filter(int64_t count, const float* __restrict x,
                                             const float* __restrict taps, float* __restrict y) {
  for (int64_t i = 0; i < count; ++i) {
    float sum = 0;
    for (int64_t k = 0; k < 15; ++k) sum += x[i + k] * taps[k];
    y[i] = sum;
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_labels(int64_t height, int64_t width,
                                             const int32_t* __restrict x,
                                             const uint8_t* __restrict mask,
                                             int32_t* __restrict y) {
  for (int64_t i = 0; i < height; ++i) {
    for (int64_t j = 0; j < width; ++j) {
      int32_t label = x[i * width + j];
      const auto look = [&](int64_t row, int64_t column) {
        const int64_t at = std::clamp<int64_t>(row, 0, height - 1) * width +
                           std::clamp<int64_t>(column, 0, width - 1);
        if (mask[at] != 0) label = std::min(label, x[at]);
      };
      if (mask[i * width + j] != 0) {
        look(i - 1, j);
        look(i + 1, j);
        look(i, j - 1);
        look(i, j + 1);
      }
      y[i * width + j] = label;
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_max_pool_planes(int64_t planes, int64_t height, int64_t width,
                                                      const float* __restrict x,
                                                      float* __restrict y) {
  const int64_t row = 2 * width + 1, plane = row * (2 * height + 1);
  for (int64_t p = 0; p < planes; ++p) {
    for (int64_t i = 0; i < height; ++i) {
      for (int64_t j = 0; j < width; ++j) {
        const float* corner = x + p * plane + 2 * i * row + 2 * j;
        float most = *corner;
        for (int64_t ky = 0; ky < 3; ++ky) {
          for (int64_t kx = 0; kx < 3; ++kx) most = std::max(most, corner[ky * row + kx]);
        }
        y[(p * height + i) * width + j] = most;
      }
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_avg_pool_planes(int64_t planes, int64_t height, int64_t width,
                                                      const float* __restrict x,
                                                      float* __restrict y) {
  const int64_t row = 2 * width;
  for (int64_t i = 0; i < planes * height; ++i) {
    for (int64_t j = 0; j < width; ++j) {
      const float* corner = x + 2 * i * row + 2 * j;
      y[i * width + j] = (corner[0] + corner[1] + corner[row] + corner[row + 1]) * 0.25F;
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_square_max(int64_t height, int64_t width, const float* x,
                                                 float* y) {
  square_max(height, width, x, y);
}

EMULSION_BEST_INSTRUCTIONS void plain_box(int64_t height, int64_t width, const float* __restrict x,
                                          float* __restrict y) {
  constexpr int64_t kSize = 15;
  for (int64_t i = 0; i < height; ++i) {
    for (int64_t j = 0; j < width; ++j) {
      float sum = 0;
      for (int64_t ky = 0; ky < kSize; ++ky) {
        for (int64_t kx = 0; kx < kSize; ++kx) sum += x[(i + ky) * (width + kSize - 1) + j + kx];
      }
      y[i * width + j] = sum;
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_dilate(int64_t height, int64_t width, const uint8_t* x,
                                             uint8_t* y) {
  square_max(height, width, x, y);
}

EMULSION_BEST_INSTRUCTIONS void plain_blur(int64_t height, int64_t width,
                                           const uint16_t* __restrict x, uint16_t* __restrict t,
                                           uint16_t* __restrict y) {
  for (int64_t i = 0; i < height + 2; ++i) {
    const uint16_t* from = x + i * (width + 2);
    for (int64_t j = 0; j < width; ++j) {
      t[i * width + j] =
          static_cast<uint16_t>(static_cast<uint16_t>(from[j] + from[j + 1] + from[j + 2]) / 3);
    }
  }
  for (int64_t i = 0; i < height; ++i) {
    const uint16_t* from = t + i * width;
    for (int64_t j = 0; j < width; ++j) {
      y[i * width + j] = static_cast<uint16_t>(
          static_cast<uint16_t>(from[j] + from[width + j] + from[2 * width + j]) / 3);
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_jacobi(int64_t height, int64_t width,
                                             const float* __restrict x, float* __restrict y) {
  std::copy_n(x, height * width, y);
  for (int64_t i = 1; i + 1 < height; ++i) {
    for (int64_t j = 1; j + 1 < width; ++j) {
      const float* at = x + i * width + j;
      y[i * width + j] = (at[-width] + at[width] + at[-1] + at[1]) * 0.25F;
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_clamped(int64_t height, int64_t width,
                                              const float* __restrict x, float* __restrict s,
                                              float* __restrict t, float* __restrict y) {
  weigh_rows(height, width, x, s);
  for (int64_t i = 0; i < height; ++i) {
    for (int64_t j = 0; j < width; ++j) {
      t[i * width + j] = weigh_columns(width, s + i * width, j);
    }
  }
  weigh_rows(height, width, t, y);
}

EMULSION_BEST_INSTRUCTIONS void plain_periodic(int64_t height, int64_t width,
                                               const float* __restrict x, float* __restrict y) {
  for (int64_t i = 0; i < height; ++i) {
    const float* above = x + (i == 0 ? height - 1 : i - 1) * width;
    const float* below = x + (i == height - 1 ? 0 : i + 1) * width;
    const float* row = x + i * width;
    float* result = y + i * width;
    const auto set = [&](int64_t j, int64_t left, int64_t right) {
      result[j] = row[j] * 0.5F + (above[j] + below[j] + row[left] + row[right]) * 0.125F;
    };
    set(0, width - 1, 1);
    for (int64_t j = 1; j < width - 1; ++j) set(j, j - 1, j + 1);
    set(width - 1, width - 2, 0);
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_opening(int64_t height, int64_t width,
                                              const uint8_t* __restrict x, uint8_t* __restrict s,
                                              uint8_t* __restrict t, uint8_t* __restrict y) {
  const auto less = [](uint8_t a, uint8_t b) { return std::min(a, b); };
  const auto more = [](uint8_t a, uint8_t b) { return std::max(a, b); };
  pick_along(height, width, x, s, less);
  pick_down(height, width, s, t, less);
  pick_along(height, width, t, s, more);
  pick_down(height, width, s, y, more);
}

EMULSION_BEST_INSTRUCTIONS void plain_corners(int64_t height, int64_t width,
                                              const float* __restrict x, float* __restrict down,
                                              float* __restrict along, float* __restrict y) {
  const int64_t wide = width + 4, row = width + 2;
  for (int64_t i = 0; i < height + 2; ++i) {
    for (int64_t j = 0; j < row; ++j) {
      const float* at = x + i * wide + j;
      const float* below = at + 2 * wide;
      down[i * row + j] = below[0] + 2 * below[1] + below[2] - at[0] - 2 * at[1] - at[2];
      along[i * row + j] = at[2] + 2 * at[wide + 2] + below[2] - at[0] - 2 * at[wide] - below[0];
    }
  }
  for (int64_t i = 0; i < height; ++i) {
    for (int64_t j = 0; j < width; ++j) {
      float squares_down = 0, squares_along = 0, products = 0;
      for (int64_t ky = 0; ky < 3; ++ky) {
        for (int64_t kx = 0; kx < 3; ++kx) {
          const float d = down[(i + ky) * row + j + kx], a = along[(i + ky) * row + j + kx];
          squares_down += d * d;
          squares_along += a * a;
          products += d * a;
        }
      }
      const float trace = squares_down + squares_along;
      y[i * width + j] = squares_down * squares_along - products * products - 0.04F * trace * trace;
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_unsharp(int64_t height, int64_t width,
                                              const float* __restrict x, float* __restrict s,
                                              float* __restrict y) {
  weigh_rows(height, width, x, s);
  for (int64_t i = 0; i < height; ++i) {
    for (int64_t j = 0; j < width; ++j) {
      const float blurred = weigh_columns(width, s + i * width, j) / 16;
      const float pixel = x[i * width + j];
      y[i * width + j] = pixel + (pixel - blurred) * 1.5F;
    }
  }
}

}  // namespace emulsion::benchmarks
