#ifndef EMULSION_BACKENDS_HALIDE_ODD_VECTORS_H_
#define EMULSION_BACKENDS_HALIDE_ODD_VECTORS_H_

// Stores of vectors of 8 and 16 bits whose lanes are no power of two, as of rows of 25 elements,
// where the vector unit has masks for them. LLVM takes such a vector apart: 25 elements become one
// of 16, one of 8 and one alone, each loaded, computed and stored by itself.

#include <set>
#include <string>

#include "Halide.h"

namespace emulsion {

// To memory of these names, such as outputs, as one vector of the next power of two:
//
//   y[ramp(i, 1, 25)] = x[ramp(j, 1, 25)] + 1
//     ->  y[ramp(i, 1, 32)] = (x[ramp(j, 1, 32)] if ramp(0) < 25) + 1   if ramp(0) < 25
//
// Longer vectors than `register_bits` stay, and so do sums in memory (y is loaded there) and what
// is made of anything but neighbours in memory and of what is the same in all lanes. To be run
// behind all simplification, which would take the masks away again.
Halide::Internal::Stmt mask_odd_vectors(const Halide::Internal::Stmt& statement,
                                        const std::set<std::string>& names, int register_bits);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_ODD_VECTORS_H_
