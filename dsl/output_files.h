#ifndef EMULSION_DSL_OUTPUT_FILES_H_
#define EMULSION_DSL_OUTPUT_FILES_H_

// Files that are there completely or not at all: written into a folder of their own in the
// directory where they are wanted, and renamed when everything has been written. A file in it is
// locked while somebody uses it; what a killed process has left is not, and the next one takes it
// away.

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace emulsion {

class OutputFiles {
 public:
  // Makes the directory when it is not there. Error, naming it and the reason: it cannot be made or
  // written.
  explicit OutputFiles(const std::string& directory);
  // Takes away what was not committed.
  ~OutputFiles();
  OutputFiles(const OutputFiles&) = delete;
  OutputFiles& operator=(const OutputFiles&) = delete;

  // Where a file may be written now, for tools that want a path; not part of the output by itself.
  std::string scratch_path(const std::string& name) const;
  // Error: it cannot be written.
  void write_scratch(const std::string& name, const void* data, size_t size) const;
  // Renames scratch files to files of the directory, in this order; of two processes that do so at
  // once, one comes after the other. Error: one cannot be; then all are again as they were before.
  // Who is killed in between leaves each file whole, and some of them old: a kernel's header does
  // not link with the archive of another.
  void commit(const std::vector<std::string>& names);

 private:
  std::string directory_;
  std::string scratch_;
  int lock_ = -1;  // of the scratch folder
};

}  // namespace emulsion

#endif  // EMULSION_DSL_OUTPUT_FILES_H_
