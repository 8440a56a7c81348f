// Lesson 11: what fusion saves. Operations for each byte of memory traffic, operator by operator
// and fused, under the roof of this machine.
//
//   ./bazelw run //examples/lesson_11_roofline
//   ./bazelw run //examples/lesson_11_roofline -- --picture=roofline.svg --json=roofline.json
//
// The traffic is counted, not measured: what must go to and from memory when a cache holds all
// that one pass over the data touches (passes/analyse/measure_traffic.h). The times are measured,
// on one thread, and so is the roof, by kernels of the library's own.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <string>
#include <vector>

#include "backends/interpreter/tensor_value.h"
#include "bazel/user_path.h"
#include "dsl/emulsion.h"
#include "dsl/error.h"
#include "dsl/files.h"
#include "examples/lesson.h"
#include "examples/lesson_11_roofline/networks.h"
#include "examples/lesson_11_roofline/roofline.h"
#include "examples/measure_lowering.h"
#include "passes/analyse/measure_traffic.h"
#include "passes/analyse/measure_work.h"
#include "passes/pipeline.h"

using namespace emulsion;

namespace {

struct Options {
  std::string picture, json;
  double gflops = 0, gigabytes = 0;
};

Target one_core() {
  Target target = Target::host();
  target.cores = 1;
  return target;
}

Lowered lowered(const Graph& graph, bool fuse) {
  DeriveOptions options;
  options.fuse = fuse;
  return run_pipeline(graph, one_core(), options);
}

lesson::Step compiled(const LoopNest& nest) { return {nest, JitKernel(nest, one_core())}; }

lesson::Step compiled(const Graph& graph, bool fuse) { return compiled(lowered(graph, fuse).nest); }

TensorValues arguments_of(const Graph& graph) {
  TensorValues values;
  uint64_t seed = 0;
  for (const OpPtr& argument : graph.arguments()) {
    std::vector<int64_t> shape;
    for (const Extent& extent : argument->shape) shape.push_back(extent.constant_term());
    values.emplace(argument->name, random_integers(f32, shape, ++seed));
  }
  return values;
}

// exp() of gelu and the order of sums differ between the definition and the schedules.
constexpr double kRelative = 1e-3;

void check_small_networks() {
  for (const Network& network : small_networks()) {
    const lesson::Trial trial = lesson::make_trial(network.graph, arguments_of(network.graph));
    for (const bool fuse : {false, true}) {
      lesson::check_values(compiled(network.graph, fuse), trial, kRelative);
    }
  }
  fmt::print("small networks: operator by operator and fused give the definition's numbers\n\n");
}

// The peak by a product of matrices that a cache holds, the bandwidth by a copy that none holds.
Roof measured_roof(const Options& options) {
  constexpr int64_t kSide = 384, kElements = int64_t{16} << 20;
  Roof roof{options.gflops, options.gigabytes};
  if (roof.gflops == 0) {
    const Graph product(matmul(input("a", f32, {kSide, kSide}), weight("b", f32, {kSide, kSide})));
    roof.gflops = 2e-9 * kSide * kSide * kSide /
                  lesson::seconds(compiled(product, true), arguments_of(product));
  }
  if (roof.gigabytes == 0) {
    const Graph copy(mul(input("x", f32, {kElements}), 1.0f));
    roof.gigabytes = 8e-9 * kElements / lesson::seconds(compiled(copy, true), arguments_of(copy));
  }
  return roof;
}

std::vector<RooflinePoint> measured_points() {
  std::vector<RooflinePoint> points;
  for (const Network& network : full_networks()) {
    const TensorValues arguments = arguments_of(network.graph);
    int64_t operations = 0;  // those of the network: what a schedule computes twice does not count
    for (const bool fuse : {false, true}) {
      const std::string variant = fuse ? "fused" : "unfused";
      const Lowered made = lowered(network.graph, fuse);
      lesson::measure_lowering(network.name + ", " + variant, made.schedule);
      const lesson::Step step = compiled(made.nest);
      if (!fuse) operations = measure_work(step.nest).operations();
      points.push_back({network.name, variant, operations, measure_traffic(step.nest).bytes(),
                        lesson::seconds(step, arguments)});
    }
  }
  return points;
}

void run(const Options& options) {
  for (const std::string& path : {options.picture, options.json}) {  // before the work, not after
    if (!path.empty()) check_writable("file", path);
  }
  check_small_networks();
  const Roof roof = measured_roof(options);
  const std::vector<RooflinePoint> points = measured_points();
  fmt::print("{}", to_string(roof, points));
  if (!options.picture.empty()) {
    write_file("picture", options.picture, draw_roofline(roof, points));
    fmt::print("{}: written\n", options.picture);
  }
  if (!options.json.empty()) {
    write_file("JSON", options.json, to_json(roof, points));
    fmt::print("{}: written\n", options.json);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Shows what fusion saves of memory traffic, under the roofline of this machine.\n"
      "Example: ./bazelw run //examples/lesson_11_roofline -- --picture=roofline.svg");
  app.add_option("--picture", options.picture, "Where to write the picture, an SVG");
  app.add_option("--json", options.json, "Where to write the same numbers as JSON");
  app.add_option("--gflops", options.gflops, "The peak of one core, in GF/s (default: measured)")
      ->check(CLI::PositiveNumber);
  app.add_option("--gigabytes", options.gigabytes,
                 "The bandwidth of memory, in GB/s (default: measured)")
      ->check(CLI::PositiveNumber);
  lesson::add_lowering_option(&app);
  CLI11_PARSE(app, argc, argv);
  try {
    options.picture = user_path(options.picture);
    options.json = user_path(options.json);
    run(options);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
