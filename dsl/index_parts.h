#ifndef EMULSION_DSL_INDEX_PARTS_H_
#define EMULSION_DSL_INDEX_PARTS_H_

// Kernels compute indices in i32. Terms of a sum may leave it, since the sum wraps back to where it
// would be; what is divided, compared, clamped or chosen may not: i * 1000000 in i * 1000000 / 7.

#include <vector>

#include "dsl/expr.h"

namespace emulsion {

// The parts of an index that i32 has to hold, each once, inner ones first. Those of the indices of
// a tensor that is read inside it are among them.
std::vector<Expr> parts_within_i32(const Expr& index);

}  // namespace emulsion

#endif  // EMULSION_DSL_INDEX_PARTS_H_
