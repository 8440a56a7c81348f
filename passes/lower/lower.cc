#include "passes/lower/lower.h"

#include "passes/lower/make_nest.h"
#include "passes/nest/verify_nest.h"
#include "passes/pipeline.h"

namespace emulsion {

LoopNest lower(const Graph& graph, const Schedule& schedule) {
  LoopNest nest = run_nest_passes(make_nest(graph, schedule));
#ifndef NDEBUG
  verify_nest(nest);
#endif
  return nest;
}

}  // namespace emulsion
