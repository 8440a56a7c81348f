#ifndef EMULSION_PASSES_DERIVE_JOINED_SUMS_H_
#define EMULSION_PASSES_DERIVE_JOINED_SUMS_H_

// Producers of a group of rows that are computed in the loop of the sums that read them first, a
// step ahead, so that a row is walked once less: the powers of a softmax with their total. Private
// to passes/derive/.

#include <cstdint>
#include <map>

#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "dsl/target.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/row_groups.h"

namespace emulsion {

// Members of a group that sum up a row, and of each the producer that is computed with them.
// `in_output`: what waits in the memory of an output, or null. `in_blocks`: whether several rows of
// a block are computed at a time.
using JoinedSums = std::map<const Op*, const Op*>;
JoinedSums joined_sums(const RowGroup& group, const Op* in_output, bool in_blocks,
                       const Target& target);
// How many vectors of sums are added to at a time, at most, where `producer` is computed with them.
// Of a series an addition is done before the next element is there to be added, and its constants
// take so many registers that few are left for sums.
int64_t vectors_beside(const Op& producer, const Op& sums, const Target& target);
// The loops of both, of which `lanes` are those of the sums:
//   for row: alloc op: for r: op; for r: lanes += op  ->  for row: alloc op: for r: op, lanes += op
void compute_with_sums(const Op& op, const Op& sums, const SumsInLanes& lanes, const Target& target,
                       Schedule* schedule);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_JOINED_SUMS_H_
