#ifndef EMULSION_BACKENDS_HALIDE_EMIT_PREFETCH_H_
#define EMULSION_BACKENDS_HALIDE_EMIT_PREFETCH_H_

// A loop's prefetch as Halide's: of the box that the step `distance` ahead reads.

#include "Halide.h"
#include "backends/halide/emit_uop.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

// To stand at the start of the body of `loop`, whose variable `scope` knows. Undefined where that
// step reads nothing. `end`: of the loop's variable.
Halide::Internal::Stmt emit_prefetch(const LoopNest& nest, const Loop& loop,
                                     const Prefetch& prefetch, const Halide::Expr& end,
                                     const EmitScope& scope);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_EMIT_PREFETCH_H_
