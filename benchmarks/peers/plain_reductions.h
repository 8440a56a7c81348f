#ifndef EMULSION_BENCHMARKS_PEERS_PLAIN_REDUCTIONS_H_
#define EMULSION_BENCHMARKS_PEERS_PLAIN_REDUCTIONS_H_

// Reductions, norms and products as a C++ programmer writes them first, for one thread and without
// a library. Arrays are dense and row-major; extents come first, results last.

#include <cstdint>

namespace emulsion::benchmarks {

// y[r] = sum over c of x[r, c].
void plain_sum_rows(int64_t rows, int64_t columns, const float* x, float* y);
void plain_sum_rows(int64_t rows, int64_t columns, const double* x, double* y);
void plain_sum_rows(int64_t rows, int64_t columns, const uint8_t* x, uint8_t* y);
// The mean of (x[i] - t[i])^2.
float plain_squared_error(int64_t values, const float* x, const float* t);
// y[c] = sum over r of x[r, c].
void plain_sum_columns(int64_t rows, int64_t columns, const float* x, float* y);
// y[c] = sum over n and p of x[n, c, p], of pictures of maps of pixels.
void plain_sum_maps(int64_t pictures, int64_t channels, int64_t pixels, const float* x, float* y);
// y[n, p] = the mean over c of x[n, c, p], of pictures of places.
void plain_channel_means(int64_t pictures, int64_t channels, int64_t places, const float* x,
                         float* y);
// y[r] = max over c of x[r, c].
void plain_max_rows(int64_t rows, int64_t columns, const float* x, float* y);
// y[p, c] = max over r of x[p, r, c].
void plain_max_middle(int64_t parts, int64_t rows, int64_t columns, const int16_t* x, int16_t* y);
// y[i] = how many of the borders x[i] is above.
void plain_buckets(int64_t values, int64_t borders, const float* x, const float* border,
                   int32_t* y);
// y[c] = the first r at which x[r, c] is least; `least` has room for the columns.
void plain_argmin_columns(int64_t rows, int64_t columns, const float* x, float* least, int32_t* y);
// y[r] = the first c at which x[r, c] is greatest.
void plain_argmax_rows(int64_t rows, int64_t columns, const float* x, int32_t* y);
// y[r, c] = exp(x[r, c] - max of row r) / sum of the row's.
void plain_softmax(int64_t rows, int64_t columns, const float* x, float* y);
// y[g, c, p] = (x[g, c, p] - mean of x[g]) / sqrt(its variance + 1e-5), for groups of channels.
void plain_group_norm(int64_t groups, int64_t values, const float* x, float* y);
// The same of x[n, p, g, c], pictures of places, each group of channels of a picture by itself;
// `mean` and `scale` have room for the groups of a picture.
void plain_group_norm_last(int64_t pictures, int64_t places, int64_t groups, int64_t channels,
                           const float* x, float* mean, float* scale, float* y);
// y[r, c] = (x[r, c] - mean of column c) / sqrt(its variance + 1e-5); `mean` and `scale` have room
// for the columns.
void plain_batch_norm(int64_t rows, int64_t columns, const float* x, float* mean, float* scale,
                      float* y);
// y[r, c] = (x[r, c] - mean of row r) / sqrt(its variance + 1e-5) * gamma[c] + beta[c].
void plain_layer_norm(int64_t rows, int64_t columns, const float* x, const float* gamma,
                      const float* beta, float* y);
// y[r, c] = x[r, c] / sqrt(mean of the squares of row r + 1e-5) * gamma[c].
void plain_rms_norm(int64_t rows, int64_t columns, const float* x, const float* gamma, float* y);

// y[m, n] = sum over k of x[m, k] * w[k, n].
void plain_matmul(int64_t m, int64_t n, int64_t k, const float* x, const float* w, float* y);
void plain_matmul(int64_t m, int64_t n, int64_t k, const double* x, const double* w, double* y);
void plain_matmul(int64_t m, int64_t n, int64_t k, const int32_t* x, const int32_t* w, int32_t* y);
// y[m] = sum over k of x[m, k] * w[k].
void plain_matrix_vector(int64_t m, int64_t k, const float* x, const float* w, float* y);
// The rows of x that are of a class, added up: y[c] = sum over m of x[m] where which[m] == c.
void plain_sums_by_class(int64_t classes, int64_t columns, int64_t rows, const float* x,
                         const int32_t* which, float* y);
// y[c] = how many of `which` are c; all of them are less than `places`.
void plain_histogram(int64_t places, int64_t count, const int32_t* which, int32_t* y);
// y[p] = sum over the three coordinates of x[p, d]^2.
void plain_lengths(int64_t points, const float* x, float* y);
// Four colours of each pixel made of its four, as plain_colours.
void plain_four_colours(int64_t pixels, const float* x, const float* w, float* y);
// Points moved by w, of which the last column is added: y[p, i] = sum over k of w[i, k] * x[p, k]
// + w[i, 3].
void plain_points(int64_t points, const float* x, const float* w, float* y);
// A colour of each pixel made of its three: y[p, j] = sum over k of x[p, k] * w[k, j].
void plain_colours(int64_t pixels, const float* x, const float* w, float* y);
// y[m, n] = sum over d of (x[m, d] - z[n, d])^2.
void plain_distances(int64_t m, int64_t n, int64_t d, const float* x, const float* z, float* y);
// y[p] = the first of the centres that is nearest to point p; both have three coordinates.
void plain_nearest(int64_t points, int64_t centres, const float* x, const float* z, int32_t* y);
// Products of matrices of 3 x 3.
void plain_small_products(int64_t count, const float* x, const float* w, float* y);
// Of squares of 8 x 8 the products c x c', as a cosine transform has them.
void plain_cosines(int64_t count, const float* x, const float* c, float* y);
// Of the rows of q, k and v, [steps, heads * depth], each head by itself:
// softmax(q * transposed(k) / sqrt(depth)) * v. `scores` has room for `steps`.
void plain_attention(int64_t steps, int64_t heads, int64_t depth, const float* q, const float* k,
                     const float* v, float* scores, float* y);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_PEERS_PLAIN_REDUCTIONS_H_
