#ifndef EMULSION_BACKENDS_INTERPRETER_SCALAR_FUNCTIONS_H_
#define EMULSION_BACKENDS_INTERPRETER_SCALAR_FUNCTIONS_H_

// What each scalar operator does to each kind of value: the meaning that dsl/expr.h states, in one
// table. Functions are looked up when an expression is compiled, so that running it needs no
// decisions.

#include <cstdint>

#include "dsl/expr.h"
#include "dsl/types.h"

namespace emulsion {

union Scalar {
  int64_t i;
  float f;
  double d;
};

enum class ScalarKind : uint8_t {
  integer,      // bool; i32 in an index, where nothing wraps
  wrapped_i32,  // i32 as a value: every result is taken to 32 bits
  f32,
  f64,
};

// Of one or two arguments; a function of one ignores the second.
using ScalarFunction = Scalar (*)(Scalar, Scalar);

// `kind` is that of the arguments. InternalError when the operator has no meaning for it.
ScalarFunction scalar_function(ExprOp op, ScalarKind kind);
// f32 -> i32 truncates; what i32 cannot hold saturates and NaN gives 0 (both unspecified to the
// user).
ScalarFunction cast_function(DType to, ScalarKind to_kind, ScalarKind from_kind);
ScalarFunction move_function();

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_INTERPRETER_SCALAR_FUNCTIONS_H_
