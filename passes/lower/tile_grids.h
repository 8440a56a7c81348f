#ifndef EMULSION_PASSES_LOWER_TILE_GRIDS_H_
#define EMULSION_PASSES_LOWER_TILE_GRIDS_H_

// The grid of every contraction whose update is in tile loops, from the plan of its loops
// (TileGrid, loop_nest.h). Contractions are recognised before regions are inferred, because clamps
// hide what a read is. Private to passes/lower/.

#include <map>
#include <string>
#include <vector>

#include "passes/analyse/recognise_op.h"
#include "passes/lower/stage_plan.h"

namespace emulsion {

// By stage; those with tile loops only.
std::map<std::string, Contraction> tiled_contractions(const NestPlan& plan);
// After infer_regions().
std::vector<TileGrid> tile_grids(const NestPlan& plan,
                                 const std::map<std::string, Contraction>& contractions);

}  // namespace emulsion

#endif  // EMULSION_PASSES_LOWER_TILE_GRIDS_H_
