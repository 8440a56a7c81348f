#ifndef EMULSION_TESTS_PASSES_STACK_TILES_H_
#define EMULSION_TESTS_PASSES_STACK_TILES_H_

// Schedules with storage of given sizes, for tests of what is on the stack.

#include <cstdint>
#include <vector>

#include "dsl/schedule.h"
#include "dsl/types.h"

namespace emulsion {

// Tiles t0, t1, ... of so many KiB each, all there at each step of y.i, which sums them up. Each
// divides the largest.
Schedule tiles_at_once(const std::vector<int64_t>& kib);

// Outputs y0, y1, ..., each with a tile at its steps, t0, t1, ..., of so many KiB and of the type.
Schedule tiles_in_turn(const std::vector<int64_t>& kib, const std::vector<DType>& types = {});

// t0 at each step of y.i, and in each step of y.j inside of it t1, which are summed up there.
Schedule nested_tiles(int64_t kib, int64_t inner_kib);

}  // namespace emulsion

#endif  // EMULSION_TESTS_PASSES_STACK_TILES_H_
