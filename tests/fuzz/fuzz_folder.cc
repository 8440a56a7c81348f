#include "tests/fuzz/fuzz_folder.h"

#include <fmt/format.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <utility>

#include "tests/fuzz/guided_fuzz.h"
#include "tests/random/run_in_children.h"

namespace emulsion {
namespace {

namespace fs = std::filesystem;

constexpr size_t kEnoughFound = 20;  // in one round: most would be one bug again and again

void write_file(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// "diamond.<hash>.schedule": up to the first dot it says what it was made of, as in the corpus.
std::string name_by_bytes(const FuzzTarget& target, const FuzzFile& file) {
  return fmt::format("{}.{:016x}{}", file.name.substr(0, file.name.find('.')),
                     std::hash<std::string>()(file.bytes), target.ending);
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// One round, in its process.
class Round {
 public:
  Round(const FuzzTarget& target, fs::path folder, uint64_t seed)
      : target_(target), folder_(std::move(folder)), fuzz_(target, seed) {}

  // A line for each file that was found, and the summary behind them.
  std::string run(const std::vector<FuzzFile>& corpus, const std::function<bool()>& is_over) {
    for (const FuzzFile& file : corpus) look(file);
    for (const FuzzFile& file : files_of(target_, folder_ / "kept")) look(file);
    const size_t before = fuzz_.kept().size();
    while (!is_over() && found_ < kEnoughFound) {
      const size_t kept = fuzz_.kept().size();
      const FuzzFile file = fuzz_.next();
      look(file);
      if (fuzz_.kept().size() > kept) {
        write_file(folder_ / "kept" / name_by_bytes(target_, file), file.bytes);
      }
    }
    return lines_ + fmt::format("{}: {} files, {} kept, {} of them new; {} outcomes of comparisons",
                                target_.name, looked_at_, fuzz_.kept().size(),
                                fuzz_.kept().size() - before, fuzz_.outcomes());
  }

 private:
  // It lies in the folder `now` meanwhile: should it end this process, it is still there.
  void look(const FuzzFile& file) {
    const std::string name = name_by_bytes(target_, file);
    write_file(folder_ / "now" / name, file.bytes);
    ++looked_at_;
    const FuzzOutcome outcome = fuzz_.look(file);
    if (outcome.failure.empty()) {
      fs::remove(folder_ / "now" / name);
      return;
    }
    fs::rename(folder_ / "now" / name, folder_ / "found" / name);
    lines_ += name + ": " + first_line(outcome.failure) + "\n";
    ++found_;
  }

  const FuzzTarget& target_;
  const fs::path folder_;
  GuidedFuzz fuzz_;
  uint64_t looked_at_ = 0;
  size_t found_ = 0;
  std::string lines_;
};

}  // namespace

FuzzRound fuzz_in_folder(const FuzzTarget& target, const std::vector<FuzzFile>& corpus,
                         const fs::path& folder, uint64_t seed,
                         const std::function<bool()>& is_over) {
  fs::remove_all(folder / "now");
  for (const char* part : {"kept", "found", "now"}) fs::create_directories(folder / part);
  const TaskResult result =
      run_in_children({[&] { return Round(target, folder, seed).run(corpus, is_over); }})[0];
  FuzzRound round;
  for (const FuzzFile& file : files_of(target, folder / "now")) {
    fs::rename(folder / "now" / file.name, folder / "found" / file.name);
    round.found.push_back(file.name + ": " + result.crash);
  }
  if (!result.crash.empty() && round.found.empty()) {  // no file has done it
    round.found.push_back(target.name + ": " + result.crash);
  }
  size_t first = 0;
  for (size_t end = 0; (end = result.text.find('\n', first)) != std::string::npos;
       first = end + 1) {
    round.found.push_back(result.text.substr(first, end - first));
  }
  round.summary = result.crash.empty() ? result.text.substr(first) : target.name + ": ended early";
  return round;
}

}  // namespace emulsion
