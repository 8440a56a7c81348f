#ifndef EMULSION_BENCHMARKS_CHILD_PROGRAM_H_
#define EMULSION_BENCHMARKS_CHILD_PROGRAM_H_

// For what is measured in a process of its own.

#include <functional>
#include <string>

namespace emulsion::benchmarks {

// Made on construction, removed with everything in it.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// As one word of a shell's command.
std::string quoted(const std::string& text);

// Runs a shell's command and passes each line of its standard output on, without the newline.
// Error: it cannot be started, or ends with anything but 0; `name` stands in the message.
void run_program_lines(const std::string& name, const std::string& command,
                       const std::function<void(const std::string& line)>& take);

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_CHILD_PROGRAM_H_
