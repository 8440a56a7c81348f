// How long a schedule takes to become a verified loop nest: every step of the lessons and of
// mlp_fused, each program asked in its own process, and derived schedules of larger graphs.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/benchmark_program.h"
#include "benchmarks/child_program.h"
#include "benchmarks/lowering_report.h"
#include "benchmarks/progress.h"
#include "dsl/error.h"
#include "dsl/operators.h"
#include "dsl/target.h"
#include "examples/measure_lowering.h"
#include "passes/pipeline.h"
#include "tools/cpp/runfiles/runfiles.h"

namespace emulsion::benchmarks {
namespace {

namespace fs = std::filesystem;
using bazel::tools::cpp::runfiles::Runfiles;

// Programs find their data through the runfiles of this one.
void pass_runfiles_on(const char* program) {
  std::string error;
  const std::unique_ptr<Runfiles> runfiles(Runfiles::Create(program, &error));
  if (!runfiles) return;  // started without Bazel: those that need data say so
  for (const auto& [name, value] : runfiles->EnvVars()) {
    setenv(name.c_str(), fs::absolute(value).c_str(), 1);
  }
  unsetenv("BUILD_WORKING_DIRECTORY");  // nor do they leave files with the user
}

std::vector<Lowering> lowerings_of_lesson(const std::string& program) {
  const std::string lesson = fs::path(program).filename();
  announce("running " + lesson);
  const ScratchDirectory scratch;
  const std::string file = scratch.path() + "/lowering";
  run_program_lines(program,
                    "cd " + quoted(scratch.path()) + " && " + quoted(fs::absolute(program)) +
                        " --lowering=" + quoted(file),
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
  const Lowered lowered = run_pipeline(Graph(named.output), Target::host());
  lesson::LoweringTimes times = lesson::time_lowering(lowered.schedule);
  return {"derived", named.name, times.loops, std::move(times.seconds)};
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
  try {
    std::vector<std::string> lessons;
    emulsion::benchmarks::ProgramOptions options;
    CLI::App app(
        "Measures how long schedules take to be lowered and their nests to be verified.\n\n"
        "Example: ./bazelw run -c opt //benchmarks:lowering -- --json=lowering.json");
    app.add_option("--json", options.json,
                   "Write the JSON there, and only the text to standard output");
    app.add_option("lessons", lessons, "Programs that know --lowering=FILE");
    CLI11_PARSE(app, argc, argv);
    emulsion::benchmarks::pass_runfiles_on(argv[0]);
    return emulsion::benchmarks::run(lessons, options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lowering: %s\n", error.what());
    return 1;
  }
}
