#include "passes/nest/nest_passes.h"

#include "passes/nest/partition_loops.h"
#include "passes/nest/simplify_nest.h"

namespace emulsion {

const std::vector<NestPass>& nest_passes() {
  static const std::vector<NestPass> kPasses = {
      {"partition_loops", [](const LoopNest& nest) { return partition_loops(nest); }},
      {"simplify_nest", simplify_nest},
  };
  return kPasses;
}

LoopNest run_nest_passes(LoopNest nest) {
  for (const NestPass& pass : nest_passes()) nest = pass.run(nest);
  return nest;
}

}  // namespace emulsion
