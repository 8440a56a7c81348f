#ifndef EMULSION_TESTS_BACKENDS_TILE_MACHINE_PLAN_TEST_PROGRAMS_H_
#define EMULSION_TESTS_BACKENDS_TILE_MACHINE_PLAN_TEST_PROGRAMS_H_

// Tile programs without a loop nest behind them, and the checks that every plan has to pass.

#include <cstdint>

#include "backends/tile_machine/plan/plan_scratchpad.h"
#include "backends/tile_machine/plan/tile_program.h"
#include "backends/tile_machine/plan/time_plan.h"

namespace emulsion {

// y = max(x * w + b, 0), all f32: for each tile of y a start value, an update for each tile of k,
// an epilogue, a Store. Tiles at the edges are smaller.
TileProgram matmul_program(int64_t m, int64_t n, int64_t k, int64_t tile);

// `steps` executes that read one to three of `tiles` input tiles of 64 bytes and write one result,
// each its own.
TileProgram random_reads(uint64_t seed, int tiles, int steps);

// Executes over `tiles` tiles of several sizes, read, overwritten, accumulated to and stored in any
// order; with `overlapping`, tiles of one buffer that share elements.
TileProgram random_program(uint64_t seed, int tiles, int steps, bool overlapping);

// A machine with this much SRAM, and an alignment of 64 bytes.
TileMachine machine_with(int64_t sram_bytes, bool double_buffer = false);

// The SRAM that the step with the largest operands needs, at that alignment.
int64_t largest_need(const TileProgram& program);

// Plans, times, verifies; returns the plan. Any failure is an exception.
ScratchpadPlan checked_plan(const TileProgram& program, const TileMachine& machine,
                            EvictionPolicy policy);

}  // namespace emulsion

#endif  // EMULSION_TESTS_BACKENDS_TILE_MACHINE_PLAN_TEST_PROGRAMS_H_
