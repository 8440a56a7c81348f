#include "tests/random/level_batches.h"

#include <fmt/format.h>

#include "tests/random/test_environment.h"

namespace emulsion {
namespace {

constexpr int kFirstLevel = 2;

}  // namespace

Target level_of(int index) {
  return Target::parse(fmt::format("x86-64-v{}", kFirstLevel + index % kLevelCount));
}

Target machine_of(int index) {
  Target target = level_of(index);
  target.cores = index / 3 % 2 + 1;
  const int64_t caches[] = {4096, target.l2_bytes, 64};
  target.l2_bytes = caches[index / 6 % 3];
  return target;
}

std::string name_with_level(const std::string& name, int level) {
  return fmt::format("{}_v{}", name, kFirstLevel + level);
}

std::vector<int> batch(int level, int number, int count) {
  const uint64_t only = number_from("EMULSION_GRAPH", UINT64_MAX);
  const int all = static_cast<int>(number_from("EMULSION_GRAPHS", static_cast<uint64_t>(count)));
  std::vector<int> graphs;
  for (int graph = level + number * kLevelCount; graph < all; graph += kBatches * kLevelCount) {
    if (only == UINT64_MAX || only == static_cast<uint64_t>(graph)) graphs.push_back(graph);
  }
  return graphs;
}

}  // namespace emulsion
