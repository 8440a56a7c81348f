#ifndef EMULSION_BACKENDS_TILE_MACHINE_PLAN_COLLECT_TILES_H_
#define EMULSION_BACKENDS_TILE_MACHINE_PLAN_COLLECT_TILES_H_

// The tile program of a loop nest: its uOps (passes/analyse/uop_list.h) with their boxes turned
// into tiles.
//
// - A scratchpad stage that a Load fills from memory at the same indices is a view of that buffer:
//   its tiles are the buffer's tiles, whichever stage loads them. So is one that a Store empties.
// - Filled in another order (a transposed copy) its tiles are its own; their homes are the boxes
//   that they come from.
// - Every other scratchpad stage (an accumulator) has tiles of its own, with spill areas as homes.
// - What an Execute reads from memory, or writes to it, without a Load or Store in the nest goes
//   through SRAM all the same.
// - A Store to an internal buffer is left out: the tile stays in SRAM for its readers, and goes to
//   memory when its space is needed.
//
// Boxes are cut off at the ends of the domain: tiles at the edges are smaller.

#include <cstdint>
#include <vector>

#include "backends/tile_machine/plan/tile_program.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

// What a step computes, for whoever runs it: the stage's body over the box of the written tile.
struct StepWork {
  int32_t stage = -1;  // position in LoopNest::stages
  Part part = Part::pure;
  // update: the box of the reduction axes
  std::vector<int64_t> reduction_mins, reduction_extents;
  // Which operand stands for each buffer that the body reads: position in LoopNest::buffers, and in
  // TileProgram::tiles.
  struct Read {
    int32_t buffer;
    TileId tile;
  };
  std::vector<Read> reads;
};

struct NestTiles {
  TileProgram program;          // its buffers are those of the nest, in the same order
  std::vector<StepWork> works;  // parallel to the steps; empty unless asked for
  // By buffer: the stage that computes its tiles while they are loaded; -1: bytes are copied.
  std::vector<int32_t> loaders;
};

// Error: an Execute that reads a box of the scratchpad that lies in no tile of it, naming both; a
// run-time size without a value.
NestTiles collect_tiles(const LoopNest& nest, const SizeValues& sizes = {},
                        bool with_works = false);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_TILE_MACHINE_PLAN_COLLECT_TILES_H_
