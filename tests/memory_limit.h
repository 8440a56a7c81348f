#ifndef EMULSION_TESTS_MEMORY_LIMIT_H_
#define EMULSION_TESTS_MEMORY_LIMIT_H_

#include <sys/resource.h>

#include <fstream>
#include <string>

namespace emulsion {

// As long as it lives, this process gets no more than so many bytes of memory besides what it has:
// what would take all that there is ends with std::bad_alloc.
class MemoryLimit {
 public:
  explicit MemoryLimit(rlim_t more) {
    getrlimit(RLIMIT_DATA, &before_);
    std::ifstream status("/proc/self/status");
    rlim_t kilobytes = 0;
    for (std::string word; status >> word;) {
      if (word == "VmData:") status >> kilobytes;
    }
    const rlimit little = {kilobytes * 1024 + more, before_.rlim_max};
    setrlimit(RLIMIT_DATA, &little);
  }
  ~MemoryLimit() { setrlimit(RLIMIT_DATA, &before_); }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  rlimit before_ = {};
};

}  // namespace emulsion

#endif  // EMULSION_TESTS_MEMORY_LIMIT_H_
