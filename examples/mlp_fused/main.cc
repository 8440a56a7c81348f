// A three-layer MLP becomes a program for a tile machine: fused, cut into tiles, lowered to uOps,
// its traffic counted before and after, and its tiles placed in the scratchpad, cycle by cycle.
//
//   mlp_fused [--target tile-machine,tile=32x32x32,...] [--batch 128] [--uops FILE]
//             [--policy belady|lru] [--plan FILE.svg] [--plan-json FILE.json]
//             [--lowering FILE]
//
// Ends with 1 and a message when the machine cannot run it, for example with
// --target tile-machine,sram=8192.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <string>

#include "backends/tile_machine/report/draw_scratchpad.h"
#include "backends/tile_machine/report/report_scratchpad.h"
#include "bazel/user_path.h"
#include "dsl/error.h"
#include "dsl/files.h"
#include "dsl/graph_text.h"
#include "dsl/operators.h"
#include "dsl/schedule_text.h"
#include "dsl/target.h"
#include "examples/measure_lowering.h"
#include "passes/analyse/measure_traffic.h"
#include "passes/analyse/uop_list.h"
#include "passes/lower/check_tiles.h"
#include "passes/lower/lower.h"
#include "passes/pipeline.h"

namespace {

using namespace emulsion;

struct Options {
  std::string target = Target::tile_machine().to_string();
  int64_t batch = 128;
  std::string uops;  // a file for the flat list
  std::string policy = "belady";
  std::string plan, plan_json;  // files for the scratchpad plan
};

Tensor layer(const Tensor& x, const std::string& number, int64_t from, int64_t to, bool last) {
  Tensor w = weight("w" + number, f32, {from, to}), b = weight("b" + number, f32, {to});
  Tensor biased = add(matmul(x, w, "mm" + number), b, last ? "y" : "biased" + number);
  return last ? biased : relu(biased, "h" + number);
}

// 256 -> 512 -> 256 -> 10; every size a multiple of 32 but the last.
Graph mlp() {
  Tensor x = input("x", f32, {Extent::size("B"), 256});
  Tensor h1 = layer(x, "1", 256, 512, false);
  Tensor h2 = layer(h1, "2", 512, 256, false);
  return Graph(layer(h2, "3", 256, 10, true));
}

void print_counts(const LoopNest& nest, const SizeValues& sizes) {
  const UopCounts counts = count_uops(nest, sizes);
  fmt::print("uOps: {} loads, {} inits, {} executes, {} stores; {} in all\n\n", counts.loads,
             counts.inits, counts.executes, counts.stores, counts.total());
}

void print_first_uops(const LoopNest& nest, const SizeValues& sizes) {
  constexpr int64_t kShown = 6;
  const UopList list(nest, sizes);
  fmt::print("The first of them:\n\n");
  int64_t shown = 0;
  for (auto at = list.begin(); at != list.end() && shown < kShown; ++at, ++shown) {
    fmt::print("{}\n", to_string(*at, nest));
  }
  fmt::print("\n");
}

void write_uops(const LoopNest& nest, const SizeValues& sizes, const std::string& path) {
  FileWriter file("uOps", user_path(path));
  const int64_t lines = write_json_lines(UopList(nest, sizes), file.stream());
  file.commit();
  fmt::print("{}: {} uOps, one JSON object a line\n\n", path, lines);
}

void plan_scratchpad(const LoopNest& nest, const TileMachine& machine, const SizeValues& sizes,
                     const Options& options) {
  const ScratchpadReport report = report_scratchpad(
      nest, machine, sizes, options.policy == "lru" ? EvictionPolicy::lru : EvictionPolicy::belady);
  fmt::print("\n{}", to_string(report));
  if (!options.plan.empty()) {
    write_file("plan", user_path(options.plan), draw_scratchpad(report));
    fmt::print("{}: the plan as a picture\n", options.plan);
  }
  if (!options.plan_json.empty()) {
    write_file("plan", user_path(options.plan_json), to_json(report));
  }
}

void run(const Options& options) {
  const Target target = Target::parse(options.target);
  if (!target.is_tile_machine()) {
    fail("--target: expected a tile machine (tile-machine,tile=32x32x32,...), got {}",
         options.target);
  }
  const SizeValues sizes = {{"B", options.batch}};
  const Graph graph = mlp();
  const Lowered lowered = run_pipeline(graph, target);
  const LoopNest unfused = lower(graph, Schedule(graph));
  lesson::measure_lowering("operator by operator", Schedule(graph));
  lesson::measure_lowering("fused, in tiles", lowered.schedule);

  fmt::print("Fusion: {} of {} edges\n\n{}\n", lowered.fusion.fused_count(),
             lowered.fusion.decisions.size(), to_string(lowered.fusion));
  fmt::print("The fused graph:\n\n{}\n", to_string(lowered.grouped));
  fmt::print("The schedule for {}:\n\n{}\n", target.to_string(), to_string(lowered.schedule));
  fmt::print("The loop nest:\n\n{}\n", to_string(lowered.nest));

  fmt::print("Tiles of each layer, rows x columns x depth, for a batch of {}:\n\n", options.batch);
  const std::map<std::string, int64_t> values(sizes.begin(), sizes.end());
  for (const TileGrid& grid : lowered.nest.tile_grids) {
    fmt::print("{:<3} {:>3} x {:>3} x {:>3} tiles of {} x {} x {}\n", grid.result,
               evaluate_index(grid.m, values), evaluate_index(grid.n, values),
               evaluate_index(grid.k, values), grid.tile_m, grid.tile_n, grid.tile_k);
  }
  fmt::print("\n");
  print_counts(lowered.nest, sizes);
  print_first_uops(lowered.nest, sizes);
  if (!options.uops.empty()) write_uops(lowered.nest, sizes, options.uops);

  const Traffic before = measure_traffic(unfused, sizes);
  const Traffic after = measure_traffic(lowered.nest, sizes);
  fmt::print("Memory traffic, operator by operator, each in one pass:\n\n{}\n", to_string(before));
  fmt::print("Memory traffic, fused:\n\n{}\n{}\n", to_string(after),
             compare_traffic(before, after));
  fmt::print("Memory traffic of the tiles, no tile used twice:\n\n{}\n",
             to_string(measure_traffic(lowered.nest, sizes, TrafficModel::uop)));
  fmt::print("Scratchpad: at most {} of {} bytes needed at once\n",
             scratchpad_need(lowered.nest, *target.tiles).bytes, target.tiles->sram_bytes);
  plan_scratchpad(lowered.nest, *target.tiles, sizes, options);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("A three-layer MLP as a program for a tile machine");
  app.add_option("--target", options.target, "the machine")->capture_default_str();
  app.add_option("--batch", options.batch, "rows of x")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  app.add_option("--uops", options.uops, "write every uOp to this file, one JSON object a line");
  app.add_option("--policy", options.policy, "which tile leaves the scratchpad first")
      ->capture_default_str()
      ->check(CLI::IsMember({"belady", "lru"}));
  app.add_option("--plan", options.plan, "draw the scratchpad plan in this file, as SVG");
  app.add_option("--plan-json", options.plan_json, "write the scratchpad plan to this file");
  lesson::add_lowering_option(&app);
  app.footer(
      "Example, a smaller machine and its picture:\n"
      "  ./bazelw run //examples/mlp_fused -- --target=tile-machine,tile=16x16x16,sram=65536 "
      "--plan=plan.svg");
  CLI11_PARSE(app, argc, argv);
  try {
    run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
