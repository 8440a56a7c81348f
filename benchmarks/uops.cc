// What it costs to ask a nest for a tile machine about its uOps, for square matmuls. Counting and
// the first uOp take microseconds at any size, because no list is built. Walking the list takes
// time for each uOp and no memory. Planning its scratchpad takes time and memory for each.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/tile_machine/plan/collect_tiles.h"
#include "backends/tile_machine/plan/plan_scratchpad.h"
#include "backends/tile_machine/plan/time_plan.h"
#include "benchmarks/comparison.h"
#include "dsl/operators.h"
#include "passes/analyse/measure_traffic.h"
#include "passes/analyse/uop_list.h"
#include "passes/pipeline.h"

namespace emulsion::benchmarks {
namespace {

constexpr char kMeasures[] =
    "Measures what it costs to derive, count, weigh, list and plan the uOps of a tile machine, "
    "for\n"
    "square matmuls in tiles of 32.";

LoopNest matmul_nest(int64_t n) {
  Tensor x = input("x", f32, {n, n}), w = weight("w", f32, {n, n});
  const Graph graph(matmul(x, w, "y"));
  return run_pipeline(graph, Target::tile_machine()).nest;
}

void walk(const UopList& list) {
  int64_t bytes = 0;
  for (const Uop& uop : list) bytes += uop.bytes;
  benchmark::DoNotOptimize(bytes);
}

Report run(const ProgramOptions& options) {
  Report report;
  std::vector<Comparison> all;
  // With no work what counts is the time of a call; else how many uOps a second.
  auto add = [&all](const std::string& what, int64_t n, Call call, double uops = 0) {
    Comparison one{fmt::format("{}/{}", what, n), uops > 0 ? "Muop/s" : "us", uops * 1e-6};
    one.emulsion.call = std::move(call);
    all.push_back(std::move(one));
  };
  auto nest_of = [](int64_t n) { return std::make_shared<const LoopNest>(matmul_nest(n)); };
  add("derive_and_lower", 4096, [] { benchmark::DoNotOptimize(matmul_nest(4096)); });
  for (int64_t n : {128, 1024, 4096, 16384}) {
    const auto nest = nest_of(n);
    add("count", n, [nest] { benchmark::DoNotOptimize(count_uops(*nest)); });
    const UopCounts counts = count_uops(*nest);
    report.notes.push_back(fmt::format(
        "a matmul of {0}x{0}x{0}: {1} executes, {2} uOps, {3} elements moved", n, counts.executes,
        counts.total(), measure_traffic(*nest, {}, TrafficModel::uop).elements()));
  }
  for (int64_t n : {128, 4096}) {
    const auto nest = nest_of(n);
    add("weigh", n, [nest] {
      benchmark::DoNotOptimize(measure_traffic(*nest, {}, TrafficModel::uop).elements());
    });
    add("first", n, [nest] { benchmark::DoNotOptimize(UopList(*nest).begin()->bytes); });
  }
  for (int64_t n : {512, 1024}) {
    const auto nest = nest_of(n);
    const auto list = std::make_shared<const UopList>(*nest);
    add(
        "walk", n, [nest, list] { walk(*list); }, static_cast<double>(list->size()));
  }
  // Addresses and cycles for every uOp, and Belady's choice of what leaves SRAM.
  for (int64_t n : {1024, 4096}) {
    const auto program = std::make_shared<const TileProgram>(collect_tiles(*nest_of(n)).program);
    auto plan = [program] { return time_plan(*program, plan_scratchpad(*program, TileMachine{})); };
    add(
        "plan", n, [plan] { benchmark::DoNotOptimize(plan()); },
        static_cast<double>(program->steps.size()));
  }
  report.rows = measure(all, options);
  return report;
}

}  // namespace
}  // namespace emulsion::benchmarks

int main(int argc, char** argv) {
  using namespace emulsion::benchmarks;
  return run_program(argc, argv, {"uops", kMeasures, "--benchmark_filter=count", run});
}
