#ifndef EMULSION_BACKENDS_HALIDE_CLAMPED_VECTORS_H_
#define EMULSION_BACKENDS_HALIDE_CLAMPED_VECTORS_H_

// Loads of vectors of neighbours whose index is clamped: lanes beyond an edge of a tensor read the
// element at the edge. They would be gathered.

#include <map>
#include <string>

#include "Halide.h"

namespace emulsion {

// The same values, by a masked load of the lanes inside, and one load of the element at each edge:
//
//   x[max(min(ramp(i, 1, 16), N - 1), 0)]
//     ->  select(ramp < 0, x[edge of lane 0], select(ramp > N - 1, x[edge of lane 15],
//                                                    x[ramp] where 0 <= ramp <= N - 1))
//
// The last step of sums in lanes uses the load only in the lanes in front of the end,
// select(ramp < N, x[..], 0): the element at the end is not loaded then. Neither are rows behind
// the last one, where a vector goes through several short ones:
//
//   select(ramp / 6 + r < R, x[min(ramp / 6 + r, R - 1) * 6 + ramp % 6], 0)
//     ->  select(ramp / 6 + r < R, x[r * 6 + ramp] where ramp / 6 + r < R, 0)
//
// Of every second to fourth element all that lies between is loaded too. A tail may mask the load
// already, up to some lane. A guard of a tensor that may be empty, select(W > 0, index, 0), becomes
// a mask: without elements nothing is read, and no lane's value is used (safe_indices of
// emit_uop.cc). `least_bits`: of the smallest elements that the vector unit can mask.
Halide::Internal::Stmt mask_clamped_vectors(const Halide::Internal::Stmt& statement,
                                            int least_bits);

// Of smaller elements, the same and what a tail masks: each vector that all lies in the memory
// which it is loaded from is loaded as a whole, in lanes too that nothing asks for. Others stay as
// they are, gathered or element by element under a mask: of a matrix some at its end.
//
//   x[min(ramp(i, 1, 16), N - 1)]
//     ->  i >= 0 && i <= elements - 16 ? select(ramp > N - 1, x[N - 1], x[ramp])
//                                      : x[min(ramp(i, 1, 16), N - 1)]
//
// `elements`: how many there are in the memory of each name that no allocation of the statement
// has. To be run behind the partition of loops, which would take either way for the likely one.
Halide::Internal::Stmt load_whole_vectors(const Halide::Internal::Stmt& statement, int least_bits,
                                          const std::map<std::string, Halide::Expr>& elements);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_CLAMPED_VECTORS_H_
