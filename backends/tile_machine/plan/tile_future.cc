#include "backends/tile_machine/plan/tile_future.h"

#include <algorithm>

namespace emulsion {

TileFuture look_ahead(const TileProgram& program,
                      const std::vector<std::vector<TileId>>& overlaps) {
  const size_t tiles = program.tiles.size();
  TileFuture future;
  future.first_use.assign(tiles, kNever);
  future.next_use.assign(program.operands.size(), kNever);
  future.needed.assign(program.operands.size(), false);
  future.last_use.assign(tiles, 0);
  for (StepId s = 0; s < program.steps.size(); ++s) {
    const TileStep& step = program.steps[s];
    for (size_t i = 0; i < step.operand_count; ++i) future.last_use[program.operand(step, i)] = s;
  }
  std::vector<StepId> last_named = future.last_use;
  for (TileId t = 0; t < tiles; ++t) {
    for (TileId other : overlaps[t]) {
      future.last_use[t] = std::max(future.last_use[t], last_named[other]);
    }
  }
  std::vector<bool> read_next(tiles, false);  // the next step that names the tile reads it
  for (size_t s = program.steps.size(); s-- > 0;) {
    const TileStep& step = program.steps[s];
    for (size_t i = 0; i < step.operand_count; ++i) {
      const size_t position = step.first_operand + i;
      const TileId tile = program.operands[position];
      future.next_use[position] = future.first_use[tile];
      future.needed[position] =
          overlaps[tile].empty() ? read_next[tile] : future.last_use[tile] > s;
      future.first_use[tile] = static_cast<StepId>(s);
      read_next[tile] = !(step.overwrites && i + 1u == step.operand_count);
    }
  }
  return future;
}

}  // namespace emulsion
