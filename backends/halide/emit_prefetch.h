#ifndef EMULSION_BACKENDS_HALIDE_EMIT_PREFETCH_H_
#define EMULSION_BACKENDS_HALIDE_EMIT_PREFETCH_H_

// A loop's prefetch: of the box that the step `distance` ahead reads, behind the last step of that
// one again. No condition stands around it, which each step of a loop inside would ask.

#include "Halide.h"
#include "backends/halide/emit_uop.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

// To stand at the start of the body of `loop`. `scope` knows its variable, and that of the loop of
// which the step is that is ahead; `end`: of that variable. Undefined where that step reads
// nothing.
Halide::Internal::Stmt emit_prefetch(const LoopNest& nest, const Loop& loop,
                                     const Prefetch& prefetch, const Halide::Expr& end,
                                     const EmitScope& scope);

// Prefetches into every cache (prefetcht0 of x86), by LLVM's own intrinsic, which Halide's code for
// its prefetch declares. That code asks for what is written and used only once (prefetchnta): x86
// keeps it out of the second cache, and what is read again comes from memory. After the passes of
// Halide: these would take the sum of a pointer and an offset out of the loop around the
// allocation.
Halide::Internal::Stmt near_prefetches(const Halide::Internal::Stmt& statement);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_EMIT_PREFETCH_H_
