#ifndef EMULSION_BACKENDS_ENTRY_CONTRACTS_WITH_FMA_H_
#define EMULSION_BACKENDS_ENTRY_CONTRACTS_WITH_FMA_H_

// Which uOps a CPU computes by fused multiply-adds, where it has them. A backend asks for the
// instruction by name, since strict products and sums are never contracted.

#include <vector>

#include "passes/nest/loop_nest.h"

namespace emulsion {

// Whether the uOp adds a product of floats, and LLVM makes vectors of its multiply-adds: not where
// too many reduction steps are unrolled. `around`: the loops that the uOp is in.
bool contracts_with_fma(const Stage& stage, const UopNode& uop,
                        const std::vector<const Loop*>& around);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_ENTRY_CONTRACTS_WITH_FMA_H_
