#ifndef EMULSION_PASSES_NEST_BOUNDED_EXPONENT_H_
#define EMULSION_PASSES_NEST_BOUNDED_EXPONENT_H_

// How a nest says that an exponent is never above 0: exp(min(e, 0)) of f32. lower() writes it where
// it has proved it, and a backend needs fewer instructions then. Such a min is marked: it changes
// no value, so a backend may leave it out, too.

#include "dsl/expr.h"

namespace emulsion {

// min(e, number) of f32, the number being 0 or less.
bool is_bounded_exponent(const Expr& e);
// min(e, 0), marked, for e of f32 that is proved to be never above 0.
Expr bounded_exponent(const Expr& e);
// The e of a min that is marked; any other exponent as it is.
Expr without_proved_bound(const Expr& exponent);

}  // namespace emulsion

#endif  // EMULSION_PASSES_NEST_BOUNDED_EXPONENT_H_
