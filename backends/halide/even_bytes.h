#ifndef EMULSION_BACKENDS_HALIDE_EVEN_BYTES_H_
#define EMULSION_BACKENDS_HALIDE_EVEN_BYTES_H_

// Vectors of 64 bytes or more that are doubled: products by an even number that is no multiple of
// 4, sums in which a term stands several times. LLVM doubles such a vector by adding it to itself,
// and where each element stands there several times, as for x[i / 2], it takes the sum into the
// shuffle and out of it again without an end.

#include "Halide.h"

namespace emulsion {

// The same values, where a term stands once in a sum, and the last doubling is a shift of pairs of
// bytes:
//
//   (a + b) + (a + c)  ->  a * 2 + b + c
//   a * 6              ->  bytes of ((pairs of a * 3) << 1) & 0xfefe
//
// To be run when nothing is simplified any more.
Halide::Internal::Stmt double_bytes_in_pairs(const Halide::Internal::Stmt& statement);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_EVEN_BYTES_H_
