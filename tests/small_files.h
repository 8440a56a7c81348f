#ifndef EMULSION_TESTS_SMALL_FILES_H_
#define EMULSION_TESTS_SMALL_FILES_H_

#include <sys/resource.h>

#include <csignal>

namespace emulsion {

// As long as it lives, no file that this process writes takes more than so many bytes: what comes
// behind them is an error, as on a disk that is full. The log of a test is such a file.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit few = {bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &few);
  }
  ~SmallFiles() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_ = {};
};

}  // namespace emulsion

#endif  // EMULSION_TESTS_SMALL_FILES_H_
