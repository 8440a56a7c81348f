#include "dsl/output_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "dsl/error.h"

namespace emulsion {

namespace fs = std::filesystem;

namespace {

constexpr char kScratch[] = ".emulsion-";

// A lock that ends with its owner, however that ends, of a file or a folder. Its descriptor, or -1:
// somebody else has it, it is not there, or the file system has no locks.
int lock(const std::string& path, int how, int flags = 0) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | flags, 0600);
  if (file >= 0 && flock(file, how) == 0) return file;
  if (file >= 0) close(file);
  return -1;
}

// What a scratch folder's owner locks. Not the folder itself: another OutputFiles may be inside.
std::string lock_of(const std::string& scratch) { return (fs::path(scratch) / ".lock").string(); }

// As long as it lives, no other OutputFiles makes scratch folders in the directory or renames
// files. They do so for moments: who has the lock for seconds is somebody else (a script that runs
// us under flock), and not to be waited for.
class Alone {
 public:
  explicit Alone(const std::string& directory) {
    constexpr int kTries = 500;
    for (int i = 0; i < kTries && lock_ < 0; ++i) {
      lock_ = lock(directory, LOCK_EX | LOCK_NB);
      if (lock_ < 0 && errno != EWOULDBLOCK) break;  // there are no locks here
      if (lock_ < 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  ~Alone() {
    if (lock_ >= 0) close(lock_);
  }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

 private:
  int lock_ = -1;
};

// What processes have left that are no more. A folder without a lock was left before it had one:
// nobody makes one meanwhile.
void remove_leftovers(const std::string& directory) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, ignored)) {
    if (entry.path().filename().string().rfind(kScratch, 0) != 0) continue;
    const std::string its_lock = lock_of(entry.path().string());
    const int dead = lock(its_lock, LOCK_EX | LOCK_NB);
    if (dead < 0 && fs::exists(its_lock, ignored)) continue;
    fs::remove_all(entry.path(), ignored);
    if (dead >= 0) close(dead);
  }
}

// Files that have been replaced; they come back unless that is to stay.
class Replacements {
 public:
  // `kept`: a folder for what was there.
  explicit Replacements(fs::path kept) : kept_(std::move(kept)) {
    std::error_code ignored;
    fs::create_directory(kept_, ignored);
  }
  ~Replacements() {
    std::error_code ignored;
    for (size_t i = done_.size(); i-- > 0;) {
      const fs::path old = kept_ / std::to_string(i);
      if (fs::exists(old, ignored)) {
        fs::rename(old, done_[i], ignored);
      } else {
        fs::remove(done_[i], ignored);
      }
    }
  }
  Replacements(const Replacements&) = delete;
  Replacements& operator=(const Replacements&) = delete;

  // In one step for whoever reads `to`.
  void replace(const fs::path& to, const fs::path& from) {
    std::error_code error = keep_old(to, kept_ / std::to_string(done_.size()));
    if (!error) fs::rename(from, to, error);
    if (error) {
      fail("output file {}: expected one that can be replaced, got: {}", to.string(),
           error.message());
    }
    done_.push_back(to);
  }
  void keep() { done_.clear(); }

 private:
  // By a second name; by a copy where the file system has none, or not for another user's file.
  static std::error_code keep_old(const fs::path& file, const fs::path& old) {
    std::error_code error;
    fs::create_hard_link(file, old, error);
    if (error == std::errc::no_such_file_or_directory) return {};  // nothing is replaced
    if (error) fs::copy_file(file, old, error);
    return error;
  }

  const fs::path kept_;
  std::vector<fs::path> done_;
};

}  // namespace

OutputFiles::OutputFiles(const std::string& directory)
    : directory_(directory.empty() ? "." : directory) {
  std::error_code error;
  fs::create_directories(directory_, error);
  if (error && !fs::is_directory(directory_)) {
    fail("output directory {}: expected one that can be made, got: {}", directory_,
         error.message());
  }
  const Alone alone(directory_);
  remove_leftovers(directory_);
  std::string pattern = (fs::path(directory_) / (std::string(kScratch) + "XXXXXX")).string();
  if (mkdtemp(pattern.data()) == nullptr) {
    fail("output directory {}: expected one that can be written, got: {}", directory_,
         std::strerror(errno));
  }
  scratch_ = pattern;
  lock_ = lock(lock_of(scratch_), LOCK_EX, O_CREAT);
}

OutputFiles::~OutputFiles() {
  std::error_code ignored;
  fs::remove_all(scratch_, ignored);
  if (lock_ >= 0) close(lock_);
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
  const Alone alone(directory_);
  Replacements replacements(fs::path(scratch_) / ".replaced");
  for (const std::string& name : names) {
    replacements.replace(fs::path(directory_) / name, scratch_path(name));
  }
  replacements.keep();
}

}  // namespace emulsion
