#ifndef EMULSION_BACKENDS_HALIDE_SIMPLIFY_STATEMENT_H_
#define EMULSION_BACKENDS_HALIDE_SIMPLIFY_STATEMENT_H_

// Halide's passes that simplify statements, without a conclusion of theirs that does not hold.
//
// Of a condition a < b of two names the simplifier (v21.0.0, Simplify::ScopedFact) looks up what is
// known of both in one record. Of a name of which nothing is known the record stays what it was: if
// b is at least 5, and nothing is known of a, then a is taken for at least 5, and b for at least 6.
//
//   for (i, 0, max(min(H, 3) - min(H, W), 0)):
//     for (j, 0, W)
//
// There are steps of i where W < min(H, 3), so W < 3 and W < H. H is then taken for less than 3,
// and W for less than 2.

#include "Halide.h"

namespace emulsion {

// hi::simplify of a statement whose names are unique.
Halide::Internal::Stmt simplify_statement(const Halide::Internal::Stmt& statement);

// hi::unroll_loops. Every unrolled loop has a number of steps.
Halide::Internal::Stmt unroll_steps(const Halide::Internal::Stmt& statement);

// Without the steps in which guards leave all out: hi::trim_no_ops. Every loop starts at 0.
Halide::Internal::Stmt trim_guarded(const Halide::Internal::Stmt& statement);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_SIMPLIFY_STATEMENT_H_
