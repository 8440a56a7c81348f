#ifndef EMULSION_PASSES_NEST_COSTLY_PART_H_
#define EMULSION_PASSES_NEST_COSTLY_PART_H_

#include <string>

#include "dsl/expr.h"

namespace emulsion {

// exp, log, tanh, erf, pow: each a series of many instructions.
bool is_series(ExprOp op);

// What of an expression takes long and depends on one axis alone, so that it may be computed once
// for each step of it (StageSchedule::precompute): the first such part, as large as it can be. It
// is of a float type, has a division, a square root or a series in it, and is computed whatever the
// rest is: no select or condition guards it, and it is in no index. Undefined: there is none, or
// the whole expression depends on that axis alone.
Expr costly_part(const Expr& root, const std::string& axis);

}  // namespace emulsion

#endif  // EMULSION_PASSES_NEST_COSTLY_PART_H_
