#ifndef EMULSION_BENCHMARKS_PEERS_PLAIN_POINTWISE_H_
#define EMULSION_BENCHMARKS_PEERS_PLAIN_POINTWISE_H_

// Programs without sums or neighbours as a C++ programmer writes them first, for one thread and
// without a library. Arrays are dense and row-major; extents come first, results last.

#include <cstdint>

namespace emulsion::benchmarks {

void plain_relu(int64_t count, const float* x, float* y);
void plain_gelu(int64_t count, const float* x, float* y);  // the form with tanh
// x * sigmoid(x) * z.
void plain_silu(int64_t count, const float* x, const float* z, float* y);
// max(a + b + c - d, 0).
void plain_sums(int64_t count, const float* a, const float* b, const float* c, const float* d,
                float* y);
// x / 255 - 0.5.
void plain_pixels(int64_t count, const uint8_t* x, float* y);
// Bytes, 255 less each of them.
void plain_inverse(int64_t count, const uint8_t* x, uint8_t* y);
// Of pixels of four bytes, two mixed by the last one of the first.
void plain_blend(int64_t pixels, const uint8_t* x, const uint8_t* z, uint8_t* y);
void plain_blend(int64_t pixels, const float* x, const float* z, float* y);
// Of pixels of three colours, each by its scale and shift.
void plain_scale_colours(int64_t pixels, const uint8_t* x, const float* scale, const float* shift,
                         float* y);
void plain_scale_colours(int64_t pixels, const float* x, const float* scale, const float* shift,
                         float* y);
// max(3 * a - b, 7).
void plain_integers(int64_t count, const int32_t* a, const int32_t* b, int32_t* y);
// a where it is less than b, else b * b.
void plain_choice(int64_t count, const float* a, const float* b, float* y);
// Of each channel, the last axis.
void plain_batch_norm(int64_t rows, int64_t channels, const float* x, const float* mean,
                      const float* variance, const float* gamma, const float* beta, float* y);

// y[c, r] = x[r, c].
void plain_transpose(int64_t rows, int64_t columns, const float* x, float* y);
// y[h, s, d] = x[s, h, d].
void plain_heads(int64_t steps, int64_t heads, int64_t depth, const float* x, float* y);
// y[p, c] = x[c, p]: planes of colours to pixels.
void plain_interleave(int64_t colours, int64_t pixels, const uint8_t* x, uint8_t* y);
// Rows of a, each followed by the row of b.
void plain_concat(int64_t rows, int64_t columns_a, int64_t columns_b, const float* a,
                  const float* b, float* y);
void plain_concat(int64_t rows, int64_t columns_a, int64_t columns_b, const uint8_t* a,
                  const uint8_t* b, uint8_t* y);
// Of each row the means of every two neighbours, and then half of their differences.
void plain_wavelet(int64_t rows, int64_t half, const float* x, float* y);
// Products of complex numbers.
void plain_complex(int64_t count, const float* x, const float* z, float* y);
// Products of quaternions.
void plain_quaternions(int64_t count, const float* x, const float* z, float* y);
// Products of complex numbers, the real parts of which lie apart from the imaginary ones.
void plain_complex_planes(int64_t count, const float* a, const float* b, const float* c,
                          const float* d, float* real, float* imaginary);
// Inverses of matrices of 2 x 2 and of 3 x 3.
void plain_inverses_of_2(int64_t count, const float* a, float* y);
void plain_inverses_of_3(int64_t count, const float* a, float* y);
// Of matrices of 4 x 4 that are symmetric and positive their lower factors.
void plain_cholesky(int64_t count, const double* a, double* y);
// Pixels of three colours as a plane of brightness and two of colour.
void plain_luma_chroma(int64_t count, const float* x, float* y, float* u, float* v);
// The same of bytes, in whole numbers as video has them, as planes and side by side.
void plain_yuv_planes(int64_t count, const uint8_t* x, uint8_t* y, uint8_t* u, uint8_t* v);
void plain_yuv_pixels(int64_t count, const uint8_t* x, uint8_t* y);
// Of bytes one of grey.
void plain_grey(int64_t count, const uint8_t* x, uint8_t* y);
// Every second column of every row, from the last row to the first.
void plain_slice(int64_t rows, int64_t columns, const float* x, float* y);
// `border` zeros on every side.
void plain_pad(int64_t rows, int64_t columns, int64_t border, const float* x, float* y);
void plain_pad(int64_t rows, int64_t columns, int64_t border, const uint8_t* x, uint8_t* y);
// The row of `table` that each index names, clamped to those that there are.
void plain_gather(int64_t count, int64_t rows, int64_t columns, const int32_t* index,
                  const float* table, float* y);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_PEERS_PLAIN_POINTWISE_H_
