#ifndef EMULSION_DSL_EXPR_TEXT_H_
#define EMULSION_DSL_EXPR_TEXT_H_

// Expressions as text, for the printers of whole representations. Everybody else wants
// to_string(expr), declared in dsl/expr.h.
//
//   0.5f -0f inf(f32) nan(f32) nan(f32, 0x7fc00001)    f32; f64 ends in d; i32 has no suffix
//   m, B                                               an axis; a run-time size, or size(B)
//   x[m, k]                                            a read: the only use of brackets
//   -a !a a * b a / b a % b a + b a - b a < b a == b a && b a || b     precedence as in C
//   min(a, b) max(a, b) exp(a) ... select(c, a, b) f32(a)
//   sum(k: 256) a                                      to the end of the operation or of its
//   parentheses

#include <set>
#include <string>

#include "dsl/expr.h"

namespace emulsion {

// `axes`: names in scope that would hide a run-time size, which is then written as size(B).
std::string to_string(const Expr& expr, const std::set<std::string>& axes);
// One value of a float type as a literal: bits and sign survive. `value` is exact for either type.
std::string float_literal(DType dtype, double value);

}  // namespace emulsion

#endif  // EMULSION_DSL_EXPR_TEXT_H_
