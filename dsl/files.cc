#include "dsl/files.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "dsl/error.h"

namespace emulsion {

namespace fs = std::filesystem;

namespace {

// No other file's name, in the same folder: only there is renaming one step.
std::string name_beside(const std::string& place) {
  static std::atomic<int> count{0};
  return fmt::format("{}.{}.{}.tmp", place, getpid(), count++);
}

}  // namespace

std::string read_file(const std::string& what, const std::string& path) {
  auto refuse = [&](int reason) {
    fail("cannot read {} {}: {}", what, path, std::strerror(reason));
  };
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) refuse(EISDIR);
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  if (!stream) refuse(errno);
  std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  if (stream.bad()) refuse(errno);
  return bytes;
}

void write_file(const std::string& what, const std::string& path, std::string_view bytes) {
  FileWriter file(what, path);
  file.stream() << bytes;
  file.commit();
}

void check_writable(const std::string& what, const std::string& path) {
  const FileWriter never_committed(what, path);
}

FileWriter::FileWriter(const std::string& what, const std::string& path)
    : what_(what), path_(path), place_(path) {
  std::error_code ignored;
  const fs::path target = fs::canonical(path, ignored);
  if (!target.empty()) place_ = target.string();
  if (fs::is_directory(place_, ignored)) {
    errno = EISDIR;
    fail_to_write();
  }
  if (!fs::exists(place_, ignored) || fs::is_regular_file(place_, ignored)) {
    beside_ = name_beside(place_);
  }
  errno = 0;
  stream_.open(beside_.empty() ? place_ : beside_, std::ios::binary);
  if (stream_) return;
  beside_.clear();
  fail_to_write();
}

FileWriter::~FileWriter() {
  if (!beside_.empty()) std::remove(beside_.c_str());
}

void FileWriter::commit() {
  // Why something was not written before now is the last error that there was.
  if (stream_) errno = 0;
  stream_.close();
  if (!stream_) fail_to_write();
  if (beside_.empty()) return;
  if (std::rename(beside_.c_str(), place_.c_str()) != 0) fail_to_write();
  beside_.clear();
}

void FileWriter::fail_to_write() const {
  fail("cannot write {} {}: {}", what_, path_, std::strerror(errno));
}

}  // namespace emulsion
