#ifndef EMULSION_TESTS_RANDOM_CHAIN_VALUES_H_
#define EMULSION_TESTS_RANDOM_CHAIN_VALUES_H_

// Expressions of which is known how large they may be and how far a kernel may be off, so that
// random chains (random_chains.h) stay exact as long as they can, and say how near results have to
// be where they are not.

#include <cstdint>
#include <vector>

#include "dsl/expr.h"

namespace emulsion {

struct Value {
  Expr e;
  double bound = 0;  // of its size
  double error = 0;  // 0: a whole number, to the bit, in whatever order sums are taken
};

enum class Series : uint8_t { exp, tanh, erf, sqrt, log, sigmoid, gelu };
constexpr int kSeries = 7;

Value number(DType dtype, double value);
// Of values of one type. What leaves the whole numbers of its type is clamped first.
Value plus(const Value& a, const Value& b);
Value minus(const Value& a, const Value& b);
Value times(const Value& a, const Value& b);
Value larger(const Value& a, const Value& b);
Value smaller(const Value& a, const Value& b);
Value chosen(const Expr& condition, const Value& a, const Value& b);
Value size_of_value(const Value& a);
// `b` is 1 or more, or the result is unlike any other and is NaN or infinite everywhere alike.
Value over(const Value& a, const Value& b);
// No larger than `most`.
Value held(const Value& a, double most);
// What a type holds of it; of what is not exact an integer type has a constant.
Value as_type(DType dtype, const Value& a);
Value series(Series kind, const Value& a);
// Of `terms` values at most.
Value reduced(Combiner combiner, const std::vector<Axis>& axes, double terms, const Value& a);

}  // namespace emulsion

#endif  // EMULSION_TESTS_RANDOM_CHAIN_VALUES_H_
