#ifndef EMULSION_BACKENDS_HALIDE_CHECK_CODE_SIZE_H_
#define EMULSION_BACKENDS_HALIDE_CHECK_CODE_SIZE_H_

// A factor that is legal by itself can ask for more code than a compiler finishes. The limits are
// those of what compiles the nest, so they stand here: a tile machine or the interpreter has none.

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
  // with a loop between it and an unrolled one.
  int64_t copies_of_more = 4;
  int64_t lanes_of_a_vector = 64;
};
CodeLimits code_limits(const Target& target);

// ScheduleError: more than the limits of the target, with the stage, the loop and what is legal.
void check_code_size(const LoopNest& nest, const CodeLimits& limits);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_CHECK_CODE_SIZE_H_
