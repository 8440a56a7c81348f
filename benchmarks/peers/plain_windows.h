#ifndef EMULSION_BENCHMARKS_PEERS_PLAIN_WINDOWS_H_
#define EMULSION_BENCHMARKS_PEERS_PLAIN_WINDOWS_H_

// Convolutions, poolings and stencils as a C++ programmer writes them first, for one thread and
// without a library. Arrays are dense and row-major; extents come first, results last.

#include <cstdint>

namespace emulsion::benchmarks {

// A picture of `height` x `width` results: x has as many rows and columns more as the window takes.
struct PlainWindow {
  int64_t height, width;
  int64_t in, out;     // channels
  int64_t size;        // rows and columns of the window
  int64_t groups = 1;  // of channels
};

// w[ky, kx, in / groups, out].
void plain_conv(const PlainWindow& window, const float* x, const float* w, float* y);
// 3 x 3, each channel by itself: w[ky, kx, channel].
void plain_depthwise(int64_t height, int64_t width, int64_t channels, const float* x,
                     const float* w, float* y);
// 2 x 2, side by side.
void plain_max_pool(int64_t height, int64_t width, int64_t channels, const float* x, float* y);
void plain_avg_pool(int64_t height, int64_t width, int64_t channels, const float* x, float* y);

// 3 x 3 at every second place, each channel by itself: w[ky, kx, channel].
void plain_depthwise_strided(int64_t height, int64_t width, int64_t channels, const float* x,
                             const float* w, float* y);
// One channel, 3 x 3 pixels that are two apart: x has four rows and columns more.
void plain_dilated(int64_t height, int64_t width, const float* x, const float* w, float* y);
// y[i] = the most, or the sum, of the eight from x[i] on.
void plain_window_max(int64_t count, const float* x, float* y);
void plain_window_sums(int64_t count, const float* x, float* y);
// y[i] = the sum of fifteen from x[i] on, each times its tap.
void plain_filter(int64_t count, const float* x, const float* taps, float* y);
// The least of a label and of the four beside it that the mask has, where the mask has it; else it
// stays. Neighbours are held at the ends.
void plain_labels(int64_t height, int64_t width, const int32_t* x, const uint8_t* mask, int32_t* y);
// The most of 3 x 3 pixels: x has two rows and columns more.
void plain_square_max(int64_t height, int64_t width, const float* x, float* y);
// The sums of 15 x 15 pixels: x has 14 rows and columns more.
void plain_box(int64_t height, int64_t width, const float* x, float* y);
// The most of 3 x 3 bytes.
void plain_dilate(int64_t height, int64_t width, const uint8_t* x, uint8_t* y);

// Of each plane the most of nine pixels, at every second place; x has 2 * height + 1 rows and
// 2 * width + 1 columns.
void plain_max_pool_planes(int64_t planes, int64_t height, int64_t width, const float* x, float* y);

// Of each plane the mean of four pixels, at every second place; x has 2 * height rows and
// 2 * width columns.
void plain_avg_pool_planes(int64_t planes, int64_t height, int64_t width, const float* x, float* y);

// The mean of three neighbours along the columns (`t`), and of three of those down the rows; x has
// two rows and two columns more.
void plain_blur(int64_t height, int64_t width, const uint16_t* x, uint16_t* t, uint16_t* y);
// One step of Jacobi's method: the mean of the four neighbours, inside a border that stays.
void plain_jacobi(int64_t height, int64_t width, const float* x, float* y);
// Three times neighbours, weighed 1, 2, 1: down the rows, along the columns, and down the rows.
// Where there are none, those at the border are taken.
void plain_clamped(int64_t height, int64_t width, const float* x, float* s, float* t, float* y);
// Half of each element and an eighth of its four neighbours, those behind an end from the other
// one.
void plain_periodic(int64_t height, int64_t width, const float* x, float* y);
// The least of five neighbours along the rows (`s`), then down them (`t`), and the most of five of
// these. Where there are none, those at the border are taken.
void plain_opening(int64_t height, int64_t width, const uint8_t* x, uint8_t* s, uint8_t* t,
                   uint8_t* y);
// How much a pixel is a corner, as Harris says: of gradients down the rows (`down`) and along the
// columns (`along`), of height + 2 rows and width + 2 columns, the products in squares of 3 x 3.
void plain_corners(int64_t height, int64_t width, const float* x, float* down, float* along,
                   float* y);
// x + (x - blurred x) * 1.5, blurred as in plain_clamped, down the rows (`s`) and along the
// columns.
void plain_unsharp(int64_t height, int64_t width, const float* x, float* s, float* y);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_PEERS_PLAIN_WINDOWS_H_
