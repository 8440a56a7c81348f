#ifndef EMULSION_TESTS_RANDOM_LEVEL_BATCHES_H_
#define EMULSION_TESTS_RANDOM_LEVEL_BATCHES_H_

// The graphs of a run, shared out among the levels of x86-64, and of each among a few test cases.
// The levels take them in turn: a number has the same target on every machine, and a level that
// the machine lacks is skipped by name.

#include <cstdint>
#include <string>
#include <vector>

#include "dsl/target.h"

namespace emulsion {

constexpr int kLevelCount = 3;  // x86-64-v2, v3 and v4
constexpr int kBatches = 3;     // of each level

Target level_of(int index);
// The level with one core or two. Six numbers have a small cache, so that windows slide, six that
// of the level, and six one that holds nothing, so that short rows keep sums, too.
Target machine_of(int index);
// "Name_v3": of a case that runs at each level.
std::string name_with_level(const std::string& name, int level);

// Of `count`, or EMULSION_GRAPHS, numbers; of EMULSION_GRAPH alone where that is there.
std::vector<int> batch(int level, int number, int count);

}  // namespace emulsion

#endif  // EMULSION_TESTS_RANDOM_LEVEL_BATCHES_H_
