#include "tests/fuzz/fuzz_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace emulsion {
namespace {

namespace fs = std::filesystem;

constexpr double kLongest = 10;  // seconds of the processor's for one file

// What this process has used, however busy the machine is.
double seconds_used() {
  return static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC);
}

}  // namespace

std::vector<FuzzFile> files_of(const FuzzTarget& target, const std::string& folder) {
  std::vector<FuzzFile> files;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().extension() != target.ending) continue;
    std::stringstream text;
    text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    files.push_back({entry.path().filename(), text.str()});
  }
  std::sort(files.begin(), files.end(),
            [](const FuzzFile& a, const FuzzFile& b) { return a.name < b.name; });
  return files;
}

std::string printable(const std::string& bytes) {
  std::string text;
  for (char c : bytes) {
    const bool plain = (c >= ' ' && c <= '~') || c == '\n';
    text += plain ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return text;
}

FuzzOutcome look_at(const FuzzTarget& target, const FuzzFile& file) {
  const double start = seconds_used();
  FuzzOutcome outcome;
  try {
    outcome.accepted = target.look_at(file.bytes, file.name);
  } catch (const std::exception& error) {
    outcome.failure = error.what();
  }
  const double seconds = seconds_used() - start;
  if (seconds > kLongest) outcome.failure += fmt::format(" {:.1f} s", seconds);
  if (!outcome.failure.empty()) {
    outcome.failure += "\nof " + file.name + ":\n" + printable(file.bytes);
  }
  return outcome;
}

}  // namespace emulsion
