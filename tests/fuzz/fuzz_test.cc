// Mutated files. A failure prints the seed and the bytes:
//
//   ./bazelw test //tests/fuzz:fuzz_test --test_env=EMULSION_SEED=7 --test_env=EMULSION_RUNS=100000
//
// EMULSION_RUNS is how many files each target looks at. What a run finds goes into the corpus, if
// it is read, or into the folder `found`: all of both is looked at first.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/fuzz_files.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/mutate.h"
#include "tests/random/random_numbers.h"
#include "tests/random/run_in_children.h"
#include "tests/random/test_environment.h"

namespace emulsion {
namespace {

constexpr uint64_t kSeed = 20261127;
constexpr uint64_t kRuns = 12000;
constexpr uint64_t kRunsOfTask = 500;

// `runs` mutated files: how many were accepted, then the first failure.
std::string mutations(const FuzzTarget& target, const std::vector<FuzzFile>& corpus, uint64_t seed,
                      uint64_t runs) {
  RandomNumbers random(seed);
  uint64_t accepted = 0;
  for (uint64_t run = 0; run < runs; ++run) {
    // A schedule is for the graph of one file: what it is made of are schedules of that graph.
    const std::string& name = random.of(corpus).name;
    std::vector<std::string> same;
    for (const FuzzFile& file : corpus) {
      const bool of_one_graph =
          file.name.substr(0, file.name.find('.')) == name.substr(0, name.find('.'));
      if (of_one_graph || random.below(8) == 0) same.push_back(file.bytes);
    }
    const FuzzFile file = {name, mutate(random.of(same), same, &random)};
    announce(fmt::format("{} seed {} run {}, of {}:\n{}", target.name, seed, run, name,
                         printable(file.bytes)));
    const FuzzOutcome outcome = look_at(target, file);
    accepted += outcome.accepted ? 1 : 0;
    if (!outcome.failure.empty()) {
      return fmt::format("{} seed {} run {}: {}", accepted, seed, run, outcome.failure);
    }
  }
  return std::to_string(accepted) + " ";
}

class Fuzz : public ::testing::TestWithParam<FuzzTarget> {};

TEST_P(Fuzz, TheCorpusIsRead) {
  const std::vector<FuzzFile> corpus = files_of(GetParam(), "tests/fuzz/corpus");
  EXPECT_GE(corpus.size(), 4U);
  for (const FuzzFile& file : corpus) {
    const FuzzOutcome outcome = look_at(GetParam(), file);
    EXPECT_TRUE(outcome.accepted) << file.name;
    EXPECT_EQ(outcome.failure, "");
  }
}

TEST_P(Fuzz, WhatWasFoundIsReadOrRefused) {
  for (const FuzzFile& file : files_of(GetParam(), "tests/fuzz/found")) {
    EXPECT_EQ(look_at(GetParam(), file).failure, "");
  }
}

TEST_P(Fuzz, MutatedFilesAreReadOrRefused) {
  const FuzzTarget& target = GetParam();
  const std::vector<FuzzFile> corpus = files_of(target, "tests/fuzz/corpus");
  const uint64_t seed = number_from("EMULSION_SEED", kSeed);
  const uint64_t runs = number_from("EMULSION_RUNS", kRuns);
  std::vector<std::function<std::string()>> tasks;
  for (uint64_t first = 0; first < runs; first += kRunsOfTask) {
    const uint64_t count = std::min(kRunsOfTask, runs - first);
    tasks.emplace_back(
        [&, first, count] { return mutations(target, corpus, (seed << 32) + first, count); });
  }
  uint64_t accepted = 0;
  for (const TaskResult& result : run_in_children(tasks)) {
    EXPECT_EQ(result.crash, "");
    if (!result.crash.empty()) continue;
    const size_t space = result.text.find(' ');
    accepted += std::stoull(result.text.substr(0, space));
    EXPECT_EQ(result.text.substr(space + 1), "");
  }
  fmt::print("{}: {} of {} files accepted\n", target.name, accepted, runs);
  // All refused, or all accepted, would look at little.
  EXPECT_GE(accepted * 50, runs);
  EXPECT_LE(accepted, runs * 9 / 10);
}

INSTANTIATE_TEST_SUITE_P(All, Fuzz, ::testing::ValuesIn(fuzz_targets()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace emulsion
