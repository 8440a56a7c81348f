#ifndef EMULSION_PASSES_NEST_NEST_PASSES_H_
#define EMULSION_PASSES_NEST_NEST_PASSES_H_

#include <vector>

#include "passes/nest/loop_nest.h"

namespace emulsion {

// What rewrites a nest between its making and a backend. The values that it computes, and what
// verify_nest() proves of it, stay.
struct NestPass {
  const char* name;  // as EMULSION_DUMP shows it
  LoopNest (*run)(const LoopNest& nest);
};

// All of them, in the order in which they run.
const std::vector<NestPass>& nest_passes();
LoopNest run_nest_passes(LoopNest nest);

}  // namespace emulsion

#endif  // EMULSION_PASSES_NEST_NEST_PASSES_H_
