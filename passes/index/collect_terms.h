#ifndef EMULSION_PASSES_INDEX_COLLECT_TERMS_H_
#define EMULSION_PASSES_INDEX_COLLECT_TERMS_H_

// Integer expressions as a person would write them: sums with equal terms collected, in order of
// first appearance, and quotients taken of what is divisible, so (y.mo * 6 + y.mi + 6) - y.mi is
// y.mo * 6 + 6. The value stays the same for all values of the names.

#include "dsl/expr.h"

namespace emulsion {

// An index, an extent or a guard.
Expr collect_terms(const Expr& expr);

}  // namespace emulsion

#endif  // EMULSION_PASSES_INDEX_COLLECT_TERMS_H_
