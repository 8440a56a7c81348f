#ifndef EMULSION_PASSES_DIFFERENTIATE_INVERT_INDEX_H_
#define EMULSION_PASSES_DIFFERENTIATE_INVERT_INDEX_H_

// Which points of a comprehension read a given element: the inverse of the map from its axes to an
// index. With y(i, k) reading x(2 * i + k, k, 7), element x[p, q, s] is read at
//
//   k = q,  i = (p - q) / 2,  where (p - q) % 2 == 0, i and k are in their range, and s == 7
//
// and where no equation decides an axis, it is left over: the points are all of its values.
//
//   plain axes, coefficients, signs      solved: of several axes the one with most values
//   8 * i + j with j from 0 to 7         i = p / 8, j = p % 8: no axis is left over
//   i / 8 and i % 8 in two places        i = 8 * p + q
//   i / 8 or i % 8 alone                 i = 8 * p + t or 8 * t + p, for all t
//   an axis twice, as in x(i, i)         solved once, an equation the second time
//   anything else, as in x(i * i)        an equation, which every value of its axes is tried for

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dsl/affine.h"
#include "dsl/expr.h"
#include "dsl/extent.h"

namespace emulsion {

// axis = numerator / divisor, where that is whole and from 0 to extent - 1.
struct SolvedAxis {
  std::string name;
  Expr numerator;
  int64_t divisor = 1;
  Extent extent;

  Expr value() const;
};

// All over the axes of the element and those left over.
struct IndexInverse {
  std::vector<SolvedAxis> solved;
  std::vector<Axis> left_over;
  std::vector<std::pair<Expr, Expr>> equations;
  std::vector<std::pair<Expr, int64_t>> multiples;  // a value and what divides it
  std::vector<std::pair<Expr, Extent>> ranges;      // a value and what is above it; 0 is below
};

// `points`: the axes of the comprehension, those of its result (`of_result` of them) first. `at`:
// those of the element, one for each index, of other names. Indices are in bounds at every point
// and read no data.
IndexInverse invert_index(const std::vector<Axis>& points, size_t of_result,
                          const std::vector<Expr>& index, const std::vector<Axis>& at);

// An integer expression as a sum of terms and an extent; a term is an axis, or what is not linear.
struct LinearSum {
  std::vector<std::pair<Expr, int64_t>> terms;  // distinct; no coefficient is 0
  Extent offset;
};
LinearSum linear_sum(const Expr& index);

// As a person would write it.
Expr tidy_index(const Expr& index);

// The name, with a number behind it when it is taken.
std::string fresh_name(const std::string& name, const std::set<std::string>& taken);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DIFFERENTIATE_INVERT_INDEX_H_
