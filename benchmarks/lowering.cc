// How long a schedule takes to become a verified loop nest: every step of the lessons and of
// mlp_fused, each program asked in its own process, and derived schedules of larger graphs. And how
// long a graph of many operations takes to become a nest, and a kernel.

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/halide/jit.h"
#include "benchmarks/comparison.h"
#include "benchmarks/lesson_lowering.h"
#include "dsl/error.h"
#include "dsl/graph.h"
#include "dsl/operators.h"
#include "dsl/target.h"
#include "passes/lower/lower.h"
#include "passes/nest/verify_nest.h"
#include "passes/pipeline.h"
#include "tools/cpp/runfiles/runfiles.h"

namespace emulsion::benchmarks {
namespace {

namespace fs = std::filesystem;
using bazel::tools::cpp::runfiles::Runfiles;

constexpr char kMeasures[] =
    "Measures how long schedules take to be lowered and their nests to be verified, and graphs of\n"
    "many operations to become kernels.";

// Programs find their data through the runfiles of this one.
void pass_on(const Runfiles& runfiles) {
  for (const auto& [name, value] : runfiles.EnvVars()) {
    // Of a folder and a manifest there may be only one.
    if (!value.empty()) setenv(name.c_str(), fs::absolute(value).c_str(), 1);
  }
}

Tensor linear(const Tensor& x, int64_t from, int64_t to, const std::string& name) {
  return matmul(x, weight("w_" + name, f32, {from, to})) + weight("b_" + name, f32, {to});
}

// As many operations, which are fused in groups of bounded size.
Tensor chain(int length) {
  Tensor value = input("x", f32, {1024});
  for (int i = 0; i < length; ++i) value = relu(value);
  return value;
}

// As many tensors, one behind the other.
Tensor joined(int count) {
  std::vector<Tensor> parts;
  for (int i = 0; i < count; ++i) parts.push_back(input(fmt::format("x{}", i), f32, {4, 4}));
  return concat(parts, 0);
}

// As many, one behind the other: each is a group of rows.
Tensor softmaxes(int count) {
  Tensor value = input("x", f32, {16, 256});
  for (int i = 0; i < count; ++i) value = softmax(value);
  return value;
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

void add_from_graph_on(const std::string& name, const Graph& graph, std::vector<Comparison>* all) {
  Comparison nest{"derived and lowered, " + name, "ms"};
  nest.emulsion.call = [graph] { run_pipeline(graph, Target::host()); };
  all->push_back(std::move(nest));
  Comparison kernel{"derived, lowered and compiled, " + name, "ms"};
  kernel.emulsion.call = [graph] { JitKernel(run_pipeline(graph, Target::host()).nest); };
  all->push_back(std::move(kernel));
}

// Those that were named, or all.
std::vector<std::string> lessons_to_run(const ProgramOptions& options, const Runfiles& runfiles) {
  if (!options.arguments.empty()) return options.arguments;
  const std::string folder = "emulsion/";
  return lessons_in(runfiles.Rlocation(folder + "benchmarks/lessons.txt"),
                    [&](const std::string& path) { return runfiles.Rlocation(folder + path); });
}

Report run(const ProgramOptions& options, const Runfiles& runfiles) {
  Report report;
  pass_on(runfiles);
  for (const std::string& lesson : lessons_to_run(options, runfiles)) {
    if (options.list) {
      std::printf("%s, each of its steps\n", fs::path(lesson).filename().c_str());
      continue;
    }
    announce("running " + lesson);
    for (Row& row : lowerings_of_lesson(lesson)) report.rows.push_back(std::move(row));
  }
  std::vector<Comparison> derived;
  for (const NamedGraph& named : graphs()) {
    Comparison one{fmt::format("derived, {}", named.name), "ms"};
    one.limit = kLoweringLimit;
    const Schedule schedule = run_pipeline(Graph(named.output), Target::host()).schedule;
    one.emulsion.call = [schedule] { verify_nest(lower(schedule.graph(), schedule)); };
    derived.push_back(std::move(one));
  }
  for (int length : {10, 100, 1000, 10000}) {
    add_from_graph_on(fmt::format("a chain of {}", length), chain(length), &derived);
  }
  for (int count : {10, 100, 1000}) {
    add_from_graph_on(fmt::format("a concat of {}", count), joined(count), &derived);
    add_from_graph_on(fmt::format("a chain of {} softmaxes", count), softmaxes(count), &derived);
  }
  for (Row& row : measure(derived, options)) report.rows.push_back(std::move(row));
  return report;
}

}  // namespace
}  // namespace emulsion::benchmarks

int main(int argc, char** argv) {
  using namespace emulsion::benchmarks;
  return run_program(argc, argv,
                     {"lowering", kMeasures, "--json=lowering.json",
                      [&](const ProgramOptions& options) {
                        std::string error;
                        const std::unique_ptr<Runfiles> runfiles(Runfiles::Create(argv[0], &error));
                        if (!runfiles) emulsion::fail("{}", error);
                        return run(options, *runfiles);
                      },
                      "programs that know --lowering=FILE (default: all lessons)"});
}
