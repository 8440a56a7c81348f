#ifndef EMULSION_DSL_FILES_H_
#define EMULSION_DSL_FILES_H_

// Whole files, in and out. What is written is there completely or not at all: it is made beside its
// place and then renamed, so that whoever reads it meanwhile sees the old one or the new one, and a
// write that fails, or a program that is interrupted, leaves the old one. Errors name the path and
// what the operating system says.

#include <fstream>
#include <string>
#include <string_view>

namespace emulsion {

// `what` is for errors: "cannot read schedule y.schedule: No such file or directory".
std::string read_file(const std::string& what, const std::string& path);
void write_file(const std::string& what, const std::string& path, std::string_view bytes);
// Error when nothing can be written there: for before long work. Changes nothing.
void check_writable(const std::string& what, const std::string& path);

// The same piece by piece, for what is too long to hold.
class FileWriter {
 public:
  // Error: nothing can be made there. What is no regular file (a pipe, /dev/stdout) is written in
  // place, and of a link what it points to.
  FileWriter(const std::string& what, const std::string& path);
  ~FileWriter();  // without commit(): as if nothing had been written
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  std::ostream& stream() { return stream_; }
  // Error: not everything could be written; the old file is kept.
  void commit();

 private:
  [[noreturn]] void fail_to_write() const;

  std::string what_, path_;
  std::string place_;   // what path_ leads to
  std::string beside_;  // empty: written in place, or done
  std::ofstream stream_;
};

}  // namespace emulsion

#endif  // EMULSION_DSL_FILES_H_
