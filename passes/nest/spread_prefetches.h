#ifndef EMULSION_PASSES_NEST_SPREAD_PREFETCHES_H_
#define EMULSION_PASSES_NEST_SPREAD_PREFETCHES_H_

// Prefetches, spread over the time that a step takes.
//
//   for y.row in R, prefetching x 1 ahead  ->  for y.row in R
//     for m.r in C: m max= x[row, r]             for m.r in C: m max= x[row, r]
//     for y.c in C: y = exp(x[row, c] - m)       for y.c in C, prefetching x 1 ahead of y.row: y =
//     ..
//
// All at the start of a step they would fill the places in which a core keeps what it waits for,
// and the loads behind them wait. One stage asks for its own share at each step of its innermost
// loop that reads a line of the cache or more: of those that read all of it the last one that
// computes a series of it, an exponential and the like, which takes the most time; else the last
// one (`softmax/8192x256` of `//benchmarks:onnx_runtime`). Where no loop inside does, a prefetch
// stays where it is.

#include "passes/nest/loop_nest.h"

namespace emulsion {

LoopNest spread_prefetches(const LoopNest& nest);

}  // namespace emulsion

#endif  // EMULSION_PASSES_NEST_SPREAD_PREFETCHES_H_
