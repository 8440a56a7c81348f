#ifndef EMULSION_PASSES_INDEX_SIMPLIFY_INDEX_H_
#define EMULSION_PASSES_INDEX_SIMPLIFY_INDEX_H_

// Integer expressions over loop variables and run-time sizes, folded until they are fit to print
// and to compare. Exact over all integers that do not overflow; an expression that is already
// simple comes back as the same node.

#include <cstdint>
#include <optional>
#include <string>

#include "dsl/expr.h"

namespace emulsion {

Expr simplify_index(const Expr& index);
// ceil(a / b) for b > 0, simplified; a number when a is one.
Expr ceil_div(const Expr& a, int64_t b);
// The number that an expression is, if it is one.
std::optional<int64_t> constant_value(const Expr& index);
// Whether an axis or a loop variable of that name occurs in it.
bool mentions(const Expr& index, const std::string& variable);
// Whether any occurs: else it is over run-time sizes only.
bool depends_on_loops(const Expr& index);

}  // namespace emulsion

#endif  // EMULSION_PASSES_INDEX_SIMPLIFY_INDEX_H_
