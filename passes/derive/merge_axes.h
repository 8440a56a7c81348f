#ifndef EMULSION_PASSES_DERIVE_MERGE_AXES_H_
#define EMULSION_PASSES_DERIVE_MERGE_AXES_H_

// Axes that lie one after another in the memory of everything that an operation reads and writes
// are one long axis: a feature map of 7 x 7 is 49 elements, and rows of 10 are one row. Vectors
// along the last axis alone would be half empty.
//
//   y[n, c, h, w] = x[n, c, h, w] * scale[c]  as  y'[n, c, hw] = x'[n, c, hw] * scale[c]
//
// The schedule says so by `fuse`; the quotients and remainders that this puts into the indices
// cancel where an address is made of them. So all axes but the outermost need numbers for extents.

#include <cstddef>
#include <optional>
#include <vector>

#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "dsl/target.h"

namespace emulsion {

struct MergedAxes {
  Op view;                   // the operation, as if all tensors had the merged axis
  std::vector<Axis> merged;  // of the operation; outermost first
  std::vector<Axis> fused;   // the names of the loops that they become, innermost two first

  // The loops of `view`; before all other directives on the stage's loops.
  void fuse(StageSchedule* stage) const;
};

// The last axes of a result, not before `first`, merged; nothing where these are fewer than two, or
// where the last one alone fills vectors. `group`: the operation, or the group that the result is
// the last member of, whose other members are computed inline.
std::optional<MergedAxes> merge_last_axes(const Op& group, size_t first, const Target& target);
// The last axes of a result that together are a vector or two, where the last one alone would leave
// most of a vector empty; nothing where something lies far apart in what is read. Of others than
// above a read may have these axes in any order, or some of them alone: it is shuffled.
//
//   y[n, i, j] = x[n, i, j] * scale[i]  as  y'[n, ij] = x'[n, ij] * scale[ij / 3]
std::optional<MergedAxes> merge_few_elements(const Op& op, const Target& target);
// The last axes of a result whose rows are a little longer or shorter than vectors, where a read
// has all of them as they lie in memory, or the last one alone, or the one before it: after a few
// vectors of the merged axis the same places of a row come again (repeated_reads.h).
//
//   y[i, j] = x[i, j] * w[j] + b[i]  as  y'[ij] = x'[ij] * w[ij % 5] + b[ij / 5]
std::optional<MergedAxes> merge_short_rows(const Op& op, const Target& target);
// Where there are so few of these rows beside each other that they are best one by one: a condition
// over run-time sizes; nothing where they are never.
std::optional<Expr> merges_few_rows(const MergedAxes& merged, const Target& target);
// The last two axes of pixels of a few values, where neighbours read one pixel together, or by
// turns, as of a picture that is made larger, or where pixels or values are read backwards. Lanes
// of vectors through pixels and values then read near one another, and the same places after a few
// vectors.
//
//   y[i, j, c] = x[i / 3, j / 3, c]  as  y'[i, jc] = x[i / 3, jc / 9, jc % 3]
std::optional<MergedAxes> merge_repeated_pixels(const Op& op, const Target& target);
// The last axes of planes that are computed side by side (match_planes), out of pixels that lie one
// after another: rows of whatever length are one.
//
//   y[c, i, j] = x[i, j, c]  as  y'[c, ij] = x'[ij, c]
std::optional<MergedAxes> merge_rows_of_planes(const Op& op, const Target& target);
// The last two axes of a reduction's results.
std::optional<MergedAxes> merge_result_axes(const Op& op, size_t first, const Target& target);
// The last reduction axes of what is summed up; else as above.
std::optional<MergedAxes> merge_reduction_axes(const Op& op, const Target& target);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_MERGE_AXES_H_
