#ifndef EMULSION_TESTS_RANDOM_GRADIENT_INDICES_H_
#define EMULSION_TESTS_RANDOM_GRADIENT_INDICES_H_

// Indices as people write them: mirrored, around the end, held at it, by digits.

#include <vector>

#include "dsl/expr.h"
#include "dsl/extent.h"
#include "tests/random/random_numbers.h"

namespace emulsion {

// Into a dimension of the axis's own extent; `axes` are all that there are.
Expr index_along_equal(const Axis& axis, const std::vector<Axis>& axes, const Extent& extent,
                       RandomNumbers* random);
// Into a dimension of any extent.
Expr index_along_any(const Axis& axis, const Axis& other, const Extent& extent,
                     RandomNumbers* random);

}  // namespace emulsion

#endif  // EMULSION_TESTS_RANDOM_GRADIENT_INDICES_H_
