#ifndef EMULSION_TESTS_RANDOM_REWRITE_GRAPH_H_
#define EMULSION_TESTS_RANDOM_REWRITE_GRAPH_H_

// Graphs in which rewrites find something to do, or nearly: the patterns of some rules and the
// identities of the clean-up passes, written in the ways in which people write them, among other
// operations. Inner values have other users, and are outputs, more often than in any real graph.
// All values are whole numbers, or halves and quarters, that f32 holds exactly. They are recipes,
// so that NumPy, too, can say what they evaluate to.

#include <cstdint>
#include <vector>

#include "passes/rewrite/rewrite_rule.h"
#include "tests/random/recipe.h"

namespace emulsion {

// What is exact for such numbers: a group, a fold, sums and products rearranged.
std::vector<RewriteRule> exact_rules();

// Recipe `index` of a run that started from `seed`: 5 to 40 operations.
Recipe rewrite_recipe(uint64_t seed, int index);

}  // namespace emulsion

#endif  // EMULSION_TESTS_RANDOM_REWRITE_GRAPH_H_
