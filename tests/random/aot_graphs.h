#ifndef EMULSION_TESTS_RANDOM_AOT_GRAPHS_H_
#define EMULSION_TESTS_RANDOM_AOT_GRAPHS_H_

// Random graphs as libraries: make_aot_graphs compiles them while building, aot_graph_test runs
// them.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "HalideRuntime.h"
#include "dsl/target.h"

namespace emulsion {

constexpr uint64_t kAotSeed = 20261122;
constexpr int kAotGraphs = 24;

// Each library holds a body for each of them.
inline std::vector<Target> aot_targets() {
  return {Target::parse("x86-64-v4"), Target::parse("x86-64-v3"), Target::parse("x86-64-linux")};
}

struct AotGraph {
  int index = 0;  // of random_recipe(kAotSeed, index)
  using Call = int (*)(halide_buffer_t* const* arguments);
  Call call = nullptr;
  std::map<std::string, Call> packs;  // by weight: from the weight to the packed one
};

}  // namespace emulsion

#endif  // EMULSION_TESTS_RANDOM_AOT_GRAPHS_H_
