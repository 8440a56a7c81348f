#ifndef EMULSION_PASSES_LOWER_MAKE_NEST_H_
#define EMULSION_PASSES_LOWER_MAKE_NEST_H_

// Graph + Schedule -> LoopNest, before the passes over nests (passes/pipeline.h). Every directive
// is honoured or refused with a ScheduleError that names it, the operation, what was found and what
// would be legal; nothing is silently replaced.

#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

// Loop groups of the graph have to be in the nest as the graph says (check_loop_groups.h).
LoopNest make_nest(const Graph& graph, const Schedule& schedule);

}  // namespace emulsion

#endif  // EMULSION_PASSES_LOWER_MAKE_NEST_H_
