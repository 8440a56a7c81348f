#ifndef EMULSION_PASSES_REWRITE_SIMPLIFY_VALUES_H_
#define EMULSION_PASSES_REWRITE_SIMPLIFY_VALUES_H_

// Algebraic identities that hold to the bit for every value, NaN, infinities and -0 among them:
//
//   x * 1    x / 1    x - 0    x + -0    -(-x)    max(x, x)    min(x, x)    select(c, x, x)
//   select(true, x, y)    !(!b)    b && true    b || false    and of integers x + 0
//
// are x. What looks alike and does not hold is left alone: x + 0 of floats (-0 becomes 0), x - -0,
// x * 0 and x - x (NaN, infinities), x / x.

#include "dsl/expr.h"
#include "dsl/graph.h"

namespace emulsion {

// The same node when there is nothing to simplify.
Expr simplify_value(const Expr& root);

// In every operation. One that is left as a copy of a whole tensor, and that is no output, is read
// no more. Groups are left alone. The same graph when there is nothing to simplify.
Graph simplify_values(const Graph& graph);

}  // namespace emulsion

#endif  // EMULSION_PASSES_REWRITE_SIMPLIFY_VALUES_H_
