#ifndef EMULSION_PASSES_REWRITE_LITERAL_OF_H_
#define EMULSION_PASSES_REWRITE_LITERAL_OF_H_

#include <cstdint>
#include <optional>

#include "dsl/expr.h"
#include "dsl/tensor.h"

namespace emulsion {

// Element `index` (row-major) of a constant, as a number in an expression.
Expr element_of(const Op& constant, int64_t index);

// What a read of a constant with one element yields: scalar(2.0f) and the literal 2.0f are the same
// value. Nothing for any other expression, and for a NaN.
std::optional<Expr> literal_of(const Expr& read);

}  // namespace emulsion

#endif  // EMULSION_PASSES_REWRITE_LITERAL_OF_H_
