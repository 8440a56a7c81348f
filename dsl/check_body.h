#ifndef EMULSION_DSL_CHECK_BODY_H_
#define EMULSION_DSL_CHECK_BODY_H_

// What the body of a comprehension may say: its axes are in scope, and every read is inside its
// tensor for every iteration, whatever the run-time sizes are. A tensor that may be empty is read
// only where it is not: in an iteration over its extent, or under a condition that says so.
//
// Such a condition is that of a select in which integer comparisons, joined by `and`, are affine in
// axes and sizes. It may also be what keeps an index inside: x(i - 1) in select(i > 0, x(i - 1),
// 0), or the index in x(select(i > 0, i - 1, n - 1)). Then the index gets the clamps that it needs
// without the condition, x(max(i - 1, 0)), and they change nothing: so passes read no conditions,
// and a vector may compute both branches of a select.

#include <string>

#include "dsl/affine.h"
#include "dsl/expr.h"

namespace emulsion {

// The body, with those clamps. Error, naming the operation (`what`), the read and its axis, what
// was found and what would be legal.
Expr checked_body(const std::string& what, const AxisExtents& axes, const Expr& body);

}  // namespace emulsion

#endif  // EMULSION_DSL_CHECK_BODY_H_
