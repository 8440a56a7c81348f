#ifndef EMULSION_PASSES_REWRITE_MAY_MATCH_H_
#define EMULSION_PASSES_REWRITE_MAY_MATCH_H_

// A first look: nearly every operation is none of nearly every pattern, and that has to be seen
// quickly. Private to passes/rewrite/.

#include <cstddef>
#include <optional>

#include "passes/rewrite/rewrite_rule.h"

namespace emulsion {

bool is_commutative(ExprOp op);
// a > b is b < a.
std::optional<ExprOp> flipped(ExprOp op);

// False: `result`, an op of kind compute, is not that output of the pattern, whatever its names
// stand for.
bool may_match(const CheckedRule& rule, size_t output, const Op& result);

}  // namespace emulsion

#endif  // EMULSION_PASSES_REWRITE_MAY_MATCH_H_
