#ifndef EMULSION_PASSES_LOWER_CHECK_LOOP_GROUPS_H_
#define EMULSION_PASSES_LOWER_CHECK_LOOP_GROUPS_H_

// What a graph says is fused is fused in the nest: a schedule may not take its loop groups apart.
// Private to passes/lower/.

#include "dsl/graph.h"
#include "passes/lower/stage_plan.h"

namespace emulsion {

// Error: a member of a loop group, but for its last one, that has storage outside of the loops of
// the last one, and no alternative inside them, which run-time sizes choose where that pays.
void check_loop_groups(const Graph& graph, const NestPlan& nest);

}  // namespace emulsion

#endif  // EMULSION_PASSES_LOWER_CHECK_LOOP_GROUPS_H_
