#ifndef EMULSION_BACKENDS_HALIDE_TRANSPOSE_ROWS_H_
#define EMULSION_BACKENDS_HALIDE_TRANSPOSE_ROWS_H_

// Vectors across rows of some elements: for some columns j, a lane of each of several rows.
//
//   x[ramp(b + j, columns, lanes)]  ->  of every few columns, as many as 128 bits hold: these of
//   each
//                                       row, loaded at once, and transposed within 128 bits
//   y[ramp(b, 1, columns * lanes)] = interleave_vectors(..)  ->  the same, stored
//   y[ramp(b, columns, lanes)] = ..; y[ramp(b + 1, columns, lanes)] = ..; ..  ->  the same
//
// Halide makes shuffles of one vector of all rows, of which LLVM takes single elements where there
// are more than a few columns.

#include "Halide.h"

namespace emulsion {

Halide::Internal::Stmt transpose_rows(const Halide::Internal::Stmt& statement);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_TRANSPOSE_ROWS_H_
