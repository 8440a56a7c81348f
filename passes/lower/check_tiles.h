#ifndef EMULSION_PASSES_LOWER_CHECK_TILES_H_
#define EMULSION_PASSES_LOWER_CHECK_TILES_H_

// Whether a nest, derived or scheduled by hand, is a program that a tile machine can run: the
// constraints of the hardware, each by name.
//
//   tile       an Execute has at most tile_m x tile_n x tile_k multiply-adds
//   operands   an Execute reads the scratchpad only; Loads bring in what it needs
//   alignment  the rows of full tiles (tile_k elements of A, tile_n of B and C) start aligned
//   capacity   all tiles that are live at once, each from an aligned address, fit the scratchpad:
//              each twice with double buffering, so that the next one can be filled

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dsl/tile_machine.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

struct ScratchpadTile {
  std::string stage;
  int64_t bytes;  // rounded up to the alignment
};
struct ScratchpadNeed {
  int64_t bytes = 0;                  // with both copies when double buffering
  std::vector<ScratchpadTile> tiles;  // those that are live where the need is greatest
};
// Of regions of constant size, as every scratchpad region is.
ScratchpadNeed scratchpad_need(const LoopNest& nest, const TileMachine& machine);

// Nothing when the machine can run the nest, else "tile machine, capacity: y needs 24576 bytes of
// scratchpad (x_tile 4096, ...; twice for double buffering), the limit is 16384".
std::optional<std::string> why_not_tiles(const LoopNest& nest, const TileMachine& machine);

}  // namespace emulsion

#endif  // EMULSION_PASSES_LOWER_CHECK_TILES_H_
