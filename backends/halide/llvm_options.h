#ifndef EMULSION_BACKENDS_HALIDE_LLVM_OPTIONS_H_
#define EMULSION_BACKENDS_HALIDE_LLVM_OPTIONS_H_

// How LLVM compiles kernels, where Halide's own choice is not ours.
//
// Without the pass VectorCombine: it makes loads of single elements of a vector that is loaded,
// where only elements of it are used. The vectors of fma are, since Halide calls fma once for each
// lane, and LLVM puts the lanes together later. It then loads each vector behind everything that
// does not need it. So sums that the schedule has row by row came column by column, each row's
// factor in a register until then, and the sums of 6 x 2 vectors no longer fit into the 16
// registers of AVX2. (matmul_vs_halide of //benchmarks, rows `apart`.)

namespace emulsion {

// Sets the options, once a process. To be called before Halide first compiles; without any effect
// behind that. Options that the environment has for LLVM (HL_LLVM_ARGS) hold as well.
void set_llvm_options();

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_LLVM_OPTIONS_H_
