#include "benchmarks/child_program.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "dsl/error.h"

namespace emulsion::benchmarks {

namespace fs = std::filesystem;

ScratchDirectory::ScratchDirectory() {
  std::string name = (fs::temp_directory_path() / "emulsion_benchmark_XXXXXX").string();
  if (!mkdtemp(name.data())) fail("{}: cannot be made", name);
  path_ = name;
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

void run_program_lines(const std::string& name, const std::string& command,
                       const std::function<void(const std::string& line)>& take) {
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (!pipe) fail("{}: cannot be started", name);
  std::string line;
  for (int c = std::fgetc(pipe.get()); c != EOF; c = std::fgetc(pipe.get())) {
    if (c != '\n') {
      line += static_cast<char>(c);
      continue;
    }
    take(line);
    line.clear();
  }
  if (!line.empty()) take(line);
  if (pclose(pipe.release()) != 0) fail("{}: failed", name);
}

}  // namespace emulsion::benchmarks
