#include "backends/entry/run_in_child.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <new>

#include "dsl/error.h"

namespace emulsion {
namespace {

// The first byte of what the child says; the text of its exception follows.
constexpr char kDone = 'd', kError = 'e', kInternalError = 'i';

class Pipe {
 public:
  explicit Pipe(const std::string& what) {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0)
      fail("{}: expected a pipe, got: {}", what, std::strerror(errno));
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  void close_end(size_t end) {
    if (ends_[end] >= 0) close(ends_[end]);
    ends_[end] = -1;
  }

  void write_all(const std::string& text) const {
    for (size_t done = 0; done < text.size();) {
      const ssize_t count = write(ends_[1], text.data() + done, text.size() - done);
      if (count < 0 && errno != EINTR) return;  // nobody reads any more
      if (count > 0) done += static_cast<size_t>(count);
    }
  }

  std::string read_all() const {
    std::string text;
    std::array<char, 4096> part;
    for (;;) {
      const ssize_t count = read(ends_[0], part.data(), part.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return text;
      text.append(part.data(), static_cast<size_t>(count));
    }
  }

 private:
  std::array<int, 2> ends_ = {-1, -1};
};

constexpr const char* kMoreMemory = "legal: more memory, or fewer targets at once";

std::string report_of(const std::string& what, const std::function<void()>& body) {
  try {
    body();
    return {kDone};
  } catch (const Error& error) {
    return kError + std::string(error.what());
  } catch (const std::bad_alloc&) {
    return fmt::format("{}{}: expected memory, got none; {}", kError, what, kMoreMemory);
  } catch (const std::exception& error) {
    return kInternalError + std::string(error.what());
  } catch (...) {
    return kInternalError + std::string("an exception that is no std::exception");
  }
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

std::string ending(int status) {
  if (!WIFSIGNALED(status)) return fmt::format("exit code {}", WEXITSTATUS(status));
  return fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
}

}  // namespace

void require_memory(const std::string& what, size_t bytes) {
  void* room = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) fail("{}: expected {} MiB of memory, got none", what, bytes >> 20);
  munmap(room, bytes);
}

void run_in_child(const std::string& what, const std::function<void()>& body) {
  Pipe said(what);
  const pid_t child = fork();
  if (child < 0) fail("{}: expected a process of its own, got: {}", what, std::strerror(errno));
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody waits for it when its parent is gone
    said.close_end(0);
    said.write_all(report_of(what, body));
    _exit(0);  // what exit() runs belongs to the parent
  }
  said.close_end(1);
  const std::string report = said.read_all();
  const int status = wait_for(child);
  if (report.empty() || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    fail("{}: expected its process to return, got {}; {}", what, ending(status), kMoreMemory);
  }
  if (report[0] == kError) throw Error(report.substr(1));
  if (report[0] == kInternalError) throw InternalError(report.substr(1));
}

}  // namespace emulsion
