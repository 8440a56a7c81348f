// How long a schedule takes to become a verified loop nest: every step of the lessons, each asked
// in its own process, and derived schedules of larger graphs.

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "backends/halide/reported_loops.h"
#include "benchmarks/benchmark_program.h"
#include "benchmarks/child_program.h"
#include "benchmarks/lowering_report.h"
#include "benchmarks/progress.h"
#include "dsl/error.h"
#include "dsl/operators.h"
#include "dsl/target.h"
#include "passes/lower.h"
#include "passes/pipeline.h"
#include "passes/verify_nest.h"

namespace emulsion::benchmarks {
namespace {

namespace fs = std::filesystem;

std::vector<Lowering> lowerings_of_lesson(const std::string& program) {
  const std::string lesson = fs::path(program).filename();
  announce("running " + lesson);
  const ScratchDirectory scratch;
  const std::string file = scratch.path() + "/lowering";
  run_program_lines(program, quoted(program) + " --lowering=" + quoted(file),
                    [](const std::string&) {});
  std::vector<Lowering> all;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) all.push_back(parse_lowering(lesson, line));
  if (all.empty()) fail("{}: expected at least one step, got none", program);
  return all;
}

Tensor linear(const Tensor& x, int64_t from, int64_t to, const std::string& name) {
  return matmul(x, weight("w_" + name, f32, {from, to})) + weight("b_" + name, f32, {to});
}

struct NamedGraph {
  const char* name;
  Tensor output;
};

std::vector<NamedGraph> graphs() {
  const Extent batch = Extent::size("B");
  const Tensor x = input("x", f32, {batch, 768});
  const Tensor image = input("image", f32, {batch, 56, 56, 64});
  const Tensor tokens = input("tokens", f32, {batch, 128, 64});
  Conv2dOptions same;
  same.pad_top = same.pad_bottom = same.pad_left = same.pad_right = 1;
  Tensor deep = x;
  for (int layer = 0; layer < 12; ++layer) {
    deep = relu(linear(deep, 768, 768, std::to_string(layer)));
  }
  Tensor scores = softmax(matmul(tokens, transpose(tokens, {0, 2, 1})) / 8);
  return {
      {"linear + relu", relu(linear(x, 768, 3072, "1"))},
      {"two layers + gelu", linear(gelu(linear(x, 768, 3072, "1")), 3072, 768, "2")},
      {"twelve layers", deep},
      {"conv 3x3 + relu", relu(conv2d(image, weight("k", f32, {3, 3, 64, 64}), same))},
      {"softmax", softmax(x)},
      {"layer_norm", layer_norm(x, weight("g", f32, {768}), weight("b", f32, {768}))},
      {"attention", matmul(scores, tokens)},
  };
}

Lowering lowering_of(const NamedGraph& named) {
  constexpr int kRepetitions = 11;
  const Graph graph(named.output);
  const Schedule schedule = run_pipeline(graph, Target::host()).schedule;
  Lowering result{"derived", named.name, 0, {}};
  for (int i = 0; i < kRepetitions; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const LoopNest nest = lower(graph, schedule);
    verify_nest(nest);
    result.seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    result.loops = static_cast<int64_t>(loops_of_nest(nest).size());
  }
  return result;
}

int run(const std::vector<std::string>& lessons, const ProgramOptions& options) {
  check_writable(options);
  std::vector<Lowering> all;
  for (const std::string& lesson : lessons) {
    for (Lowering& one : lowerings_of_lesson(lesson)) all.push_back(std::move(one));
  }
  for (const NamedGraph& named : graphs()) all.push_back(lowering_of(named));
  return report(options, report_text(all), report_json(all));
}

}  // namespace
}  // namespace emulsion::benchmarks

int main(int argc, char** argv) {
  std::vector<std::string> lessons;
  emulsion::benchmarks::ProgramOptions options;
  CLI::App app("Measures how long schedules take to be lowered and their nests to be verified.");
  app.add_option("--json", options.json,
                 "Write the JSON there, and only the text to standard output");
  app.add_option("lessons", lessons, "Programs that know --lowering=FILE");
  CLI11_PARSE(app, argc, argv);
  try {
    return emulsion::benchmarks::run(lessons, options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lowering: %s\n", error.what());
    return 1;
  }
}
