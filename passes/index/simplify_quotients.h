#ifndef EMULSION_PASSES_INDEX_SIMPLIFY_QUOTIENTS_H_
#define EMULSION_PASSES_INDEX_SIMPLIFY_QUOTIENTS_H_

// Quotients and remainders by numbers, as reshapes make them, of axes whose extents are known: with
// d below 64, (h * 64 + d) / 64 is h, and (k / 64) * 64 + k % 64 is k.

#include "dsl/affine.h"
#include "dsl/expr.h"

namespace emulsion {

// The same value wherever each axis is from 0 up to its extent; an axis without one may be
// anything. What has nothing to simplify comes back as the same node.
Expr simplify_quotients(const Expr& index, const AxisExtents& axes);

}  // namespace emulsion

#endif  // EMULSION_PASSES_INDEX_SIMPLIFY_QUOTIENTS_H_
