#ifndef EMULSION_BACKENDS_HALIDE_SPLIT_VECTORS_H_
#define EMULSION_BACKENDS_HALIDE_SPLIT_VECTORS_H_

// Stores of vectors whose lanes are no power of two and that are made of shuffles, as of pixels of
// three colours side by side, as several of lanes that are one:
//
//   y[ramp(i, 1, 48)] = f  ->  let y.part0 = f's first 16 lanes; ..
//                              y[ramp(i, 1, 16)] = y.part0; ..
//
// No register is as long as the whole: LLVM would take it apart by itself, but not what it is made
// of outside of a loop. What is shuffled is then made of the parts of vectors that it needs, at
// once: interleaved slices are no longer slices. So are all stores to the same memory, and of what
// is loaded from there.

#include "Halide.h"

namespace emulsion {

Halide::Internal::Stmt split_vectors(const Halide::Internal::Stmt& statement);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_SPLIT_VECTORS_H_
