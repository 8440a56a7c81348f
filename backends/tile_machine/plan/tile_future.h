#ifndef EMULSION_BACKENDS_TILE_MACHINE_PLAN_TILE_FUTURE_H_
#define EMULSION_BACKENDS_TILE_MACHINE_PLAN_TILE_FUTURE_H_

// What a planner that sees the whole program knows about the tiles at every step: when each is
// named next, and whether the value that it has is needed again. One pass from the back.

#include <cstdint>
#include <limits>
#include <vector>

#include "backends/tile_machine/plan/tile_program.h"

namespace emulsion {

inline constexpr StepId kNever = std::numeric_limits<StepId>::max();

struct TileFuture {
  std::vector<StepId> first_use;  // of each tile
  // Of each position in TileProgram::operands: the next step that names the same tile.
  std::vector<StepId> next_use;
  // Of each of those positions: the tile's value after the step is read again, by that tile's name
  // or through a tile that overlaps it.
  std::vector<bool> needed;
  // Of each tile: the last step that may read its elements, under whatever name.
  std::vector<StepId> last_use;
};

TileFuture look_ahead(const TileProgram& program, const std::vector<std::vector<TileId>>& overlaps);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_TILE_MACHINE_PLAN_TILE_FUTURE_H_
