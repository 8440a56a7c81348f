#include "backends/codegen/check_reproducible.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <sstream>
#include <string_view>
#include <thread>

#include "dsl/error.h"

namespace emulsion {
namespace {

// A file without a name, which the other process inherits.
class SharedFile {
 public:
  SharedFile() : descriptor_(memfd_create("graph", 0)) {
    if (descriptor_ < 0) fail("--check_reproducible: memory for a graph: {}", std::strerror(errno));
  }
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;
  ~SharedFile() { close(descriptor_); }

  std::string path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

  std::string read_all() const {
    std::string text;
    char part[4096];
    for (;;) {
      const ssize_t count = pread(descriptor_, part, sizeof(part), static_cast<off_t>(text.size()));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail("--check_reproducible: reading a graph: {}", std::strerror(errno));
      if (count == 0) return text;
      text.append(part, static_cast<size_t>(count));
    }
  }

 private:
  int descriptor_;
};

// Of this process, but for variables that a graph function must not look at.
std::vector<std::string> other_environment() {
  const std::vector<std::string> changed = {"HOME=/nowhere", "LANG=C.UTF-8", "TZ=Asia/Tokyo",
                                            "USER=nobody"};
  std::vector<std::string> result = changed;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('=') + 1);
    const bool replaced = std::any_of(
        changed.begin(), changed.end(),
        [&](const std::string& other) { return other.compare(0, name.size(), name) == 0; });
    if (!replaced) result.emplace_back(text);
  }
  return result;
}

std::vector<char*> pointers_to(std::vector<std::string>* strings) {
  std::vector<char*> result;
  for (std::string& text : *strings) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

void wait_for_the_next_second() {
  const std::time_t now = std::time(nullptr);
  while (std::time(nullptr) == now) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

void run_this_program(std::vector<std::string> arguments) {
  std::vector<std::string> environment = other_environment();
  pid_t process = 0;
  const int failed = posix_spawn(&process, "/proc/self/exe", nullptr, nullptr,
                                 pointers_to(&arguments).data(), pointers_to(&environment).data());
  if (failed != 0) fail("--check_reproducible: a second process: {}", std::strerror(failed));
  int status = 0;
  while (waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) fail("--check_reproducible: a second process: {}", std::strerror(errno));
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    fail("--check_reproducible: expected a graph from a second process, got its failure");
  }
}

// One line as far as a reader needs it: some of what stands before column `at`, and behind it.
std::string around(const std::string& line, size_t at) {
  constexpr size_t kBefore = 60, kShown = 120;
  const size_t from = at > kBefore ? at - kBefore : 0;
  return (from > 0 ? "..." : "") + line.substr(from, kShown) +
         (line.size() > from + kShown ? "..." : "");
}

}  // namespace

std::string graph_text_of_another_process(const std::vector<std::string>& command) {
  const SharedFile file;
  std::vector<std::string> arguments = {"generator"};
  arguments.insert(arguments.end(), command.begin(), command.end());
  arguments.push_back("--graph=" + file.path());
  wait_for_the_next_second();
  run_this_program(std::move(arguments));
  return file.read_all();
}

void check_same_graph(const std::string& kernel, const std::string& first,
                      const std::string& second) {
  if (first == second) return;
  std::istringstream one(first), other(second);
  std::string line, other_line;
  size_t number = 0;
  do {
    ++number;
    if (!std::getline(one, line)) line = "(the end)";
    if (!std::getline(other, other_line)) other_line = "(the end)";
  } while (line == other_line);
  const size_t shorter = std::min(line.size(), other_line.size());
  size_t at = 0;
  while (at < shorter && line[at] == other_line[at]) ++at;
  fail(
      "kernel {}: expected that emulsion_kernel() makes the same graph each time, got two, which "
      "differ from line {} on:\n  {}\n  {}\nlegal: nothing that depends on the clock, the process, "
      "the environment, the order of addresses, or random numbers without a seed",
      kernel, number, around(line, at), around(other_line, at));
}

}  // namespace emulsion
