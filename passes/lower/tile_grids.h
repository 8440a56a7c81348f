#ifndef EMULSION_PASSES_LOWER_TILE_GRIDS_H_
#define EMULSION_PASSES_LOWER_TILE_GRIDS_H_

// The grid of every contraction whose update is in tile loops, from its loops and its region
// (TileGrid, loop_nest.h). Private to passes/lower/.

#include <vector>

#include "passes/lower/stage_plan.h"
#include "passes/lower/stage_region.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

std::vector<TileGrid> tile_grids(const NestPlan& nest, const std::vector<StageRegion>& regions);

}  // namespace emulsion

#endif  // EMULSION_PASSES_LOWER_TILE_GRIDS_H_
