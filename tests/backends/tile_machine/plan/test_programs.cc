#include "tests/backends/tile_machine/plan/test_programs.h"

#include <algorithm>
#include <random>
#include <vector>

#include "backends/tile_machine/plan/tile_cost.h"
#include "backends/tile_machine/plan/verify_plan.h"
#include "dsl/error.h"

namespace emulsion {
namespace {

int pick(std::mt19937_64* random, int count) {
  return static_cast<int>((*random)() % static_cast<uint64_t>(count));
}

}  // namespace

TileProgram matmul_program(int64_t m, int64_t n, int64_t k, int64_t tile) {
  TileProgramBuilder builder;
  const BufferId x = builder.add_buffer("x", 4);
  const BufferId w = builder.add_buffer("w", 4);
  const BufferId b = builder.add_buffer("b", 4);
  const BufferId mm = builder.add_buffer("mm", 4);
  const BufferId y = builder.add_buffer("y", 4, true);
  for (int64_t m0 = 0; m0 < m; m0 += tile) {
    for (int64_t n0 = 0; n0 < n; n0 += tile) {
      const int64_t mt = std::min(tile, m - m0);
      const int64_t nt = std::min(tile, n - n0);
      const TileId sum = builder.add_tile(mm, {m0, n0}, {mt, nt});
      builder.add_execute("mm", {}, sum, false, 0);
      for (int64_t k0 = 0; k0 < k; k0 += tile) {
        const int64_t kt = std::min(tile, k - k0);
        const TileId left = builder.add_tile(x, {m0, k0}, {mt, kt});
        const TileId right = builder.add_tile(w, {k0, n0}, {kt, nt});
        builder.count_load();
        builder.count_load();
        builder.add_execute("mm", {left, right}, sum, true, mt * nt * kt);
      }
      const TileId result = builder.add_tile(y, {m0, n0}, {mt, nt});
      builder.count_load();
      builder.add_execute("y", {sum, builder.add_tile(b, {n0}, {nt})}, result, false, 0);
      builder.add_store("y", result);
    }
  }
  return builder.take();
}

TileProgram random_reads(uint64_t seed, int tiles, int steps) {
  std::mt19937_64 random(seed);
  TileProgramBuilder builder;
  const BufferId x = builder.add_buffer("x", 4);
  const BufferId y = builder.add_buffer("y", 4);
  for (int s = 0; s < steps; ++s) {
    std::vector<TileId> reads;
    for (int i = 1 + pick(&random, 3); i > 0; --i) {
      reads.push_back(builder.add_tile(x, {16 * pick(&random, tiles)}, {16}));
    }
    builder.add_execute("f", reads, builder.add_tile(y, {16 * s}, {16}), false, 0);
  }
  return builder.take();
}

TileProgram random_program(uint64_t seed, int tiles, int steps, bool overlapping) {
  std::mt19937_64 random(seed);
  TileProgramBuilder builder;
  const BufferId inside = builder.add_buffer("inside", 4);
  const BufferId output = builder.add_buffer("output", 4, true);
  std::vector<TileId> all;
  for (int t = 0; t < tiles; ++t) {
    const BufferId buffer = pick(&random, 3) == 0 ? output : inside;
    const int64_t extent = 1 + pick(&random, 90);
    const int64_t min = overlapping ? pick(&random, 400) : 100 * t;
    all.push_back(builder.add_tile(buffer, {min, 0}, {extent, 1 + pick(&random, 2)}));
  }
  auto any = [&] { return all[static_cast<size_t>(pick(&random, tiles))]; };
  for (int s = 0; s < steps; ++s) {
    const TileId written = any();
    if (pick(&random, 8) == 0) {
      builder.add_store("s", written);
      continue;
    }
    // What a step reads shares no element with what it writes.
    std::vector<TileId> reads;
    for (int i = pick(&random, 4); i > 0; --i) {
      const TileId read = any();
      const Tile& r = builder.program().tiles[read];
      const Tile& w = builder.program().tiles[written];
      if (r.buffer != w.buffer || r.mins[0] >= w.mins[0] + w.extents[0] ||
          w.mins[0] >= r.mins[0] + r.extents[0]) {
        reads.push_back(read);
      }
    }
    builder.add_execute("f", reads, written, pick(&random, 2) == 0, pick(&random, 100));
  }
  return builder.take();
}

TileMachine machine_with(int64_t sram_bytes, bool double_buffer) {
  TileMachine machine;
  machine.sram_bytes = sram_bytes;
  machine.alignment = 64;
  machine.double_buffer = double_buffer;
  return machine;
}

int64_t largest_need(const TileProgram& program) {
  int64_t most = 0;
  for (const TileStep& step : program.steps) {
    int64_t need = 0;
    for (size_t i = 0; i < step.operand_count; ++i) {
      need += footprint(machine_with(64), program.tiles[program.operand(step, i)].bytes);
    }
    most = std::max(most, need);
  }
  return most;
}

ScratchpadPlan checked_plan(const TileProgram& program, const TileMachine& machine,
                            EvictionPolicy policy) {
  ScratchpadPlan plan = plan_scratchpad(program, machine, policy);
  const PlanTiming timing = time_plan(program, plan);
  verify_plan(program, plan, timing);
  int64_t cycles = timing.execute_busy;
  for (const Stall& stall : timing.stalls) cycles += stall.span.end - stall.span.start;
  EMULSION_CHECK(cycles == timing.total, "{} cycles are explained, of {}", cycles, timing.total);
  return plan;
}

}  // namespace emulsion
