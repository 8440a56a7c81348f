#ifndef EMULSION_DSL_RANGE_ARITHMETIC_H_
#define EMULSION_DSL_RANGE_ARITHMETIC_H_

// Interval arithmetic: from where to where the values of an operator go, given from where to where
// those of its operands go. Operators mean what dsl/expr.h says; a bool is 0 or 1. In the header:
// verify_nest asks millions of times.

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "dsl/error.h"
#include "dsl/expr.h"
#include "dsl/index_arithmetic.h"
#include "dsl/types.h"

namespace emulsion {

// No range ends beyond it: what is farther from 0 counts as this. No type of ours holds such
// numbers.
inline constexpr int64_t kFarthest = (int64_t{1} << 62) - 1;

inline IntegerRange united(const IntegerRange& a, const IntegerRange& b) {
  return {std::min(a.lowest, b.lowest), std::max(a.highest, b.highest)};
}

namespace range_arithmetic {

inline IntegerRange held(int64_t lowest, int64_t highest) {
  return {std::max(lowest, -kFarthest), std::min(highest, kFarthest)};
}

inline IntegerRange around(std::initializer_list<int64_t> values) {
  return held(std::min(values), std::max(values));
}

inline int64_t product(int64_t a, int64_t b) {
  int64_t result = 0;
  if (!__builtin_mul_overflow(a, b, &result)) return result;
  return (a < 0) == (b < 0) ? kFarthest : -kFarthest;
}

inline IntegerRange products(const IntegerRange& a, const IntegerRange& b) {
  return around({product(a.lowest, b.lowest), product(a.lowest, b.highest),
                 product(a.highest, b.lowest), product(a.highest, b.highest)});
}

inline IntegerRange quotients(const IntegerRange& a, const IntegerRange& b) {
  if (b.lowest > 0 || b.highest < 0) {
    return around({floor_div(a.lowest, b.lowest), floor_div(a.lowest, b.highest),
                   floor_div(a.highest, b.lowest), floor_div(a.highest, b.highest)});
  }
  IntegerRange all{0, 0};  // by 0
  if (b.lowest < 0) all = united(all, quotients(a, {b.lowest, -1}));
  if (b.highest > 0) all = united(all, quotients(a, {1, b.highest}));
  return all;
}

inline IntegerRange remainders(const IntegerRange& a, const IntegerRange& b) {
  if (b.is_point() && b.lowest > 0) {
    const int64_t first = floor_div(a.lowest, b.lowest) * b.lowest;
    if (a.highest - first < b.lowest) return {a.lowest - first, a.highest - first};
  } else if (a.lowest >= 0 && a.highest < b.lowest) {
    return a;
  }
  // The sign is the divisor's; by 0 the rest is 0.
  return {std::min<int64_t>(0, b.lowest + 1), std::max<int64_t>(0, b.highest - 1)};
}

// A comparison: certain, impossible, or open.
inline IntegerRange truth(bool always, bool never) {
  return always ? IntegerRange{1, 1} : never ? IntegerRange{0, 0} : IntegerRange{0, 1};
}

inline IntegerRange is_true(const IntegerRange& a) {
  return truth(a.lowest > 0 || a.highest < 0, a.lowest == 0 && a.highest == 0);
}

inline IntegerRange is_equal(const IntegerRange& a, const IntegerRange& b) {
  return truth(a.is_point() && b.is_point() && a.lowest == b.lowest,
               a.highest < b.lowest || b.highest < a.lowest);
}

inline IntegerRange opposite(const IntegerRange& truth) {
  return {1 - truth.highest, 1 - truth.lowest};
}

}  // namespace range_arithmetic

// The range contains every value, as if nothing wrapped around: to bring it into the type is for
// the caller. It is the smallest one, but of a remainder by a divisor that is no single positive
// number, and of operands that depend on each other. Operands that the operator does not have are
// not looked at. InternalError: no operator of index expressions, as exp.
inline IntegerRange range_of(ExprOp op, const IntegerRange& a, const IntegerRange& b = {},
                             const IntegerRange& c = {}) {
  using namespace range_arithmetic;  // NOLINT(google-build-using-namespace): this file's own
  switch (op) {
    case ExprOp::cast:
      return a;
    case ExprOp::neg:
      return {-a.highest, -a.lowest};
    case ExprOp::abs:
      if (a.lowest >= 0) return a;
      if (a.highest <= 0) return {-a.highest, -a.lowest};
      return {0, std::max(-a.lowest, a.highest)};
    case ExprOp::add:
      return held(a.lowest + b.lowest, a.highest + b.highest);
    case ExprOp::sub:
      return held(a.lowest - b.highest, a.highest - b.lowest);
    case ExprOp::mul:
      return products(a, b);
    case ExprOp::div:
      return quotients(a, b);
    case ExprOp::mod:
      return remainders(a, b);
    case ExprOp::min:
      return {std::min(a.lowest, b.lowest), std::min(a.highest, b.highest)};
    case ExprOp::max:
      return {std::max(a.lowest, b.lowest), std::max(a.highest, b.highest)};
    case ExprOp::eq:
      return is_equal(a, b);
    case ExprOp::ne:
      return opposite(is_equal(a, b));
    case ExprOp::lt:
      return truth(a.highest < b.lowest, a.lowest >= b.highest);
    case ExprOp::le:
      return truth(a.highest <= b.lowest, a.lowest > b.highest);
    case ExprOp::gt:
      return truth(a.lowest > b.highest, a.highest <= b.lowest);
    case ExprOp::ge:
      return truth(a.lowest >= b.highest, a.highest < b.lowest);
    case ExprOp::logical_not:
      return opposite(is_true(a));
    case ExprOp::logical_and: {
      const IntegerRange x = is_true(a), y = is_true(b);
      return {std::min(x.lowest, y.lowest), std::min(x.highest, y.highest)};
    }
    case ExprOp::logical_or: {
      const IntegerRange x = is_true(a), y = is_true(b);
      return {std::max(x.lowest, y.lowest), std::max(x.highest, y.highest)};
    }
    case ExprOp::select: {
      const IntegerRange condition = is_true(a);
      if (condition.is_point()) return condition.lowest != 0 ? b : c;
      return united(b, c);
    }
    default:
      EMULSION_CHECK(false, "{} in an index expression", to_string(op));
      return {};
  }
}

}  // namespace emulsion

#endif  // EMULSION_DSL_RANGE_ARITHMETIC_H_
