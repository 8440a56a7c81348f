// The command of the tracker: measures patterns on this machine, fuses a graph with what was
// measured, and prints what is known.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <string>
#include <utility>

#include "backends/tracker/benchmark_pattern.h"
#include "backends/tracker/measurement_store.h"
#include "bazel/user_path.h"
#include "dsl/error.h"
#include "dsl/files.h"
#include "dsl/graph_text.h"
#include "dsl/target.h"
#include "passes/fuse/fusion_config.h"
#include "passes/fuse/measured_fusions.h"
#include "passes/pipeline.h"

namespace emulsion {
namespace {

struct Options {
  std::string database, pattern, shape, target, graph, config, json;
  int repeats = 7;

  bool writes() const { return !pattern.empty() || !graph.empty(); }
};

void print(const PatternMeasurement& one) {
  fmt::print("{} at {}: {:.2f} times as fast fused, {} runs\n", one.fact.pattern, one.shape,
             one.fact.speed_up, one.fact.runs);
  const auto line = [](const char* name, const WayMeasured& way) {
    fmt::print("  {:8} {:12.3f} us {:3} kernel calls {:12} bytes allocated {:12} bytes moved\n",
               name, way.seconds * 1e6, way.kernel_calls, way.bytes_allocated, way.traffic);
  };
  line("unfused", one.unfused);
  line("fused", one.fused);
}

void run(const Options& options) {
  if (options.pattern.empty() != options.shape.empty()) {
    fail("expected --pattern and --shape together, got one of them");
  }
  const Target target = options.target.empty() ? Target::host() : Target::parse(options.target);
  StoreOptions how;
  how.read_only = !options.writes();
  MeasurementStore store(options.database, how);
  if (!options.pattern.empty()) {
    BenchmarkPatternOptions benchmark;
    benchmark.repeats = options.repeats;
    benchmark.target = target;
    const PatternMeasurement measured =
        benchmark_pattern(options.pattern, parse_pattern_shape(options.shape), benchmark);
    store.add(measured);
    print(measured);
  }
  FusionConfig fusion = fusion_config_from_environment();
  for (MeasuredFusion& fact : store.facts()) fusion.measured.push_back(std::move(fact));
  if (!options.graph.empty()) {
    const Graph graph = parse_graph(read_file("graph", options.graph));
    const FusionReport report = run_pipeline(graph, target, {}, nullptr, fusion).fusion;
    store.record(report);
    fmt::print("{}", to_string(report));
  }
  if (!options.config.empty()) write_file("fusion config", options.config, to_json(fusion));
  const FusionStatistics statistics = store.statistics();
  if (!options.json.empty()) write_file("JSON", options.json, to_json(statistics));
  fmt::print("{}", to_string(statistics));
}

}  // namespace
}  // namespace emulsion

int main(int argc, char** argv) {
  emulsion::Options options;
  CLI::App app(
      "Measures what fusions gain on this machine, keeps it in a database, and lets fusion learn "
      "from it.\nExample: ./bazelw run -c opt //benchmarks:fusion_tracker -- "
      "--database=fusion.db \\\n    --pattern=matmul+bias+relu --shape=512x512x64 "
      "--config=fusion.json\nEMULSION_FUSION=fusion.json in the environment then says what was "
      "measured. Without a pattern\nor a graph the database is only read.");
  app.add_option("--database", options.database, "The file; made when it is not there")->required();
  app.add_option("--pattern", options.pattern,
                 "What to measure, fused and not: matmul, conv, add, sub, mul, div or affine, and "
                 "bias, relu, gelu, sigmoid, tanh, clamp, residual behind it, as in add+relu; "
                 "softmax, layer_norm or rms_norm; siblings, two that read one tensor; layer "
                 "blocks, two products; sliding windows, a blur; moves read through, a transpose; "
                 "borders read through, a concat");
  app.add_option(
      "--shape", options.shape,
      "Rows x columns, of a matmul x depth: 512x512x64; of a conv images x height x width x "
      "channels x height x width of a filter x filters");
  app.add_option("--repeats", options.repeats, "How often each way is timed, in turns (7)")
      ->check(CLI::Range(1, 10000));
  app.add_option("--target", options.target, "The machine (default: this one)");
  app.add_option("--graph", options.graph,
                 "A graph's text: fused with what was measured, and its report printed");
  app.add_option("--config", options.config, "Where to write a config for EMULSION_FUSION");
  app.add_option("--json", options.json, "Where to write the statistics as JSON");
  CLI11_PARSE(app, argc, argv);
  try {
    for (std::string* path : {&options.database, &options.graph, &options.config, &options.json}) {
      *path = emulsion::user_path(*path);
    }
    emulsion::run(options);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
