#ifndef EMULSION_BACKENDS_HALIDE_REFUSE_TILES_H_
#define EMULSION_BACKENDS_HALIDE_REFUSE_TILES_H_

// A nest for a tile machine is none for a CPU, which has no scratchpad and no uOp of a whole tile:
// said before Halide sees it.

#include "passes/nest/loop_nest.h"

namespace emulsion {

// ScheduleError: a stage stored in the scratchpad, or loops of a tile.
void refuse_tiles(const LoopNest& nest);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_HALIDE_REFUSE_TILES_H_
