#ifndef EMULSION_PASSES_NEST_VERIFY_NEST_TABLES_H_
#define EMULSION_PASSES_NEST_VERIFY_NEST_TABLES_H_

// The first rules of verify_nest: what a nest says before its tree, that is sizes, buffers, stages
// and packs. A part of verify_nest.

#include "passes/nest/loop_nest.h"

namespace emulsion {

void verify_nest_tables(const LoopNest& nest);

}  // namespace emulsion

#endif  // EMULSION_PASSES_NEST_VERIFY_NEST_TABLES_H_
