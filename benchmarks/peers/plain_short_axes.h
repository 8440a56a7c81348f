#ifndef EMULSION_BENCHMARKS_PEERS_PLAIN_SHORT_AXES_H_
#define EMULSION_BENCHMARKS_PEERS_PLAIN_SHORT_AXES_H_

// Programs over short axes, or over axes in another order than memory has, as a C++ programmer
// writes them first, for one thread and without a library. Arrays are dense and row-major; extents
// come first, results last.

#include <cstdint>

namespace emulsion::benchmarks {

// Pictures [count, pixels, channels] with the channels first: y is [count, channels, pixels].
void plain_channels_first(int64_t count, int64_t pixels, int64_t channels, const float* x,
                          float* y);
// Of pictures [channels, 2 * side, 2 * side] the pixels of each corner of blocks of 2 x 2 pixels as
// a picture: y is [channels, 2, 2, side, side].
void plain_space_to_depth(int64_t channels, int64_t side, const float* x, float* y);
// Of planes x, [steps, colours, pixels], each times its w, [steps, colours], the largest over the
// steps: y is [pixels, colours].
void plain_sums_of_planes(int64_t steps, int64_t colours, int64_t pixels, const float* x,
                          const float* w, float* y);
// Each row of `parts` matrices, x is [parts, rows, length], added up over all of them: y is [rows].
void plain_sums_of_rows_of_each(int64_t parts, int64_t rows, int64_t length, const float* x,
                                float* y);
// Rows of so many columns in groups, x is [groups, rows, columns], each times its w, [rows], added
// up: y is [columns].
void plain_columns_of_groups(int64_t groups, int64_t rows, int64_t columns, const float* x,
                             const float* w, float* y);
// The same heads of all pictures together, x is [pictures, rows, heads, length], plus z:
// y and z are [pictures, heads, rows, length].
void plain_heads_in_front(int64_t pictures, int64_t rows, int64_t heads, int64_t length,
                          const int16_t* x, const int16_t* z, int16_t* y);
// The axes of x, [count, width, rows], the other way round: y is [rows, width, count].
void plain_turned(int64_t count, int64_t width, int64_t rows, const int16_t* x, int16_t* y);
// The rows of x, [rows, length], the last one first.
void plain_flipped_rows(int64_t rows, int64_t length, const float* x, float* y);
// The rows of x, [rows, length], times w, each added up; all modulo 256.
void plain_short_products(int64_t rows, int64_t length, const uint8_t* x, const uint8_t* w,
                          uint8_t* y);
// The sum of two matrices x and z, [columns, rows], transposed.
void plain_sum_transposed(int64_t rows, int64_t columns, const float* x, const float* z, float* y);
// Of a picture of [height + 2, width + 2] the sums of 3 x 3 pixels times w.
void plain_picture(int64_t height, int64_t width, const float* x, const float* w, float* y);
// The sums of blocks of x, [count, size].
void plain_block_sums(int64_t count, int64_t size, const float* x, float* y);
// The sums of seven rows of x, [2 * count + 7, columns], from every second row on.
void plain_row_windows(int64_t count, int64_t columns, const float* x, float* y);
// Of x, [count + 2, columns], the largest of three rows, from each row on.
void plain_short_windows(int64_t count, int64_t columns, const float* x, float* y);
// Points of three values, in groups of four: each value times w, [4, 3], and c, [4], added.
void plain_point_groups(int64_t count, const float* x, const float* w, const float* c, float* y);
// The sums of all rows of x, [rows, columns], of doubles, each times its factor.
void plain_weighted_rows(int64_t rows, int64_t columns, const double* x, const double* factors,
                         double* y);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_PEERS_PLAIN_SHORT_AXES_H_
