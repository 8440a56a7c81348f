// What it costs to ask a nest for a tile machine about its uOps, for square matmuls: counting and
// the first uOp take microseconds at any size, because no list is built; walking the list takes
// time for each uOp and no memory. Planning its scratchpad takes time and memory for each.
// `executes` is the count itself: 2,097,152 for 4096 cubed in tiles of 32.

#include <benchmark/benchmark.h>

#include <cstdio>

#include "backends/tile_machine/plan/collect_tiles.h"
#include "backends/tile_machine/plan/plan_scratchpad.h"
#include "backends/tile_machine/plan/time_plan.h"
#include "dsl/operators.h"
#include "passes/analyse/measure_traffic.h"
#include "passes/analyse/uop_list.h"
#include "passes/pipeline.h"

namespace emulsion {
namespace {

LoopNest matmul_nest(int64_t n) {
  const Graph graph(matmul(input("x", f32, {n, n}), weight("w", f32, {n, n}), "y"));
  return run_pipeline(graph, Target::tile_machine()).nest;
}

void BM_DeriveAndLower(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(matmul_nest(state.range(0)));
}
BENCHMARK(BM_DeriveAndLower)->Arg(4096)->Unit(benchmark::kMicrosecond);

void BM_CountUops(benchmark::State& state) {
  const LoopNest nest = matmul_nest(state.range(0));
  UopCounts counts;
  for (auto _ : state) benchmark::DoNotOptimize(counts = count_uops(nest));
  state.counters["executes"] = static_cast<double>(counts.executes);
  state.counters["uops"] = static_cast<double>(counts.total());
}
BENCHMARK(BM_CountUops)->Arg(128)->Arg(1024)->Arg(4096)->Arg(16384)->Unit(benchmark::kMicrosecond);

void BM_MeasureTraffic(benchmark::State& state) {
  const LoopNest nest = matmul_nest(state.range(0));
  Traffic traffic;
  for (auto _ : state) traffic = measure_traffic(nest, {}, TrafficModel::uop);
  state.counters["elements"] = static_cast<double>(traffic.elements());
}
BENCHMARK(BM_MeasureTraffic)->Arg(128)->Arg(4096)->Unit(benchmark::kMicrosecond);

void BM_FirstUop(benchmark::State& state) {
  const LoopNest nest = matmul_nest(state.range(0));
  for (auto _ : state) {
    const UopList list(nest);
    benchmark::DoNotOptimize(list.begin()->bytes);
  }
}
BENCHMARK(BM_FirstUop)->Arg(128)->Arg(4096)->Unit(benchmark::kMicrosecond);

void BM_WalkUops(benchmark::State& state) {
  const LoopNest nest = matmul_nest(state.range(0));
  const UopList list(nest);
  int64_t bytes = 0;
  for (auto _ : state) {
    for (const Uop& uop : list) bytes += uop.bytes;
  }
  benchmark::DoNotOptimize(bytes);
  state.SetItemsProcessed(state.iterations() * list.size());
}
BENCHMARK(BM_WalkUops)->Arg(512)->Arg(1024)->Unit(benchmark::kMillisecond);

// Addresses and cycles for every uOp, Belady's choice of what leaves SRAM.
void BM_PlanScratchpad(benchmark::State& state) {
  const TileProgram program = collect_tiles(matmul_nest(state.range(0))).program;
  PlanTiming timing;
  for (auto _ : state) {
    timing = time_plan(program, plan_scratchpad(program, TileMachine{}));
  }
  state.counters["cycles"] = static_cast<double>(timing.total);
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(program.steps.size()));
}
BENCHMARK(BM_PlanScratchpad)->Arg(1024)->Arg(4096)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace emulsion

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv, [] {
    std::puts(
        "Measures what it costs to derive, count, weigh, list and plan the uOps of a tile "
        "machine.\n"
        "\n"
        "Examples:\n"
        "  ./bazelw run -c opt //benchmarks:uops -- --benchmark_filter=BM_CountUops\n"
        "  ./bazelw run -c opt //benchmarks:uops -- --benchmark_format=json\n"
        "\n"
        "The options are Google Benchmark's; --benchmark_list_tests prints the names.");
  });
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
