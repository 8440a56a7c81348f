#ifndef EMULSION_PASSES_INDEX_RELAX_CLAMPS_H_
#define EMULSION_PASSES_INDEX_RELAX_CLAMPS_H_

// Reads at the edges of a picture: max(min(y + 1, N - 1), 0) follows y, except where it would
// leave. A clamp moves an index at most as far as the index could leave anywhere, so the index lies
// between two affine ones: here y and y + 1.

#include <optional>
#include <vector>

#include "dsl/affine.h"
#include "dsl/expr.h"
#include "dsl/extent.h"

namespace emulsion {

// min(value, bound) or max(value, bound), of which the bound is affine in the run-time sizes.
struct Clamp {
  Expr value;
  Extent bound;
  bool is_most;  // of a min
};
// Nothing of another expression.
std::optional<Clamp> clamp_of(const Expr& index);

// Indices without clamps, the least and greatest of which have `index` between them wherever the
// axes are inside their extents; `index` alone when it has no clamp or how far that moves is no
// constant.
std::vector<Expr> relax_clamps(const Expr& index, const AxisExtents& axes);

}  // namespace emulsion

#endif  // EMULSION_PASSES_INDEX_RELAX_CLAMPS_H_
