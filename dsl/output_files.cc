#include "dsl/output_files.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "dsl/error.h"

namespace emulsion {

namespace fs = std::filesystem;

OutputFiles::OutputFiles(const std::string& directory)
    : directory_(directory.empty() ? "." : directory) {
  std::error_code error;
  fs::create_directories(directory_, error);
  if (error && !fs::is_directory(directory_)) {
    fail("output directory {}: expected one that can be made, got: {}", directory_,
         error.message());
  }
  std::string pattern = (fs::path(directory_) / ".emulsion-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    fail("output directory {}: expected one that can be written, got: {}", directory_,
         std::strerror(errno));
  }
  scratch_ = pattern;
}

OutputFiles::~OutputFiles() {
  std::error_code ignored;
  fs::remove_all(scratch_, ignored);
}

std::string OutputFiles::scratch_path(const std::string& name) const {
  return (fs::path(scratch_) / name).string();
}

void OutputFiles::write_scratch(const std::string& name, const void* data, size_t size) const {
  std::string path = scratch_path(name);
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) {
    fail("output file {}: expected one that can be made, got: {}", path, std::strerror(errno));
  }
  bool written = size == 0 || std::fwrite(data, 1, size, file) == size;
  int reason = errno;
  if (std::fclose(file) != 0 && written) {
    written = false;
    reason = errno;
  }
  if (!written) {
    fail("output file {}: expected {} bytes to be written, got: {}", path, size,
         std::strerror(reason));
  }
}

void OutputFiles::commit(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    std::error_code error;
    fs::path to = fs::path(directory_) / name;
    fs::rename(scratch_path(name), to, error);
    if (error) {
      fail("output file {}: expected one that can be replaced, got: {}", to.string(),
           error.message());
    }
  }
}

}  // namespace emulsion
