// Guided fuzzing by hand, for an hour unless something else is asked for:
//
//   ./bazelw run //tests/fuzz:fuzz_for_long                        all targets in turn
//   ./bazelw run //tests/fuzz:fuzz_for_long -- 600 /tmp/fuzz json  seconds, folder, one target
//
// The folder, /tmp/emulsion-fuzz otherwise, has what is kept, with which the next run goes on, and
// what is found, which belongs into tests/fuzz/found once it is mended. Ctrl-C ends it early, with
// nothing lost. It ends with 1 when something was found.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_files.h"
#include "tests/fuzz/fuzz_folder.h"
#include "tests/fuzz/fuzz_targets.h"

namespace emulsion {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kRound(60);

volatile std::sig_atomic_t is_interrupted = 0;

void interrupt(int /*signal*/) { is_interrupted = 1; }

// The process that looks at files is interrupted as well, and ends its round.
void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = interrupt;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

int fuzz_for_long(std::chrono::seconds seconds, const std::string& folder,
                  const std::vector<FuzzTarget>& targets) {
  catch_interrupts();
  const Clock::time_point end = Clock::now() + seconds;
  std::set<std::string> found;
  const auto is_over = [&] { return is_interrupted != 0 || Clock::now() >= end; };
  // Another seed for each round and each run, since those before it looked at theirs.
  auto seed = static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  while (!is_over()) {
    for (const FuzzTarget& target : targets) {
      const Clock::time_point end_of_round = Clock::now() + kRound;
      const FuzzRound round =
          fuzz_in_folder(target, files_of(target, "tests/fuzz/corpus"), folder, ++seed,
                         [&] { return is_over() || Clock::now() >= end_of_round; });
      for (const std::string& line : round.found) {
        if (found.insert(line).second) fmt::print("found {}\n", line);
      }
      fmt::print("{}\n", round.summary);
      std::fflush(stdout);
    }
  }
  fmt::print("{} found in {}\n", found.size(), folder);
  return found.empty() ? 0 : 1;
}

}  // namespace
}  // namespace emulsion

int main(int argc, char** argv) {
  using namespace emulsion;
  std::vector<FuzzTarget> targets = fuzz_targets();
  std::set<std::string> names;
  for (const FuzzTarget& target : targets) names.insert(target.name);
  int64_t seconds = 3600;
  std::string folder = "/tmp/emulsion-fuzz", only;
  CLI::App app("Fuzzes the readers of files, guided by the comparisons that they make.",
               "fuzz_for_long");
  app.add_option("seconds", seconds, "How long, 3600 unless it is said")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("folder", folder, "For what is kept and found, " + folder + " unless it is said");
  app.add_option("target", only, "One of them; all in turn unless it is said")
      ->check(CLI::IsMember(names));
  app.footer("Example: ./bazelw run //tests/fuzz:fuzz_for_long -- 600 /tmp/fuzz json");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const auto is_other = [&](const FuzzTarget& target) {
    return !only.empty() && target.name != only;
  };
  targets.erase(std::remove_if(targets.begin(), targets.end(), is_other), targets.end());
  return fuzz_for_long(std::chrono::seconds(seconds), folder, targets);
}
