#ifndef EMULSION_PASSES_NEST_SPREAD_PREFETCHES_H_
#define EMULSION_PASSES_NEST_SPREAD_PREFETCHES_H_

// Prefetches, spread over the time that a step takes.
//
//   for y.row in R, prefetching x 1 ahead  ->  for y.row in R
//     for m.r in C                               for m.r in C
//       m max= x[row, r]                           m max= x[row, r]
//     for y.c in C                               for y.c in C, prefetching x 1 ahead of y.row
//       y = exp(x[row, c] - m)                     y = exp(x[row, c] - m)
//
// A core has only a few cache misses under way at a time. Prefetches of a whole row at the start of
// a step take them all, and loads wait (`softmax/8192x256` of `//benchmarks:onnx_runtime`). One
// stage prefetches its own share at each step of its innermost loop that reads half a line of the
// cache or more. It is one of those that read all that the outer step does of the buffer: the last
// one that computes a series of it, an exponential and the like, which takes the most time; else
// the last one. Where no stage has such a loop, a prefetch stays where it is.

#include "passes/nest/loop_nest.h"

namespace emulsion {

LoopNest spread_prefetches(const LoopNest& nest);

}  // namespace emulsion

#endif  // EMULSION_PASSES_NEST_SPREAD_PREFETCHES_H_
