#ifndef EMULSION_TESTS_PASSES_REWRITE_CHECK_REWRITE_H_
#define EMULSION_TESTS_PASSES_REWRITE_CHECK_REWRITE_H_

#include <string>
#include <vector>

#include "dsl/graph.h"
#include "passes/rewrite/apply_rules.h"

namespace emulsion {

// Checks with the interpreter, on small whole numbers, that both graphs compute the same outputs to
// within `relative`, by default to the bit. Run-time sizes are 3, 4, 5, ... in the order of their
// names, then all 1 and all 0.
void expect_same_values(const Graph& before, const Graph& after, double relative = 0);

// apply_rules(), checked: the graph is sound, computes the same, and a second run changes nothing.
Rewritten rewritten(const Graph& graph, const std::vector<RewriteRule>& rules, double relative = 0);

// The names of what computes: comprehensions and groups.
std::vector<std::string> computed(const Graph& graph);

}  // namespace emulsion

#endif  // EMULSION_TESTS_PASSES_REWRITE_CHECK_REWRITE_H_
