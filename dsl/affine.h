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
// Whether i32 holds its coefficients and the number of its offset.
bool i32_holds_terms(const Affine& sum);

// Extents of the axes in scope, by name.
using AxisExtents = std::map<std::string, Extent>;

// The largest, and the least, value over all iterations, in the run-time sizes.
Extent largest_value(const Affine& a, const AxisExtents& axes);
Extent least_value(const Affine& a, const AxisExtents& axes);

// A part of an index that i32 does not hold in some iteration, and its least and greatest value.
struct BeyondI32 {
  Expr part;
  int64_t low, high;
};
// The first such part that is divided, compared, clamped or chosen: i * 1000000 in i * 1000000 /
// 1000000. Terms of a sum may leave i32, since the sum wraps back. Of parts that are made of data
// or of run-time sizes nothing is known.
std::optional<BeyondI32> part_beyond_i32(const Expr& index, const AxisExtents& axes);

// Whether 0 <= index < extent is proved for every iteration. Run-time sizes may be 0, but for what
// follows from an axis in scope (no iteration happens when its extent is 0) and from `not_empty`:
// extents that are known to be at least 1.
bool proves_in_bounds(const Expr& index, const Extent& extent, const AxisExtents& axes,
                      const std::vector<Extent>& not_empty = {});

// Clamps that an index needs before proves_in_bounds holds of it.
struct NeededClamps {
  bool at_least_0 = false, at_most_last = false;  // max(index, 0), min(index, extent - 1)
};
// Those of an index that conditions keep inside, so that the clamps change nothing: `facts`, affine
// expressions that are 0 or more where the index is read; the conditions of selects within it; and
// that a remainder by an extent of 1 or more is less than that. Nothing where they do not keep it
// inside.
std::optional<NeededClamps> clamps_for_conditions(const Expr& index, const Extent& extent,
                                                  const AxisExtents& axes,
                                                  const std::vector<Extent>& not_empty,
                                                  const std::vector<Expr>& facts);
// max(min(index, extent - 1), 0), of that what is needed.
Expr clamped(const Expr& index, const Extent& extent, const NeededClamps& needed);

}  // namespace emulsion

#endif  // EMULSION_DSL_AFFINE_H_
