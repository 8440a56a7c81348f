#ifndef EMULSION_DSL_CONDITION_FACTS_H_
#define EMULSION_DSL_CONDITION_FACTS_H_

// What a condition over indices says of them.

#include <functional>

#include "dsl/expr.h"

namespace emulsion {

// Calls `take` with each affine expression of type i32 that is 0 or more where the condition holds,
// or where it does not (`holds` is false): of i < n it is n - i - 1, and where that does not hold
// i - n. Nothing follows from a condition that is no comparison of i32 values, nor from an || that
// holds: some other part of it may be the one. Narrower integers wrap around, so nothing follows
// from them either.
void for_each_fact(const Expr& condition, bool holds, const std::function<void(const Expr&)>& take);

}  // namespace emulsion

#endif  // EMULSION_DSL_CONDITION_FACTS_H_
