#ifndef EMULSION_PASSES_NEST_VERIFY_NEST_TABLES_H_
#define EMULSION_PASSES_NEST_VERIFY_NEST_TABLES_H_

// The first rules of verify_nest: what a nest says before its tree, that is sizes, buffers, stages
// and packs. A part of verify_nest.

#include <set>
#include <string>

#include "passes/nest/loop_nest.h"

namespace emulsion {

void verify_nest_tables(const LoopNest& nest);

// The axes that are loops once all transforms are done. Those of reduction axes are there in the
// update only.
std::set<std::string> loop_axes(const Stage& stage, Part part);
std::set<std::string> reduction_loop_axes(const Stage& stage);

}  // namespace emulsion

#endif  // EMULSION_PASSES_NEST_VERIFY_NEST_TABLES_H_
