#ifndef EMULSION_BACKENDS_HALIDE_LLVM_OPTIONS_H_
#define EMULSION_BACKENDS_HALIDE_LLVM_OPTIONS_H_

// How LLVM compiles kernels, where what Halide asks for is not what we want.
//
// LLVM's pass VectorCombine is off. Halide calls fma once for each lane of a vector, and LLVM makes
// one vector instruction of the calls later, in its pass SLPVectorizer. In between, VectorCombine
// sees that of a loaded vector only single elements are used, and loads them one by one. Where
// SLPVectorizer joins these loads again, the vector load stands behind all that does not need it.
// So sums that a schedule takes row by row are taken column by column, while a factor of every row
// waits in a register: 6 rows of 2 vectors take 12 + 6 + 1 registers, where AVX2 has 16. Row by
// row they take 12 + 1 + 2. (Rows `apart` of //benchmarks:matmul_vs_halide.)

namespace emulsion {

// Sets the options, once a process. To be called before Halide first compiles; without any effect
// behind that. Options that the environment has for LLVM (HL_LLVM_ARGS) hold as well.
void set_llvm_options();

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_LLVM_OPTIONS_H_
