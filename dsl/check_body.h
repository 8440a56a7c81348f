#ifndef EMULSION_DSL_CHECK_BODY_H_
#define EMULSION_DSL_CHECK_BODY_H_

// What the body of a comprehension may say: its axes are in scope, and every read is inside its
// tensor for every iteration, whatever the run-time sizes are. A tensor that may be empty is read
// only where it is not: in an iteration over its extent, or under a condition that says so. That is
// of a select in which integer comparisons, joined by `and`, are affine in axes and sizes: the
// index itself is proved without it, for a backend may ask for what an unchosen branch would read.

#include <string>

#include "dsl/affine.h"
#include "dsl/expr.h"

namespace emulsion {

// Error, naming the operation (`what`), the read and its axis, what was found and what would be
// legal.
void check_body(const std::string& what, const AxisExtents& axes, const Expr& body);

}  // namespace emulsion

#endif  // EMULSION_DSL_CHECK_BODY_H_
