#ifndef EMULSION_DSL_CONDITION_FACTS_H_
#define EMULSION_DSL_CONDITION_FACTS_H_

// What a condition over indices says of them.

#include <functional>
#include <optional>

#include "dsl/affine.h"
#include "dsl/expr.h"

namespace emulsion {

// Of i == 0, with i never less, i <= 0; likewise at the other end, and of !=: the same condition as
// one of order. Nothing where it cannot be told, or is no such condition.
std::optional<Expr> as_order(const Expr& condition, const AxisExtents& axes);

// Calls `take` with each affine expression of type i32 that is 0 or more where the condition holds,
// or where it does not (`holds` is false): of i < n it is n - i - 1, and where that does not hold
// i - n. Nothing follows from a condition that is no comparison of i32 values, nor from an || that
// holds: some other part of it may be the one. Narrower integers wrap around, so nothing follows
// from them either. `axes`: of i != 0 it is i - 1, since i is never less; likewise at the other
// end.
void for_each_fact(const Expr& condition, bool holds, const AxisExtents& axes,
                   const std::function<void(const Expr&)>& take);

}  // namespace emulsion

#endif  // EMULSION_DSL_CONDITION_FACTS_H_
