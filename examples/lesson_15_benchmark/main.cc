// Lesson 15: a benchmark. What fusion gains of the four classical pairs on this machine, beside
// what the literature tells of them and what the traffic allows.
//
//   ./bazelw run -c opt //examples/lesson_15_benchmark
//   ./bazelw run -c opt //examples/lesson_15_benchmark -- --sizes=16,4096 --json=pairs.json
//
// Each pair is compiled twice, operator by operator and fused, on one thread, and timed in turns
// (benchmark_pattern(), which //benchmarks:fusion_tracker keeps in a database). One operand of each
// fits the L1 cache with what else is touched, then L2, then L3; the last one fits no cache.
// Operator by operator each pass goes through memory once more: where memory is the limit, the
// times are as the bytes. Where a cache holds all of it, there is less to gain.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "backends/tracker/benchmark_pattern.h"
#include "backends/tracker/pattern_measurement.h"
#include "bazel/user_path.h"
#include "dsl/emulsion.h"
#include "dsl/error.h"
#include "dsl/files.h"
#include "examples/measure_lowering.h"
#include "passes/fuse/named_pattern.h"
#include "passes/pipeline.h"

using namespace emulsion;

namespace {

struct Options {
  std::vector<int64_t> kilobytes;
  std::string json;
  int repeats = 7;
};

struct Pair {
  const char* name;
  double told;  // by the literature, where memory is the limit
};
constexpr Pair kPairs[] = {
    {"add+relu", 1.5}, {"mul+relu", 1.5}, {"matmul+bias+relu", 2.0}, {"affine+relu", 1.4}};

constexpr int64_t kColumns = 256;  // a row is a kilobyte
constexpr int64_t kDepth = 8;      // of the product: few, so that it does not hide what is around

Target one_core() {
  Target target = Target::host();
  target.cores = 1;
  return target;
}

// Four operands of one of these fit each cache; of the last none does.
std::vector<int64_t> sizes_of(const Target& target) {
  constexpr int64_t kFour = 4096,
                    kMost = 128 << 10;  // as many kilobytes as any machine has room for
  return {std::max<int64_t>(1, target.l1_bytes / kFour), target.l2_bytes / kFour,
          std::min(kMost / 4, target.l3_bytes / kFour),
          std::min(kMost, 2 * target.l3_bytes / 1024)};
}

double gigabytes(const PatternMeasurement& pair, const WayMeasured& way) {
  return 1e-9 * static_cast<double>(pair.fused.traffic) / way.seconds;  // what has to be moved
}

double bound(const PatternMeasurement& pair) {
  return static_cast<double>(pair.unfused.traffic) / static_cast<double>(pair.fused.traffic);
}

nlohmann::ordered_json to_json(const WayMeasured& way, const PatternMeasurement& pair) {
  return {{"seconds", way.seconds},
          {"gigabytes_a_second", gigabytes(pair, way)},
          {"kernel_calls", way.kernel_calls},
          {"bytes_moved", way.traffic},
          {"peak_bytes", way.bytes_allocated}};
}

// Both ways, as benchmark_pattern() compiles them.
void measure_lowering(const std::string& name, const std::vector<int64_t>& shape,
                      const Target& target) {
  const Graph graph = NamedPattern("lesson 15", name).graph_of(shape);
  for (const bool fuse : {false, true}) {
    DeriveOptions derive;
    derive.fuse = fuse;
    lesson::measure_lowering(
        fmt::format("{}, {} rows, {}", name, shape[0], fuse ? "fused" : "unfused"),
        run_pipeline(graph, target, derive).schedule);
  }
}

void run(const Options& options) {
  if (!options.json.empty()) check_writable("JSON", options.json);  // before the work, not after
  BenchmarkPatternOptions how;
  how.target = one_core();
  how.repeats = options.repeats;
  const std::vector<int64_t> sizes =
      options.kilobytes.empty() ? sizes_of(how.target) : options.kilobytes;
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const auto& [name, told] : kPairs) {
    const bool is_product = name == std::string("matmul+bias+relu");
    fmt::print("{}: told to be {:.1f} times as fast fused, where memory is the limit\n", name,
               told);
    for (const int64_t rows : sizes) {
      std::vector<int64_t> shape = {rows, kColumns};
      if (is_product) shape.push_back(kDepth);
      measure_lowering(name, shape, how.target);
      const PatternMeasurement pair = benchmark_pattern(name, shape, how);
      fmt::print(
          "  {:>7} KB: {:6.2f} times as fast, by the bytes at most {:.2f}; {:8.2f} GB/s, was "
          "{:8.2f}; {} bytes moved, was {}; {} bytes at the peak between operations, was {}\n",
          rows, pair.fact.speed_up, bound(pair), gigabytes(pair, pair.fused),
          gigabytes(pair, pair.unfused), pair.fused.traffic, pair.unfused.traffic,
          pair.fused.bytes_allocated, pair.unfused.bytes_allocated);
      all.push_back({{"pair", name},
                     {"kilobytes", rows},
                     {"speed_up", pair.fact.speed_up},
                     {"bound_by_bytes", bound(pair)},
                     {"literature", told},
                     {"fused", to_json(pair.fused, pair)},
                     {"unfused", to_json(pair.unfused, pair)}});
    }
  }
  if (options.json.empty()) return;
  write_file("JSON", options.json, all.dump(2) + "\n");
  fmt::print("{}: written\n", options.json);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Measures what fusion gains of the four classical pairs, in and out of the caches.\n"
      "Example: ./bazelw run -c opt //examples/lesson_15_benchmark -- --json=pairs.json");
  app.add_option("--sizes", options.kilobytes,
                 "Kilobytes of one operand (default: four fit L1, L2, L3, and one fits none)")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--repeats", options.repeats, "How often each way is timed, in turns (7)")
      ->check(CLI::Range(1, 10000));
  app.add_option("--json", options.json, "Where to write the same numbers as JSON");
  lesson::add_lowering_option(&app);
  CLI11_PARSE(app, argc, argv);
  try {
    options.json = user_path(options.json);
    run(options);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
