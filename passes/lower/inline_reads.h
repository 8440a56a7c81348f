#ifndef EMULSION_PASSES_LOWER_INLINE_READS_H_
#define EMULSION_PASSES_LOWER_INLINE_READS_H_

// Reads of stages that are computed inline become the bodies of those stages.

#include <map>
#include <string>
#include <vector>

#include "dsl/expr.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

// Whether what has these axes is read at the values of the same axes: y(i, j) = x(i, j) + 1. Its
// expression then stands there as it is, and need not be gone through: the time for a long chain
// would grow with its square.
bool are_own_indices(const std::vector<Axis>& axes, const std::vector<Expr>& indices);

// Every read of one of these stages, by name, becomes its body at those indices.
Expr with_inlined(const Expr& body, const std::map<std::string, Stage>& inlined);

// The indices of what is read through a reshape are those of one reshape of another.
Expr with_simple_reads(const Expr& body, const Stage& stage);

}  // namespace emulsion

#endif  // EMULSION_PASSES_LOWER_INLINE_READS_H_
