#include "dsl/affine.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "dsl/checked_arithmetic.h"
#include "dsl/error.h"

namespace emulsion {
namespace {

Affine scaled(const Affine& a, int64_t factor) {
  Affine result;
  if (factor == 0) return result;
  for (const auto& [axis, coefficient] : a.coefficients) {
    result.coefficients[axis] = checked_mul(coefficient, factor, "index");
  }
  result.offset = a.offset * Extent(factor);
  return result;
}

Affine added(const Affine& a, const Affine& b) {
  Affine result = a;
  for (const auto& [axis, coefficient] : b.coefficients) {
    int64_t& mine = result.coefficients[axis];
    mine = checked_add(mine, coefficient, "index");
    if (mine == 0) result.coefficients.erase(axis);
  }
  result.offset = a.offset + b.offset;
  return result;
}

bool is_number(const Affine& a) { return a.coefficients.empty() && a.offset.is_constant(); }

// The largest (or smallest) value over the axes, as an extent in the sizes.
Extent extreme_value(const Affine& a, const AxisExtents& axes, bool largest) {
  Extent result = a.offset;
  for (const auto& [axis, coefficient] : a.coefficients) {
    auto found = axes.find(axis);
    EMULSION_CHECK(found != axes.end(), "axis {} is not in scope", axis);
    if ((coefficient > 0) == largest) {
      result = result + (found->second - Extent(1)) * Extent(coefficient);
    }
  }
  return result;
}

}  // namespace

std::optional<Affine> affine_of(const Expr& index) {
  switch (index->op) {
    case ExprOp::constant: {
      if (!is_integer(index->dtype)) return std::nullopt;
      Affine result;
      result.offset = Extent(index->int_value);
      return result;
    }
    case ExprOp::axis: {
      Affine result;
      result.coefficients[index->name] = 1;
      return result;
    }
    case ExprOp::size: {
      Affine result;
      result.offset = Extent::size(index->name);
      return result;
    }
    case ExprOp::neg: {
      auto a = affine_of(index->args[0]);
      if (!a) return std::nullopt;
      return scaled(*a, -1);
    }
    case ExprOp::add:
    case ExprOp::sub: {
      auto a = affine_of(index->args[0]);
      auto b = affine_of(index->args[1]);
      if (!a || !b) return std::nullopt;
      return added(*a, index->op == ExprOp::add ? *b : scaled(*b, -1));
    }
    case ExprOp::mul: {
      auto a = affine_of(index->args[0]);
      auto b = affine_of(index->args[1]);
      if (!a || !b) return std::nullopt;
      if (is_number(*b)) return scaled(*a, b->offset.constant_term());
      if (is_number(*a)) return scaled(*b, a->offset.constant_term());
      return std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

bool i32_holds_terms(const Affine& sum) {
  const IntegerRange range = integer_range(i32);
  const auto holds = [&](const auto& term) { return range.contains(term.second); };
  const auto& sizes = sum.offset.coefficients();
  return range.contains(sum.offset.constant_term()) &&
         std::all_of(sum.coefficients.begin(), sum.coefficients.end(), holds) &&
         std::all_of(sizes.begin(), sizes.end(), holds);
}

Extent largest_value(const Affine& a, const AxisExtents& axes) {
  return extreme_value(a, axes, true);
}

Extent least_value(const Affine& a, const AxisExtents& axes) {
  return extreme_value(a, axes, false);
}

}  // namespace emulsion
