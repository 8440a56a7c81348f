#include "benchmarks/kernel_seconds.h"

#include <filesystem>
#include <sstream>

#include "benchmarks/benchmark_program.h"
#include "benchmarks/child_program.h"
#include "dsl/error.h"

namespace emulsion::benchmarks {

namespace fs = std::filesystem;

KernelSeconds parse_kernel_seconds(const std::string& line) {
  std::istringstream stream(line);
  std::string shape, kind, rest;
  KernelSeconds seconds;
  stream >> shape >> kind >> seconds.until_lowered >> seconds.until_compiled;
  bool good = !stream.fail() && !(stream >> rest) && (kind == "fused" || kind == "unfused");
  if (!good) fail("'{}': expected a shape, fused or unfused, and two numbers", line);
  seconds.shape = LinearShape::parse(shape);
  seconds.fused = kind == "fused";
  return seconds;
}

std::vector<KernelSeconds> measure_kernel_seconds(const LinearKernelSet& set, bool fused_only) {
  fs::path generator = fs::read_symlink("/proc/self/exe").parent_path() / "linear_generator";
  if (!fs::exists(generator)) fail("{}: expected the generator there", generator.string());
  ScratchDirectory scratch;
  std::string command = quoted(generator.string()) + " --seconds --out=" + quoted(scratch.path()) +
                        " --target=" + quoted(set.target);
  if (fused_only) command += " --fused-only";
  for (const LinearKernel& kernel : set.kernels) {
    if (kernel.fused) command += " " + quoted(kernel.shape.to_string());
  }
  std::vector<KernelSeconds> all;
  run_program_lines(generator.string(), command, [&all](const std::string& line) {
    all.push_back(parse_kernel_seconds(line));
    report_progress("compiling " + line.substr(0, line.find(' ')));
  });
  return all;
}

}  // namespace emulsion::benchmarks
