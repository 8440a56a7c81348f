#ifndef EMULSION_BACKENDS_HALIDE_SUMMED_VECTORS_H_
#define EMULSION_BACKENDS_HALIDE_SUMMED_VECTORS_H_

// Vectors to which a loop adds products, in registers. Halide calls fma once for each lane, and
// LLVM makes vector instructions of the calls again (llvm_options.h). It finds the calls that
// belong together from where their results are used. Of a matrix with 33 columns the last vector of
// each row has one lane that is used behind the loop. LLVM joined that lane of several rows, inside
// the loop, and made parts of 8, 4, 1 and 2 lanes of what was left of their vectors
// (mlp_gelu/R90x774_of_33 of //benchmarks:fusion_sweep). Of a loop that may take no step at all it
// leaves the vectors whole: behind the loop they may be those from before it.

#include "Halide.h"

namespace emulsion {

// In the innermost loops, of a known number of steps, to what single elements are loaded from:
//
//   for (k, 0, 774):                           for (k, 0, select(holds, 774, 0)):
//     t[ramp(0, 1, 16)] = fma(.., t[..])   ->    t[ramp(0, 1, 16)] = fma(.., t[..])
//   y[32] = f(t[32])                           y[32] = f(t[32])
//
// `holds`: a condition that always holds, which LLVM cannot prove.
Halide::Internal::Stmt keep_summed_vectors(const Halide::Internal::Stmt& statement,
                                           const Halide::Expr& holds);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_SUMMED_VECTORS_H_
