#ifndef EMULSION_PASSES_NEST_NARROW_VALUES_H_
#define EMULSION_PASSES_NEST_NARROW_VALUES_H_

// What i32 computes of narrower numbers, for a narrower result, in 8 or 16 bits, where these give
// the same numbers:
//
//   u8((77 * i32(r) + 150 * i32(g) + 29 * i32(b) + 128) / 256)
//     ->  u8((77u16 * u16(r) + 150u16 * u16(g) + 29u16 * u16(b) + 128u16) / 256u16)
//
// Vectors have two or four times as many lanes then. Sums and products need no more than the last
// bits of what they are made of, whatever that is; what is divided, compared, or the least or most
// of some has to fit.

#include "dsl/expr.h"

namespace emulsion {

// The same expression where nothing is narrower. Indices of reads stay as they are.
Expr narrow_values(const Expr& body);

}  // namespace emulsion

#endif  // EMULSION_PASSES_NEST_NARROW_VALUES_H_
