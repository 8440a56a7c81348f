#ifndef EMULSION_PASSES_DIFFERENTIATE_SCALAR_DERIVATIVES_H_
#define EMULSION_PASSES_DIFFERENTIATE_SCALAR_DERIVATIVES_H_

// The derivative of a scalar expression by each of its reads, in reverse: one rule for each scalar
// operation, in one table (scalar_derivatives.cc). Where a function has no derivative:
//
//   abs at 0             1, the derivative from above
//   max(a, b), a == b    half for each side; a constant takes all of it, so relu at 0 has 0
//   sqrt, log at 0       infinite, as the formula says
//   a comparison, not, and, or, a condition of select: none, they are constant nearly everywhere
//   pow(0, b) by b       0
//
// An index has no derivative either: where something is read is constant nearly everywhere.

#include <functional>
#include <string>
#include <vector>

#include "dsl/expr.h"
#include "dsl/tensor.h"

namespace emulsion {

// The side of a select: where `condition` is `holds`.
struct SelectSide {
  Expr condition;
  bool holds = true;
};

// A part of the derivative by one read: `value` where all guards hold, else 0. Kept apart, for
// where a guard does not hold the value may be infinite, or NaN.
struct ReadDerivative {
  Expr read;                       // as it stands in the body
  std::vector<SelectSide> guards;  // outermost first
  Expr value;
};

// Whether the gradient by a tensor is asked for, or by one that it is computed from.
using Wanted = std::function<bool(const Op&)>;

// Whether a wanted tensor is read where its value matters: in no index and no condition.
bool depends_on_wanted(const Expr& body, const Wanted& wanted);

// The parts by every read of a wanted tensor, in the order of the reads. `seed`: the derivative by
// the body itself. `result`: what has the value of the body, if something does; else undefined.
// Error, naming the operation (`what`), where the value passes through an integer.
std::vector<ReadDerivative> read_derivatives(const std::string& what, const Expr& body,
                                             const Expr& seed, const Expr& result,
                                             const Wanted& wanted);

// a + b and a * b of floats, without zeros and ones.
Expr plus(const Expr& a, const Expr& b);
Expr times(const Expr& a, const Expr& b);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DIFFERENTIATE_SCALAR_DERIVATIVES_H_
