#include "tests/random/run_in_children.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace emulsion {
namespace {

constexpr unsigned kLongestTask = 300;  // seconds: a task that hangs is one that crashes

enum class Message : char { announcement, result };

int pipe_of_child = -1;  // -1: this process is no child

// [kind][size][text], on a pipe: of each task any number of announcements, then the result.
void write_text(int file, Message kind, const std::string& text) {
  uint64_t size = text.size();
  std::string message(1, static_cast<char>(kind));
  message.append(reinterpret_cast<const char*>(&size), sizeof(size));
  message += text;
  for (size_t done = 0; done < message.size();) {
    ssize_t count = write(file, message.data() + done, message.size() - done);
    if (count <= 0) _exit(1);
    done += static_cast<size_t>(count);
  }
}

bool read_bytes(int file, char* to, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t count = read(file, to + done, size - done);
    if (count <= 0) return false;
    done += static_cast<size_t>(count);
  }
  return true;
}

bool read_text(int file, Message* kind, std::string* text) {
  uint64_t size = 0;
  if (!read_bytes(file, reinterpret_cast<char*>(kind), sizeof(*kind))) return false;
  if (!read_bytes(file, reinterpret_cast<char*>(&size), sizeof(size))) return false;
  text->resize(size);
  return read_bytes(file, text->data(), size);
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) {
    return fmt::format("the process crashed: {} (its last words are on standard error)",
                       strsignal(WTERMSIG(status)));
  }
  return fmt::format("the process ended with {}", WEXITSTATUS(status));
}

}  // namespace

void announce(const std::string& text) {
  if (pipe_of_child >= 0) write_text(pipe_of_child, Message::announcement, text);
}

std::vector<TaskResult> run_in_children(const std::vector<std::function<std::string()>>& tasks) {
  std::vector<TaskResult> results;
  while (results.size() < tasks.size()) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("pipe failed");
    std::fflush(nullptr);
    pid_t child = fork();
    if (child < 0) throw std::runtime_error("fork failed");
    if (child == 0) {
      close(ends[0]);
      pipe_of_child = ends[1];
      for (size_t i = results.size(); i < tasks.size(); ++i) {
        alarm(kLongestTask);
        write_text(ends[1], Message::result, tasks[i]());
      }
      _exit(0);
    }
    close(ends[1]);
    Message kind = Message::result;
    std::string text, announced;
    while (results.size() < tasks.size() && read_text(ends[0], &kind, &text)) {
      if (kind == Message::announcement) {
        announced = text;
      } else {
        results.push_back({text, ""});
        announced.clear();
      }
    }
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (results.size() < tasks.size()) results.push_back({"", how_it_ended(status) + announced});
  }
  return results;
}

}  // namespace emulsion
