#ifndef EMULSION_TESTS_PASSES_DERIVE_MOVES_READ_THROUGH_H_
#define EMULSION_TESTS_PASSES_DERIVE_MOVES_READ_THROUGH_H_

// What read_through() takes of a graph, checked on targets that are named.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "dsl/graph.h"

namespace emulsion {

inline constexpr const char* kReadThroughTargets[] = {"x86-64-v2,cores=1", "x86-64-v3,cores=4",
                                                      "x86-64-v4,cores=1"};

// The operations that are read through, the same for every target; the kernel is right for these
// batches, within the tolerance, and stores none of them.
std::set<std::string> moves_read_through(const Graph& graph, const std::vector<int64_t>& batches,
                                         double tolerance);

}  // namespace emulsion

#endif  // EMULSION_TESTS_PASSES_DERIVE_MOVES_READ_THROUGH_H_
