#include "backends/halide/refuse_tiles.h"

#include <gtest/gtest.h>

#include "backends/halide/jit.h"
#include "dsl/error.h"
#include "dsl/operators.h"
#include "passes/lower/lower.h"
#include "tests/passes/expect_error.h"

namespace emulsion {
namespace {

// y = 2 x, t = 2 x computed at a row of y.
Schedule two_stages() {
  Axis m("m", 4), n("n", 8);
  Tensor t = compute("t", {m, n}, input("x", f32, {4, 8})(m, n) * 2.0f);
  Schedule schedule(compute("y", {m, n}, t(m, n) + 1.0f));
  schedule["t"].compute_at("y", m);
  return schedule;
}

TEST(RefuseTiles, AcceptsACpuNest) {
  const Schedule schedule = two_stages();
  EXPECT_NO_THROW(refuse_tiles(lower(schedule.graph(), schedule)));
}

TEST(RefuseTiles, NamesTheStageInTheScratchpad) {
  Schedule schedule = two_stages();
  schedule["t"].store_in(Memory::scratchpad);
  const LoopNest nest = lower(schedule.graph(), schedule);
  EXPECT_TRUE(throws_with<ScheduleError>([&] { refuse_tiles(nest); },
                                         "t.store_in(scratchpad): expected memory that a CPU has"));
  EXPECT_TRUE(
      throws_with<ScheduleError>([&] { JitKernel kernel(nest); }, "t.store_in(scratchpad)"));
}

TEST(RefuseTiles, NamesTheLoopOfATile) {
  Schedule schedule = two_stages();
  schedule["y"].tensorize(Axis("n"));
  const LoopNest nest = lower(schedule.graph(), schedule);
  EXPECT_TRUE(throws_with<ScheduleError>([&] { refuse_tiles(nest); },
                                         "y.tensorize(n): expected loops that a CPU runs"));
  EXPECT_TRUE(throws_with<ScheduleError>([&] { JitKernel kernel(nest); }, "y.tensorize(n)"));
}

}  // namespace
}  // namespace emulsion
