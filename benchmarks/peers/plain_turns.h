#ifndef EMULSION_BENCHMARKS_PEERS_PLAIN_TURNS_H_
#define EMULSION_BENCHMARKS_PEERS_PLAIN_TURNS_H_

// Programs that read by turns or around a ring, as a C++ programmer writes them first, for one
// thread and without a library. Arrays are dense and row-major; extents come first, results last.

#include <cstdint>

namespace emulsion::benchmarks {

// A picture moved so far down and to the right, around its ends.
void plain_rotated_rows(int64_t height, int64_t width, int32_t down, int32_t right, const float* x,
                        float* y);
// A picture of three colours, each of whose pixels is `times` x `times` of the result.
void plain_enlarged(int64_t height, int64_t width, int64_t times, const uint8_t* x, uint8_t* y);
// Twice as large, each pixel a mean of the four that are nearest: along rows first.
void plain_bilinear(int64_t height, int64_t width, const uint8_t* x, uint8_t* y);
// All colours of a picture each of whose pixels has one of them (RGGB), for 2 `height` rows of 2
// `width`; the others are means of those beside it.
void plain_demosaic(int64_t height, int64_t width, const uint16_t* x, uint16_t* y);
// y[2 i + a, 2 j + b, c] = x[i, j, c, a, b], of three colours.
void plain_pixel_shuffle(int64_t height, int64_t width, const float* x, float* y);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_PEERS_PLAIN_TURNS_H_
