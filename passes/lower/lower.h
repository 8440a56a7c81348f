#ifndef EMULSION_PASSES_LOWER_LOWER_H_
#define EMULSION_PASSES_LOWER_LOWER_H_

#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

// Graph + Schedule -> the LoopNest that a backend gets: make_nest() (make_nest.h), which honours or
// refuses every directive, then the passes over nests of passes/pipeline.h.
LoopNest lower(const Graph& graph, const Schedule& schedule);

}  // namespace emulsion

#endif  // EMULSION_PASSES_LOWER_LOWER_H_
