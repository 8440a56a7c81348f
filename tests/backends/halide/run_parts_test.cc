// Kernels of nests whose loops are partitioned: one For for each part, and the same results, at
// every size around a tile.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "passes/lower/lower.h"
#include "passes/nest/partition_loops.h"
#include "passes/nest/verify_nest.h"
#include "tests/backends/halide/check_emitted.h"
#include "tests/backends/halide/nest_cases.h"
#include "tests/passes/nest/partition_graphs.h"

namespace emulsion {
namespace {

const Extent B = Extent::size("B");
const std::vector<int64_t> kAroundTiles = {0, 1, 3, 4, 5, 6, 7, 8, 12, 13, 23};

void expect_runs(const Schedule& schedule, const std::vector<std::string>& variables) {
  const LoopNest whole = lower(schedule.graph(), schedule);
  const LoopNest nest = partition_loops(whole, variables);
  ASSERT_NE(nest.root, whole.root) << to_string(whole);
  verify_nest(nest);
  const EmittedCheck check = check_emitted(nest);
  EXPECT_EQ(check.difference, "") << to_string(nest);
  expect_same_as_graph(schedule.graph(), nest, kAroundTiles, 0);
}

TEST(RunParts, Remainders) {
  for (const Extent& extent : {Extent(10), B}) {
    expect_runs(doubled(extent), {"y.io"});
    Schedule vectors = doubled(extent, Tail::predicate);
    vectors["y"].vectorize(Axis("ii"));
    expect_runs(vectors, {"y.io"});
    Schedule threads = doubled(extent);
    threads["y"].parallel(Axis("io")).unroll(Axis("ii"));
    expect_runs(threads, {"y.io"});
  }
  expect_runs(doubled(10, Tail::shift_inwards), {"y.io"});
}

TEST(RunParts, MasksOfStores) {
  Schedule schedule = doubled(B, Tail::predicate_stores);
  schedule["y"].vectorize(Axis("ii"));
  expect_runs(schedule, {"y.io"});
}

TEST(RunParts, ClampedStencils) {
  for (const Extent& extent : {Extent(9), B}) {
    expect_runs(Schedule(stencil(extent)), {"y.i"});
    expect_runs(Schedule(blur(extent, extent)), {"y.i", "y.j"});
    const Axis io("io"), jo("jo"), ii("ii"), ji("ji");
    Schedule tiles(blur(extent, 21));
    tiles["y"].tile(Axis("i"), Axis("j"), io, jo, ii, ji, 4, 8).parallel(io).vectorize(ji);
    expect_runs(tiles, {"y.io", "y.jo"});
  }
}

TEST(RunParts, ProductsInTiles) {
  for (const Extent& extent : {Extent(13), B}) {
    expect_runs(product(extent), {"y.io", "y.jo"});
    Schedule schedule = product(extent);
    schedule["y"].vectorize(Axis("ji")).parallel(Axis("io"));
    schedule["mm"]
        .reorder({Axis("n"), Axis("m"), Axis("k")})
        .vectorize(Axis("n"))
        .unroll(Axis("m"));
    schedule["mm"].store_in(Memory::registers);
    expect_runs(schedule, {"y.io"});
  }
}

TEST(RunParts, OffsetsThatAreAsserted) {
  // What the interior reads without its clamps is inside the memory.
  CompileOptions options;
  options.checked = true;
  const Graph graph = blur(B, B);
  const LoopNest nest = partition_loops(lower(graph, Schedule(graph)), {"y.i", "y.j"});
  expect_same_as_graph(graph, nest, kAroundTiles, 0, Target::host(), options);
}

}  // namespace
}  // namespace emulsion
