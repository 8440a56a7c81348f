#ifndef EMULSION_BACKENDS_TILE_MACHINE_PLAN_TILE_COST_H_
#define EMULSION_BACKENDS_TILE_MACHINE_PLAN_TILE_COST_H_

// What a tile costs on a tile machine, in bytes of SRAM and in cycles: the formulas of
// dsl/tile_machine.h.
//
//   memory  --load unit-->  SRAM  --store unit-->  memory
//                            ^|
//                       execute unit
//
// Three units, each working through its own queue in order, one uOp at a time; the three run side
// by side wherever the addresses allow it. Every operand of an Execute is in SRAM, and nothing
// moves inside SRAM. A model, not a measurement: no latency, no arbitration between the units, no
// bank conflict.

#include <cstdint>

#include "dsl/tile_machine.h"

namespace emulsion {

// The bytes that a tile takes up in SRAM: `bytes` rounded up to the alignment.
int64_t footprint(const TileMachine& machine, int64_t bytes);

int64_t load_cycles(const TileMachine& machine, int64_t bytes);
int64_t store_cycles(const TileMachine& machine, int64_t bytes);
// Of an Execute with `macs` multiply-adds (0: a start value, an epilogue) that writes `elements`.
// More multiply-adds than a tile has take as many times as long.
int64_t execute_cycles(const TileMachine& machine, int64_t macs, int64_t elements);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_TILE_MACHINE_PLAN_TILE_COST_H_
