#ifndef EMULSION_BACKENDS_HALIDE_MASKED_SUMS_H_
#define EMULSION_BACKENDS_HALIDE_MASKED_SUMS_H_

// Sums in memory of what is at the end of a row, to which several rows are added one after another.
// Whole vectors of them LLVM keeps in a register until the last row is added. Under a mask it does
// not: each row would wait until the processor has stored what the one before it left.

#include "Halide.h"

namespace emulsion {

// What is stored and loaded at one place under one mask, by statements one after another of which
// the first always stores, is in memory of its own in between, which LLVM makes a register:
//
//   y[i] = y[i] + a if mask              kept = (y[i] if mask) + a
//   if c: y[i] = y[i] + b if mask   ->   if c: kept = kept + b
//                                        y[i] = kept if mask
//
// One statement alone, and one that loads other places of the same memory, stay as they are.
Halide::Internal::Stmt keep_masked_sums(const Halide::Internal::Stmt& statement);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_MASKED_SUMS_H_
