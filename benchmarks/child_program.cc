#include "benchmarks/child_program.h"

#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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

AnsweringProgram::AnsweringProgram(std::string name, const std::vector<std::string>& words)
    : name_(std::move(name)) {
  std::array<int, 2> ends{};  // ours, and the program's
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    fail("{}: cannot be started: no socket", name_);
  std::vector<std::string> copies = words;
  std::vector<char*> arguments;
  for (std::string& word : copies) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  const int error =
      posix_spawnp(&process_, arguments.at(0), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  socket_ = ends[0];
  if (error == 0) return;
  close(socket_);
  fail("{}: cannot be started: {}", name_, std::strerror(error));
}

AnsweringProgram::~AnsweringProgram() {
  close(socket_);
  waitpid(process_, nullptr, 0);
}

std::string AnsweringProgram::ask(const std::string& line) {
  const std::string text = line + '\n';
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t count = send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail("{}: ended before it was asked", name_);
    sent += static_cast<size_t>(count);
  }
  size_t end = received_.find('\n');
  while (end == std::string::npos) {
    std::array<char, 4096> part{};
    const ssize_t count = recv(socket_, part.data(), part.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail("{}: ended without an answer", name_);
    received_.append(part.data(), static_cast<size_t>(count));
    end = received_.find('\n');
  }
  std::string answer = received_.substr(0, end);
  received_.erase(0, end + 1);
  return answer;
}

}  // namespace emulsion::benchmarks
