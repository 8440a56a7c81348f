#ifndef EMULSION_BACKENDS_HALIDE_TRANSPOSE_PARTS_H_
#define EMULSION_BACKENDS_HALIDE_TRANSPOSE_PARTS_H_

// Stores of four interleaved vectors that are made of four such vectors in memory, lane by lane
// (the parts of quaternions). LLVM puts the lanes of each in order, which takes more and slower
// shuffles of registers of several times 128 bits than to transpose within each 128 bits. What is
// computed lane by lane needs no order: the lanes of all are in that of the transposition, which
// the last one undoes. The same of two (complex numbers), whose order costs nothing with AVX-512.

#include <vector>

#include "Halide.h"

namespace emulsion {

// Of as many vectors as 128 bits have elements (two or four), and in each part of 128 bits, the
// element at `at` of each.
Halide::Expr column(const std::vector<Halide::Expr>& rows, int at);

// `of_two`: of two interleaved vectors, too.
Halide::Internal::Stmt transpose_parts(const Halide::Internal::Stmt& statement, bool of_two);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_TRANSPOSE_PARTS_H_
