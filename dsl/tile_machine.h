#ifndef EMULSION_DSL_TILE_MACHINE_H_
#define EMULSION_DSL_TILE_MACHINE_H_

// A machine that computes on tiles: an array of multipliers beside an SRAM (the scratchpad) that
// the program fills and empties itself. Its program is a sequence of three uOps: Load (main memory
// to SRAM), Execute (SRAM to SRAM) and Store (SRAM to main memory), each of a whole tile. Targets
// hold one (dsl/target.h); passes/derive/derive_tiles.h makes schedules for it,
// backends/tile_machine plans its SRAM.
//
// The model of its time: a Load takes ceil(bytes / load_bytes_per_cycle) cycles, a Store likewise;
// an Execute of tile_m x tile_n x tile_k multiply-adds takes execute_cycles whether the tile is
// full or at an edge, any other Execute (a start value, an epilogue) ceil(elements written /
// elements_per_cycle).

#include <cstdint>
#include <string>

namespace emulsion {

struct TileMachine {
  // One Execute: C[tile_m, tile_n] += A[tile_m, tile_k] * B[tile_k, tile_n].
  int64_t tile_m = 32, tile_n = 32, tile_k = 32;
  int64_t sram_bytes = int64_t{256} << 10;
  int64_t alignment = 32;  // bytes: of every tile's address, and of each row of a full tile
  int64_t load_bytes_per_cycle = 64;
  int64_t store_bytes_per_cycle = 64;
  int64_t execute_cycles = 32;
  int64_t elements_per_cycle = 32;
  // Tiles of the next Execute are loaded while this one runs: every tile has room twice.
  bool double_buffer = true;

  bool operator==(const TileMachine& other) const;
  bool operator!=(const TileMachine& other) const { return !(*this == other); }
};

// Error: a number below 1 or too large, an alignment that is no power of two, an SRAM that is no
// multiple of the alignment.
void check_tile_machine(const TileMachine& machine);

// "tile-machine,tile=32x32x32,sram=262144,align=32,load=64,store=64,execute=32,elements=32,buffers=2"
// buffers: 2 with double buffering, else 1. Parses back to an equal machine.
std::string to_string(const TileMachine& machine);
// Settings in any order, each at most once; those left out as above. Error: another first word, an
// unknown or repeated setting (naming the legal ones), a value that is none, or what
// check_tile_machine refuses.
TileMachine parse_tile_machine(const std::string& text);

}  // namespace emulsion

#endif  // EMULSION_DSL_TILE_MACHINE_H_
