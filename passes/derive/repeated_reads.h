#ifndef EMULSION_PASSES_DERIVE_REPEATED_READS_H_
#define EMULSION_PASSES_DERIVE_REPEATED_READS_H_

// Elements that several neighbours read, x[i / 3], or that are read by turns, x[i % 3]. Which lane
// of a vector reads which element depends on where the vector starts, unless it is one of a block
// of as many vectors as the numbers have steps in common. What such a vector reads is loaded at
// once and shuffled (backends/halide/shuffled_loads.h); of any other, lane by lane.
//
//   for i: y[i] = x[i / 3]  ->  for i in blocks of 48: unrolled part in 3: vectorized lane in 16
//
// Private to passes/derive/.

#include <cstdint>

#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "dsl/target.h"

namespace emulsion {

// The steps of a block; 0 where an operation reads nothing in this way along its last axis,
// where powers of two do the same without blocks, or where the axis has not two blocks.
int64_t block_of_repeats(const Op& op, const Target& target);

// Whether the last block of an axis that has one at least may start earlier, so that it has all of
// its steps: its lanes then read what those of the others do.
bool has_blocks_to_shift(const Op& op, int64_t block);

// The loops of the last axis, or of a part of it, with blocks of that many steps. Returns whether
// the last one has less, so that the loop is to be cut. `has_block`: it is all of the axis, and
// known to have one.
bool vectorize_repeats(const Op& op, const Axis& along, int64_t block, bool has_block,
                       const Target& target, StageSchedule* stage);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_REPEATED_READS_H_
