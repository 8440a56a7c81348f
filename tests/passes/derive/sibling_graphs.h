#ifndef EMULSION_TESTS_PASSES_DERIVE_SIBLING_GRAPHS_H_
#define EMULSION_TESTS_PASSES_DERIVE_SIBLING_GRAPHS_H_

// Siblings whose outputs are `a` and `b`, and the schedules that are derived for them.

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "passes/fuse/find_siblings.h"
#include "passes/fuse/fusion_report.h"

namespace emulsion {

inline constexpr char kOneCore[] = "x86-64-v3,cores=1", kFourCores[] = "x86-64-v3,cores=4";

// Two outputs of one input.
Graph pair_of(const Shape& shape);
// The same of so many operations that stores do not wait for one another.
Graph pair_of_polynomials(const Shape& shape);
// The same, of which the second one reads more that is its own.
Graph pair_and_more(const Shape& shape);
// Planes made of the colours of pixels.
Graph planes_of_pixels(const Extent& rows, const Extent& columns);

Schedule shared(const Graph& graph, const std::string& target, FusionReport* report = nullptr,
                const std::optional<SiblingPolicy>& policy = share_always);
std::string text_of(const Graph& graph, const std::string& target);
// Whether it shares a loop and computes what the graph says, for each batch as all its sizes.
testing::AssertionResult computes_at(const Graph& graph, const std::string& target,
                                     const std::vector<int64_t>& batches = {0});

}  // namespace emulsion

#endif  // EMULSION_TESTS_PASSES_DERIVE_SIBLING_GRAPHS_H_
