#ifndef EMULSION_BENCHMARKS_CHILD_PROGRAM_H_
#define EMULSION_BENCHMARKS_CHILD_PROGRAM_H_

// For what is measured in a process of its own.

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

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

// A process that answers: one line of its standard output for each line on its standard input.
class AnsweringProgram {
 public:
  // `words` are the program and its arguments. Error: it cannot be started.
  AnsweringProgram(std::string name, const std::vector<std::string>& words);
  // Closes its standard input and waits for its end.
  ~AnsweringProgram();
  AnsweringProgram(const AnsweringProgram&) = delete;
  AnsweringProgram& operator=(const AnsweringProgram&) = delete;

  // The answer to one line, both without a newline. Error: the program has ended.
  std::string ask(const std::string& line);

 private:
  std::string name_;
  pid_t process_ = -1;
  int socket_ = -1;  // its standard input and output
  std::string received_;
};

}  // namespace emulsion::benchmarks

#endif  // EMULSION_BENCHMARKS_CHILD_PROGRAM_H_
