#ifndef EMULSION_PASSES_DERIVE_FEW_SMALL_ROWS_H_
#define EMULSION_PASSES_DERIVE_FEW_SMALL_ROWS_H_

// Rows of a few elements (small_rows.h) of which a call says how many there are. Vectors across the
// rows are full only where these are as many as lanes. Of fewer, vectors lie along the elements, or
// across the steps of the axis around:
//
//   if B >= lanes: for tile: vector of rows, the last one of which starts earlier
//   else: for b: vectors along the elements of a row
//
// Private to passes/derive/.

#include <unordered_set>

#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "dsl/target.h"
#include "passes/derive/graph_reads.h"
#include "passes/derive/row_groups.h"

namespace emulsion {

// The group, and whether its rows can be computed along their elements, too: where they are a
// run-time number, and build_row_group() makes a group of the same members for which it pays.
// `taken`: what may not be in that.
RowGroup along_elements_too(const RowGroup& group, const Readers& readers, const Target& target,
                            const std::unordered_set<const Op*>& taken);

// The schedule of a group that may_go_along, in two or three ways. False where these do not compute
// the same members inline; then nothing was added.
bool derive_few_or_many(const RowGroup& group, const Target& target, Schedule* schedule);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_FEW_SMALL_ROWS_H_
