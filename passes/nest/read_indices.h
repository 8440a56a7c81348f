#ifndef EMULSION_PASSES_NEST_READ_INDICES_H_
#define EMULSION_PASSES_NEST_READ_INDICES_H_

// The indices of the reads of a stage's body.

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "dsl/affine.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

// The extent of each axis of a stage, pure and reduction: what proves_in_bounds() is told.
AxisExtents domain_of(const Stage& stage);

// What each axis of the stage is at a uOp, over loop variables.
std::map<std::string, Expr> point_of(const Stage& stage, const UopNode& uop);

// The reads of a stage's own body, by buffer: found once, since a stage may be in many pieces.
using OwnReads = std::unordered_map<std::string, std::vector<Expr>>;
OwnReads own_reads_of(const Stage& stage);

// Whether index `d` of a read is one of the stage's own body. Where it is not, the pass that gave
// the uOp a body of its own proved that it stays inside the buffer (partition_loops).
bool is_own_index(const OwnReads& own, const ExprNode& read, size_t d);

// Whether an expression reads the buffer anywhere.
bool reads(const Expr& body, const std::string& buffer);

// A body each of whose reads has the indices that `indices` gives for it, one for each axis. A body
// whose indices stay the same nodes comes back as it is.
Expr with_indices(const Expr& body,
                  const std::function<std::vector<Expr>(const Expr& read)>& indices);

// A body whose selects decide by `change(condition)`, where they decide by an index between values.
// A body whose conditions stay the same nodes comes back as it is.
Expr with_conditions(const Expr& body, const std::function<Expr(const Expr& condition)>& change);

}  // namespace emulsion

#endif  // EMULSION_PASSES_NEST_READ_INDICES_H_
