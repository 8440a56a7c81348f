#ifndef EMULSION_PASSES_LOWER_JOIN_LOOPS_H_
#define EMULSION_PASSES_LOWER_JOIN_LOOPS_H_

// compute_with between an operation and what it reads. Private to passes/lower/.

#include <vector>

#include "passes/lower/stage_plan.h"
#include "passes/lower/stage_region.h"

namespace emulsion {

// What is asked of the two operations: throws ScheduleRefusal.
void check_joins(const NestPlan& nest);
// The tree with these loops joined. Throws ScheduleRefusal where a step of the reader needs what a
// later step of the producer computes, or is not proved to need less.
NodePtr join_loops(NodePtr root, const NestPlan& nest, const std::vector<StageRegion>& regions);

}  // namespace emulsion

#endif  // EMULSION_PASSES_LOWER_JOIN_LOOPS_H_
