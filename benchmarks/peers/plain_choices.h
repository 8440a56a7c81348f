#ifndef EMULSION_BENCHMARKS_PEERS_PLAIN_CHOICES_H_
#define EMULSION_BENCHMARKS_PEERS_PLAIN_CHOICES_H_

// Programs in which the place of a result, or data, choose what it is computed of, as a C++
// programmer writes them first, for one thread and without a library. Arrays are dense and
// row-major; extents come first, results last.

#include <cstdint>

namespace emulsion::benchmarks {

// Three planes, each another sum of three.
void plain_mixed_planes(int64_t count, const float* x, float* y);
// A step of `channels` filters, two sections of each one after another: the factors q of the
// sections, five of each, their states z, two of each; the outputs and the next states.
void plain_filters(int64_t channels, const float* x, const float* q, const float* z, float* y,
                   float* next);
// Pairs of neighbours, or of an element and one half a row behind it, turned by angles whose
// cosines and sines are given for each pair of a row of `heads` heads.
void plain_rotated_pairs(int64_t rows, int64_t heads, int64_t pairs, const float* x, const float* c,
                         const float* s, float* y);
void plain_rotated_halves(int64_t rows, int64_t heads, int64_t pairs, const float* x,
                          const float* c, const float* s, float* y);
// Of those rows that are small enough: what there is of each class.
void plain_chosen_sums(int64_t classes, int64_t rows, const int32_t* which, const double* x,
                       const uint8_t* size, double* y);
// How often two labels, each of `classes`, are given together.
void plain_confusion(int64_t classes, int64_t count, const uint8_t* a, const uint8_t* b,
                     int32_t* y);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_PEERS_PLAIN_CHOICES_H_
