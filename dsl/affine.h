#ifndef EMULSION_DSL_AFFINE_H_
#define EMULSION_DSL_AFFINE_H_

// Index arithmetic: when an integer expression is affine in the axes, what it is; and whether an
// index stays inside its tensor for every iteration and every run-time size. Bounds are proved,
// never assumed: a kernel is compiled without run-time bounds checks because of this file.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dsl/expr.h"
#include "dsl/extent.h"

namespace emulsion {

// sum of coefficient * axis, plus an extent.
struct Affine {
  std::map<std::string, int64_t> coefficients;  // axis name -> coefficient, never 0
  Extent offset;
};

std::optional<Affine> affine_of(const Expr& index);

// Extents of the axes in scope, by name.
using AxisExtents = std::map<std::string, Extent>;

// The largest value over all iterations, in the run-time sizes.
Extent largest_value(const Affine& a, const AxisExtents& axes);

// A part of an index whose value i32 does not hold in some iteration, and its least and greatest.
struct BeyondI32 {
  Expr part;
  int64_t low, high;
};
// One that anything but a sum or a product is computed from, in which it would wrap around: as in
// i * 1000000 / 1000000. Only of axes whose extents are numbers, and of no data.
std::optional<BeyondI32> part_beyond_i32(const Expr& index, const AxisExtents& axes);

// Whether 0 <= index < extent is proved for every iteration. Run-time sizes may be 0, but for what
// follows from an axis in scope (no iteration happens when its extent is 0) and from `not_empty`:
// extents that are known to be at least 1.
bool proves_in_bounds(const Expr& index, const Extent& extent, const AxisExtents& axes,
                      const std::vector<Extent>& not_empty = {});

}  // namespace emulsion

#endif  // EMULSION_DSL_AFFINE_H_
