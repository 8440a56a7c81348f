#ifndef EMULSION_PASSES_DERIVE_MERGE_ROW_AXES_H_
#define EMULSION_PASSES_DERIVE_MERGE_ROW_AXES_H_

// Axes that say which row, of a group of rows, and that lie one after another in the memory of all
// that the group reads and computes, are one axis: x[174, 1, 74] has 174 rows, and x[R, 6, 18] has
// 6 R of them. Else rows would be computed a few at a time, those of the last of these axes. Of
// several axes as many of the last ones as lie so, in what comes from outside at whatever index.
//
//   for b: for r: m[b, r] = ..; y[b, r, c] = x[b, r, c] - m[b, r]
//     ->  for br: m[br] = ..; y[br, c] = x[br, c] - m[br]
//
// The schedule of the merged rows is that of the group, once each stage fuses these axes first:
// what is stored of a tile of rows has one axis then, too (merge_fused_axes of passes/lower). So
// all axes but the outermost need numbers for extents. Private to passes/derive/.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dsl/schedule.h"
#include "passes/derive/row_groups.h"

namespace emulsion {

// The axes of a stage that are to be fused, and the names of the loops that they become: innermost
// two first.
struct RowFuses {
  std::vector<Axis> axes;
  std::vector<std::string> loops;
};

struct MergedRows {
  RowGroup group;                         // as if the rows had one axis
  std::vector<OpPtr> ops;                 // its members
  std::map<std::string, RowFuses> fuses;  // of the stages of the group as it is
};

// Nothing where the rows have one axis already, or do not lie one after another in all members, or
// something is kept of them.
std::optional<MergedRows> merge_row_axes(const RowGroup& group);

// Derives the group as if its rows had one axis, where 1.5 times as much of it, or more, is
// computed at a time; else as it is. `at_a_time`: how much that is, whatever it is counted in.
void derive_with_merged_axes(
    const RowGroup& group, const std::function<double(const RowGroup& group)>& at_a_time,
    const std::function<void(const RowGroup& group, Schedule* schedule)>& derive,
    Schedule* schedule);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_MERGE_ROW_AXES_H_
