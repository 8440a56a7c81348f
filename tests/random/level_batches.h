#ifndef EMULSION_TESTS_RANDOM_LEVEL_BATCHES_H_
#define EMULSION_TESTS_RANDOM_LEVEL_BATCHES_H_

// The graphs of a run, shared out among the levels of x86-64, and of each among a few test cases.
// The levels take them in turn: a number has the same target on every machine, and a level that
// the machine lacks is skipped by name.

#include <cstdint>
#include <vector>

#include "dsl/target.h"
#include "tests/random/test_environment.h"

namespace emulsion {

constexpr const char* kLevels[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4"};
constexpr int kLevelCount = 3;
constexpr int kBatches = 3;  // of each level

inline Target level_of(int index) { return Target::parse(kLevels[index % kLevelCount]); }

// Of `count`, or EMULSION_GRAPHS, numbers; of EMULSION_GRAPH alone where that is there.
inline std::vector<int> batch(int level, int number, int count) {
  const uint64_t only = number_from("EMULSION_GRAPH", UINT64_MAX);
  const int all = static_cast<int>(number_from("EMULSION_GRAPHS", static_cast<uint64_t>(count)));
  std::vector<int> graphs;
  for (int graph = level + number * kLevelCount; graph < all; graph += kBatches * kLevelCount) {
    if (only == UINT64_MAX || only == static_cast<uint64_t>(graph)) graphs.push_back(graph);
  }
  return graphs;
}

}  // namespace emulsion

#endif  // EMULSION_TESTS_RANDOM_LEVEL_BATCHES_H_
