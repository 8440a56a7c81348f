#ifndef EMULSION_BACKENDS_ENTRY_CHECK_CPU_LIMITS_H_
#define EMULSION_BACKENDS_ENTRY_CHECK_CPU_LIMITS_H_

// What of a nest a CPU cannot run, or its compiler not finish, said before Halide sees it. A factor
// that is legal by itself can ask for too much code; the scratchpad and the uOps of whole tiles are
// a tile machine's. The limits are those of what compiles the nest, so they stand here: a tile
// machine or the interpreter has none.

#include <cstdint>

#include "dsl/target.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

// What Halide and LLVM compile in about half a minute for a target. Both take more than
// proportionally longer for strided loads of more lanes, and for more copies of vectors than of
// scalars.
struct CodeLimits {
  int64_t lanes = 256;    // of a vectorized loop
  int64_t copies = 1024;  // of a uOp, written out by the unrolled loops around it
  // A vector counts as `copies_of_more` copies for each `lanes_of_a_vector` lanes; so does a uOp
  // with a loop between it and an unrolled one. Half of the lanes where registers have 16 bytes.
  int64_t copies_of_more = 4;
  int64_t lanes_of_a_vector = 64;
  // As so many copies counts one that a guard leaves out or masks by itself: it is a branch or a
  // masked store of its own, which takes LLVM longer.
  int64_t copies_of_guarded = 2;
};
CodeLimits code_limits(const Target& target);

// ScheduleError: a stage stored in the scratchpad, loops of a tile, or more than the limits of the
// target, with the stage, the loop and what is legal.
void check_cpu_limits(const LoopNest& nest, const CodeLimits& limits);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_ENTRY_CHECK_CPU_LIMITS_H_
