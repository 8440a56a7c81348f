#ifndef EMULSION_TESTS_PASSES_DERIVE_DERIVED_TEXT_H_
#define EMULSION_TESTS_PASSES_DERIVE_DERIVED_TEXT_H_

// Derived schedules for targets that are named, so that no machine changes them: as text, and what
// they compute.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "dsl/graph.h"
#include "dsl/target.h"
#include "dsl/tensor.h"

namespace emulsion {

inline constexpr const char* kLevels[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4"};

Target target_of(const std::string& level, int cores);
std::string derived(const Graph& graph, const Target& target);
std::string derived(const Tensor& y, const Target& target);
// Whether they compute what the graph says, for every level and for one thread and two; each
// run-time size takes every value of `batches` in turn.
testing::AssertionResult derives_on_all(const Graph& graph, const std::vector<int64_t>& batches);
// Whether `part` stands in `text`.
bool has(const std::string& text, const std::string& part);

}  // namespace emulsion

#endif  // EMULSION_TESTS_PASSES_DERIVE_DERIVED_TEXT_H_
