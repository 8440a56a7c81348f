#include "benchmarks/peers/plain_turns.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "benchmarks/peers/best_instructions.h"

namespace emulsion::benchmarks {
namespace {

constexpr int64_t kColours = 3;

}  // namespace

EMULSION_BEST_INSTRUCTIONS void plain_rotated_rows(int64_t height, int64_t width, int32_t down,
                                                   int32_t right, const float* __restrict x,
                                                   float* __restrict y) {
  const int64_t shift = (right % width + width) % width;
  for (int64_t i = 0; i < height; ++i) {
    const float* from = x + ((i + down) % height + height) % height * width;
    float* to = y + i * width;
    for (int64_t j = 0; j < width - shift; ++j) to[j] = from[j + shift];
    for (int64_t j = width - shift; j < width; ++j) to[j] = from[j + shift - width];
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_enlarged(int64_t height, int64_t width, int64_t times,
                                               const uint8_t* __restrict x, uint8_t* __restrict y) {
  const int64_t row = times * width * kColours;
  for (int64_t i = 0; i < height; ++i) {
    uint8_t* first = y + i * times * row;
    for (int64_t j = 0; j < width; ++j) {
      const uint8_t* pixel = x + (i * width + j) * kColours;
      for (int64_t k = 0; k < times; ++k) {
        for (int64_t c = 0; c < kColours; ++c) first[(j * times + k) * kColours + c] = pixel[c];
      }
    }
    for (int64_t k = 1; k < times; ++k) {
      std::memcpy(first + k * row, first, static_cast<size_t>(row));
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_bilinear(int64_t height, int64_t width,
                                               const uint8_t* __restrict x, uint8_t* __restrict y) {
  const int64_t row = 2 * width * kColours;
  std::vector<int> wide(static_cast<size_t>(height * row));
  for (int64_t i = 0; i < height; ++i) {
    const uint8_t* from = x + i * width * kColours;
    int* to = wide.data() + i * row;
    for (int64_t j = 0; j < width; ++j) {
      const int64_t before = std::max<int64_t>(j - 1, 0), behind = std::min(j + 1, width - 1);
      for (int64_t c = 0; c < kColours; ++c) {
        const int here = from[j * kColours + c];
        to[2 * j * kColours + c] = from[before * kColours + c] + 3 * here;
        to[(2 * j + 1) * kColours + c] = 3 * here + from[behind * kColours + c];
      }
    }
  }
  for (int64_t i = 0; i < 2 * height; ++i) {
    const int64_t other = i % 2 == 0 ? i / 2 - 1 : i / 2 + 1;
    const int* near = wide.data() + i / 2 * row;
    const int* far = wide.data() + std::clamp<int64_t>(other, 0, height - 1) * row;
    for (int64_t j = 0; j < row; ++j) {
      y[i * row + j] = static_cast<uint8_t>((3 * near[j] + far[j] + 8) / 16);
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_demosaic(int64_t height, int64_t width,
                                               const uint16_t* __restrict x,
                                               uint16_t* __restrict y) {
  const int64_t rows = 2 * height, columns = 2 * width;
  for (int64_t i = 0; i < rows; ++i) {
    const uint16_t* above = x + std::max<int64_t>(i - 1, 0) * columns;
    const uint16_t* here = x + i * columns;
    const uint16_t* below = x + std::min(i + 1, rows - 1) * columns;
    for (int64_t j = 0; j < columns; ++j) {
      const int64_t left = std::max<int64_t>(j - 1, 0), right = std::min(j + 1, columns - 1);
      const int own = here[j], beside = (here[left] + here[right]) / 2;
      const int over = (above[j] + below[j]) / 2;
      const int cross = (above[j] + below[j] + here[left] + here[right]) / 4;
      const int corners = (above[left] + above[right] + below[left] + below[right]) / 4;
      const bool even_row = i % 2 == 0, even = j % 2 == 0;
      const int first = even_row ? (even ? own : beside) : (even ? over : corners);
      const int last = even_row ? (even ? corners : over) : (even ? beside : own);
      uint16_t* to = y + (i * columns + j) * kColours;
      to[0] = static_cast<uint16_t>(first);
      to[1] = static_cast<uint16_t>(even_row == even ? cross : own);
      to[2] = static_cast<uint16_t>(last);
    }
  }
}

EMULSION_BEST_INSTRUCTIONS void plain_pixel_shuffle(int64_t height, int64_t width,
                                                    const float* __restrict x,
                                                    float* __restrict y) {
  for (int64_t i = 0; i < height; ++i) {
    for (int64_t a = 0; a < 2; ++a) {
      for (int64_t j = 0; j < width; ++j) {
        const float* from = x + (i * width + j) * 4 * kColours + 2 * a;
        for (int64_t b = 0; b < 2; ++b) {
          float* to = y + (((2 * i + a) * width + j) * 2 + b) * kColours;
          for (int64_t c = 0; c < kColours; ++c) to[c] = from[4 * c + b];
        }
      }
    }
  }
}

}  // namespace emulsion::benchmarks
