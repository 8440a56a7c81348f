// Compiles the linear layers of the benchmark, fused and operator by operator, for one target, and
// writes a table of them as C++. With --seconds it prints instead how long each kernel took from
// the graph to its library: the benchmark asks that of a process of its own, so that it measures
// without a compiler inside.

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "backends/halide/compile_aot.h"
#include "benchmarks/linear_shape.h"
#include "dsl/error.h"
#include "dsl/operators.h"
#include "dsl/target.h"
#include "passes/pipeline.h"

namespace emulsion::benchmarks {
namespace {

struct Options {
  std::string target = "x86-64-v4,cores=2", set = "v4", directory;
  std::vector<std::string> shapes;
  bool seconds = false, fused_only = false;
};

Graph linear_layer(const LinearShape& shape) {
  Tensor x = input("x", f32, {shape.m, shape.k});
  Tensor w = weight("w", f32, {shape.k, shape.n});
  Tensor bias = weight("bias", f32, {shape.n});
  return relu(add(matmul(x, w, "product"), bias, "biased"), "y");
}

std::string kernel_name(const Options& options, const LinearShape& shape, bool fused) {
  return fmt::format("linear_{}_{}_{}", shape.to_string(), fused ? "fused" : "unfused",
                     options.set);
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The kernel's line of the table.
std::string table_entry(const LoopNest& nest, const LinearShape& shape, bool fused,
                        const std::string& name) {
  std::vector<const Buffer*> arguments = nest.arguments();
  EMULSION_CHECK(arguments.size() == 4, "{} arguments", arguments.size());
  EMULSION_CHECK(arguments[0]->name == "x" && arguments[2]->name == "bias", "{}, {}",
                 arguments[0]->name, arguments[2]->name);
  EMULSION_CHECK(nest.packs.size() <= 1, "{} packs", nest.packs.size());
  std::string pack = "nullptr", packed_shape;
  if (!nest.packs.empty()) {
    pack = name + "_pack_w";
    for (const Extent& extent : arguments[1]->shape) {
      packed_shape += (packed_shape.empty() ? "" : ", ") + extent.to_string();
    }
  }
  return fmt::format("      {{{{{}, {}, {}}}, {}, {}, {}, {{{}}}}},\n", shape.m, shape.n, shape.k,
                     fused, name, pack, packed_shape);
}

void write_table(const Options& options, const std::string& headers, const std::string& entries) {
  std::string path = fmt::format("{}/linear_kernels_{}.cc", options.directory, options.set);
  std::ofstream file(path);
  file << fmt::format(
      "// Written by //benchmarks:make_linear_kernels.\n{}\n#include "
      "\"benchmarks/linear_kernel.h\"\n\nnamespace emulsion::benchmarks {{\n\n"
      "LinearKernelSet linear_kernels_{}() {{\n  return {{\n      \"{}\",\n      {{\n{}      "
      "}}}};\n"
      "}}\n\n}}  // namespace emulsion::benchmarks\n",
      headers, options.set, options.target, entries);
  file.close();
  if (!file) fail("{}: cannot be written", path);
}

void make_kernels(const Options& options) {
  Target target = Target::parse(options.target);
  std::string headers, entries;
  for (const std::string& text : options.shapes) {
    LinearShape shape = LinearShape::parse(text);
    for (bool fused : {true, false}) {
      if (!fused && options.fused_only) continue;
      std::string name = kernel_name(options, shape, fused);
      auto start = std::chrono::steady_clock::now();
      DeriveOptions derive;
      derive.fuse = fused;
      Lowered lowered = run_pipeline(linear_layer(shape), target, derive);
      double until_lowered = seconds_since(start);
      compile_aot(lowered.nest, name, target, options.directory);
      if (options.seconds) {
        // The benchmark reads these lines; each is complete as soon as it is there.
        std::printf("%s %s %.6f %.6f\n", shape.to_string().c_str(), fused ? "fused" : "unfused",
                    until_lowered, seconds_since(start));
        std::fflush(stdout);
      }
      headers += fmt::format("#include \"benchmarks/{}.h\"\n", name);
      entries += table_entry(lowered.nest, shape, fused, name);
    }
  }
  if (!options.seconds) write_table(options, headers, entries);
}

}  // namespace
}  // namespace emulsion::benchmarks

int main(int argc, char** argv) {
  try {
    emulsion::benchmarks::Options options;
    CLI::App app(
        "Compiles the linear layers that //benchmarks:linear measures.\n\n"
        "  make_linear_kernels --target=x86-64-v4,cores=2 --set=v4 --out=/tmp/kernels 64x64x64");
    app.add_option("--target", options.target, "The machine to derive schedules and compile for");
    app.add_option("--set", options.set, "Ends the names of the kernels");
    app.add_option("--out", options.directory, "Directory for the libraries, headers and the table")
        ->required();
    app.add_flag(
        "--seconds", options.seconds,
        "Print for each kernel the seconds until it was lowered and until it was compiled, "
        "and write no table");
    app.add_flag("--fused-only", options.fused_only, "Leave out the unfused kernels");
    app.add_option("shapes", options.shapes, "Layers as MxNxK")->required();
    CLI11_PARSE(app, argc, argv);
    emulsion::benchmarks::make_kernels(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_linear_kernels: %s\n", error.what());
    return 1;
  }
  return 0;
}
