#ifndef EMULSION_DSL_INDEX_ARITHMETIC_H_
#define EMULSION_DSL_INDEX_ARITHMETIC_H_

// The operators of index expressions on numbers, with the meaning that dsl/expr.h gives them, once
// for all who evaluate or fold them. In the header: verify_nest asks millions of times.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "dsl/error.h"
#include "dsl/expr.h"
#include "dsl/types.h"

namespace emulsion {

// Rounds towards minus infinity; by 0 it is 0. Not for what index_operator refuses: the least
// number by -1.
inline int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  const int64_t quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

inline int64_t floor_mod(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  const int64_t rest = a % b;
  return (rest != 0 && (rest < 0) != (b < 0)) ? rest + b : rest;
}

// What an operator other than select gives for its one or two arguments, before that is brought
// into the type of the result; of one argument, b is not looked at. Nothing: it does not fit 64
// bits. InternalError: no operator of index expressions.
inline std::optional<int64_t> index_operator(ExprOp op, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflow = false;
  switch (op) {
    case ExprOp::neg:
      overflow = __builtin_sub_overflow(int64_t{0}, a, &result);
      break;
    case ExprOp::abs:
      if (a < 0) return index_operator(ExprOp::neg, a, 0);
      return a;
    case ExprOp::cast:
      return a;
    case ExprOp::add:
      overflow = __builtin_add_overflow(a, b, &result);
      break;
    case ExprOp::sub:
      overflow = __builtin_sub_overflow(a, b, &result);
      break;
    case ExprOp::mul:
      overflow = __builtin_mul_overflow(a, b, &result);
      break;
    case ExprOp::div:
      if (b == -1) return index_operator(ExprOp::neg, a, 0);
      return floor_div(a, b);
    case ExprOp::mod:
      return floor_mod(a, b);
    case ExprOp::min:
      return std::min(a, b);
    case ExprOp::max:
      return std::max(a, b);
    case ExprOp::eq:
      return a == b;
    case ExprOp::ne:
      return a != b;
    case ExprOp::lt:
      return a < b;
    case ExprOp::le:
      return a <= b;
    case ExprOp::gt:
      return a > b;
    case ExprOp::ge:
      return a >= b;
    case ExprOp::logical_not:
      return a == 0;
    case ExprOp::logical_and:
      return a != 0 && b != 0;
    case ExprOp::logical_or:
      return a != 0 || b != 0;
    default:
      EMULSION_CHECK(false, "{} in an index expression", to_string(op));
  }
  if (overflow) return std::nullopt;
  return result;
}

// The value as one of the type: narrow integers wrap around; i32 does not, so that what leaves it
// is seen.
inline int64_t index_in_type(DType type, int64_t value) {
  if (type == DType::i32) return value;
  if (type == DType::boolean) return value != 0;
  return is_integer(type) ? wrap_integer(type, value) : value;
}

// Of two counts, which are not negative; the greatest number where that is less.
inline int64_t saturated_product(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<int64_t>::max() : product;
}

}  // namespace emulsion

#endif  // EMULSION_DSL_INDEX_ARITHMETIC_H_
