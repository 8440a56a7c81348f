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
  integer,  // bool; i32 in an index, where nothing wraps
  i8,       // every result is brought into the type, modulo 2^bits
  u8,
  i16,
  u16,
  i32,  // as a value
  f32,
  f64,
};

// Of one or two arguments; a function of one ignores the second.
using ScalarFunction = Scalar (*)(Scalar, Scalar);

// `kind` is that of the arguments. InternalError when the operator has no meaning for it.
ScalarFunction scalar_function(ExprOp op, ScalarKind kind);
// From float to an integer: towards zero, what the type does not hold becomes its nearest end, NaN
// 0. Between integers: modulo 2^bits.
ScalarFunction cast_function(DType to, ScalarKind to_kind, ScalarKind from_kind);
ScalarFunction move_function();

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_INTERPRETER_SCALAR_FUNCTIONS_H_
