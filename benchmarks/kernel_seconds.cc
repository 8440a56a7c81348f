#include "benchmarks/kernel_seconds.h"

#include <cstdio>
#include <filesystem>
#include <memory>
#include <sstream>

#include "benchmarks/progress.h"
#include "dsl/error.h"

namespace emulsion::benchmarks {
namespace {

namespace fs = std::filesystem;

// Made on construction, removed with everything in it.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string name = (fs::temp_directory_path() / "emulsion_benchmark_XXXXXX").string();
    if (!mkdtemp(name.data())) fail("{}: cannot be made", name);
    path_ = name;
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

}  // namespace

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
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (!pipe) fail("{}: cannot be started", generator.string());
  std::vector<KernelSeconds> all;
  char line[256];
  while (std::fgets(line, sizeof(line), pipe.get())) {
    std::string text(line);
    if (!text.empty() && text.back() == '\n') text.pop_back();
    all.push_back(parse_kernel_seconds(text));
    report_progress("compiling " + text.substr(0, text.find(' ')));
  }
  if (pclose(pipe.release()) != 0) fail("{}: failed", generator.string());
  return all;
}

}  // namespace emulsion::benchmarks
