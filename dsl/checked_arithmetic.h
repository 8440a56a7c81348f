#ifndef EMULSION_DSL_CHECKED_ARITHMETIC_H_
#define EMULSION_DSL_CHECKED_ARITHMETIC_H_

// Sums and products of sizes, counts and bytes: a result that 64 bits do not hold is an Error,
// where a wrapped one would be a wrong answer.

#include <cstdint>

namespace emulsion {

// "extent 3037000500 * 3037000500: does not fit 64 bits", where `what` is "extent".
[[noreturn]] void fail_overflow(int64_t a, char operation, int64_t b, const char* what);

// Error, of which `what` says what the numbers are, when the result does not fit.
inline int64_t checked_add(int64_t a, int64_t b, const char* what = "") {
  int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) fail_overflow(a, '+', b, what);
  return result;
}

inline int64_t checked_mul(int64_t a, int64_t b, const char* what = "") {
  int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) fail_overflow(a, '*', b, what);
  return result;
}

}  // namespace emulsion

#endif  // EMULSION_DSL_CHECKED_ARITHMETIC_H_
