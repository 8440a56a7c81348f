#ifndef EMULSION_PASSES_DIFFERENTIATE_SCATTER_READ_H_
#define EMULSION_PASSES_DIFFERENTIATE_SCATTER_READ_H_

// What one read of a tensor adds to the tensor's gradient. The read is a gather, so its adjoint is
// a scatter; it is written as a gather again: each element sums over the points that read it
// (invert_index.h). With g the gradient of the result:
//
//   y(m, n) = sum(k, a(m, k) * b(k, n))     a: sum(n, g(m, n) * b(k, n)), a contraction again
//   y(i) = x(2 * i + 1)                     x: select((p - 1) % 2 == 0 && .., g((p - 1) / 2), 0)
//   y(i) = x(max(i - 2, 0))                 x: g(p + 2), and at p == 0 the sum of the first three
//   y(i, k) with a window, sum(k, x(i + k) * w(k))
//                                           x: sum(k, spread(p - k + 2) * w(k)), with g between
//                                           zeros
//
// The last so that a convolution's gradient is a convolution: g is spread out with zeros before it,
// after it and, for a stride, in between, and no tests are left inside the sum.

#include <string>
#include <vector>

#include "dsl/expr.h"
#include "dsl/tensor.h"
#include "passes/differentiate/scalar_derivatives.h"

namespace emulsion {

struct PointsOfRead {
  const std::string& what;        // the comprehension's name, for messages
  const std::vector<Axis>& axes;  // its axes, those of its result first
  size_t of_result;               // how many those are
  OpPtr cotangent;                // the tensor that the seed reads at the result's axes, or null
  // The names that the axes had, for messages; none: these.
  std::vector<std::string> names_as_written = {};
};

// The sum of `part` over all points that read element `at` of its tensor, over these axes;
// undefined when there are none. The names of `at` are no axes of the points. Sums become
// operations called `name`, spread tensors spread_`name`. Error, naming the operation, the read and
// its index, where the index depends on data.
Expr scatter_read(const PointsOfRead& points, const ReadDerivative& part,
                  const std::vector<Axis>& at, const std::string& name);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DIFFERENTIATE_SCATTER_READ_H_
