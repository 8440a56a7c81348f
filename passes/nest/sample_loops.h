#ifndef EMULSION_PASSES_NEST_SAMPLE_LOOPS_H_
#define EMULSION_PASSES_NEST_SAMPLE_LOOPS_H_

// Points of a nest to look at where looking at all of them would take too long: what is wrong with
// an index shows at the ends of a loop, or in its middle.

#include <cstdint>
#include <string>
#include <vector>

#include "passes/index/index_table.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

struct LoopSamples {
  IndexTable table;  // knows sizes and loop variables
  PointMask runs;    // 0: a loop has no iteration there
};

// Iterations of loops, outermost first: of each the first, the last and the one between, for every
// value that the sizes (`names`) take all together. All combinations where they are few; else the
// first of all loops, the last of all, and others at random.
LoopSamples sample_loops(const std::vector<const Loop*>& loops,
                         const std::vector<std::string>& names, const std::vector<int64_t>& sizes);

}  // namespace emulsion

#endif  // EMULSION_PASSES_NEST_SAMPLE_LOOPS_H_
