#ifndef EMULSION_PASSES_LOWER_LOWER_H_
#define EMULSION_PASSES_LOWER_LOWER_H_

// Graph + Schedule -> LoopNest. Every directive is honoured or refused with a ScheduleError that
// names it, the operation, what was found and what would be legal; nothing is silently replaced.
// Loop groups of the graph have to be in the nest as the graph says (check_loop_groups.h).

#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

// The nest that a backend gets: make_nest, then the passes of nest_passes.h.
LoopNest lower(const Graph& graph, const Schedule& schedule);
// Before those passes.
LoopNest make_nest(const Graph& graph, const Schedule& schedule);

}  // namespace emulsion

#endif  // EMULSION_PASSES_LOWER_LOWER_H_
