#include "benchmarks/peers/plain_short_axes.h"

#include <algorithm>

#include "benchmarks/peers/best_instructions.h"

namespace emulsion::benchmarks {

EMULSION_BEST_INSTRUCTIONS void plain_channels_first(int64_t count, int64_t pixels,
                                                     int64_t channels, const float* __restrict x,
                                                     float* __restrict y) {
  for (int64_t n = 0; n < count; ++n) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t p = 0; p < pixels; ++p) {
        y[(n * channels + c) * pixels + p] = x[(n * pixels + p) * channels + c];
      }
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_space_to_depth(int64_t channels, int64_t side,
                                                     const float* __restrict x,
                                                     float* __restrict y) {
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t a = 0; a < 2; ++a) {
      for (int64_t b = 0; b < 2; ++b) {
        for (int64_t i = 0; i < side; ++i) {
          const float* row = x + (c * 2 * side + 2 * i + a) * 2 * side;
          float* to = y + (((c * 2 + a) * 2 + b) * side + i) * side;
          for (int64_t j = 0; j < side; ++j) to[j] = row[2 * j + b];
        }
      }
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_sums_of_planes(int64_t steps, int64_t colours, int64_t pixels,
                                                     const float* __restrict x,
                                                     const float* __restrict w,
                                                     float* __restrict y) {
  for (int64_t p = 0; p < pixels; ++p) {
    for (int64_t c = 0; c < colours; ++c) {
      float most = x[c * pixels + p] * w[c];
      for (int64_t s = 1; s < steps; ++s) {
        most = std::max(most, x[(s * colours + c) * pixels + p] * w[s * colours + c]);
      }
      y[p * colours + c] = most;
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_short_windows(int64_t count, int64_t columns,
                                                    const float* __restrict x,
                                                    float* __restrict y) {
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t c = 0; c < columns; ++c) {
      float most = x[i * columns + c];
      for (int64_t r = 1; r < 3; ++r) most = std::max(most, x[(i + r) * columns + c]);
      y[i * columns + c] = most;
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_sums_of_rows_of_each(int64_t parts, int64_t rows,
                                                           int64_t length,
                                                           const float* __restrict x,
                                                           float* __restrict y) {
  for (int64_t i = 0; i < rows; ++i) y[i] = 0;
  for (int64_t p = 0; p < parts; ++p) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < length; ++j) y[i] += x[(p * rows + i) * length + j];
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_columns_of_groups(int64_t groups, int64_t rows,
                                                        int64_t columns, const float* __restrict x,
                                                        const float* __restrict w,
                                                        float* __restrict y) {
  for (int64_t c = 0; c < columns; ++c) y[c] = 0;
  for (int64_t g = 0; g < groups; ++g) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) y[c] += x[(g * rows + r) * columns + c] * w[r];
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_heads_in_front(int64_t pictures, int64_t rows, int64_t heads,
                                                     int64_t length, const int16_t* __restrict x,
                                                     const int16_t* __restrict z,
                                                     int16_t* __restrict y) {
  for (int64_t p = 0; p < pictures; ++p) {
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t from = ((p * rows + r) * heads + h) * length,
                      to = ((p * heads + h) * rows + r) * length;
        for (int64_t i = 0; i < length; ++i) {
          y[to + i] = static_cast<int16_t>(x[from + i] + z[to + i]);
        }
      }
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_turned(int64_t count, int64_t width, int64_t rows,
                                             const int16_t* __restrict x, int16_t* __restrict y) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < width; ++j) {
      for (int64_t k = 0; k < count; ++k) {
        y[(i * width + j) * count + k] = x[(k * width + j) * rows + i];
      }
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_flipped_rows(int64_t rows, int64_t length,
                                                   const float* __restrict x, float* __restrict y) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < length; ++j) y[i * length + j] = x[(rows - 1 - i) * length + j];
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_short_products(int64_t rows, int64_t length,
                                                     const uint8_t* __restrict x,
                                                     const uint8_t* __restrict w,
                                                     uint8_t* __restrict y) {
  for (int64_t r = 0; r < rows; ++r) {
    uint8_t sum = 0;
    for (int64_t k = 0; k < length; ++k) {
      sum = static_cast<uint8_t>(sum + x[r * length + k] * w[k]);
    }
    y[r] = sum;
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_sum_transposed(int64_t rows, int64_t columns,
                                                     const float* __restrict x,
                                                     const float* __restrict z,
                                                     float* __restrict y) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      y[i * columns + j] = x[j * rows + i] + z[j * rows + i];
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_picture(int64_t height, int64_t width,
                                              const float* __restrict x, const float* __restrict w,
                                              float* __restrict y) {
  const int64_t row = width + 2;
  for (int64_t i = 0; i < height; ++i) {
    for (int64_t j = 0; j < width; ++j) {
      float sum = 0;
      for (int64_t a = 0; a < 3; ++a) {
        for (int64_t b = 0; b < 3; ++b) sum += x[(i + a) * row + j + b] * w[a * 3 + b];
      }
      y[i * width + j] = sum;
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_block_sums(int64_t count, int64_t size,
                                                 const float* __restrict x, float* __restrict y) {
  for (int64_t i = 0; i < count; ++i) {
    float sum = 0;
    for (int64_t k = 0; k < size; ++k) sum += x[i * size + k];
    y[i] = sum;
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_row_windows(int64_t count, int64_t columns,
                                                  const float* __restrict x, float* __restrict y) {
  for (int64_t n = 0; n < count; ++n) {
    for (int64_t j = 0; j < columns; ++j) y[n * columns + j] = 0;
    for (int64_t a = 0; a < 7; ++a) {
      for (int64_t j = 0; j < columns; ++j) y[n * columns + j] += x[(2 * n + a) * columns + j];
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_point_groups(int64_t count, const float* __restrict x,
                                                   const float* __restrict w,
                                                   const float* __restrict c, float* __restrict y) {
  for (int64_t n = 0; n < count; ++n) {
    for (int64_t i = 0; i < 4; ++i) {
      for (int64_t j = 0; j < 3; ++j) {
        y[(n * 4 + i) * 3 + j] = x[(n * 4 + i) * 3 + j] * w[i * 3 + j] + c[i];
      }
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_weighted_rows(int64_t rows, int64_t columns,
                                                    const double* __restrict x,
                                                    const double* __restrict factors,
                                                    double* __restrict y) {
  std::fill(y, y + columns, 0.0);
  for (int64_t n = 0; n < rows; ++n) {
    for (int64_t j = 0; j < columns; ++j) y[j] += x[n * columns + j] * factors[n];
  }
}

}  // namespace emulsion::benchmarks
