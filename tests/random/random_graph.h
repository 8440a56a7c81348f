#ifndef EMULSION_TESTS_RANDOM_RANDOM_GRAPH_H_
#define EMULSION_TESTS_RANDOM_RANDOM_GRAPH_H_

// Graphs that nobody would write, valid by construction: every operator of dsl/operators.h over
// ranks 0 to 5, extents that are awkward for vectors and tiles, run-time sizes, values with several
// users, diamonds, weights that are shared, results that are outputs and read on. An operator that
// throws for one of its choices has a bug, or the generator has.

#include <cstdint>
#include <string>
#include <vector>

#include "tests/random/recipe.h"

namespace emulsion {

// Every operator, by the name it has in a recipe.
const std::vector<std::string>& operator_names();

// Graph `index` of a test run that started from `base_seed`. The operators take turns at being the
// one that must occur.
Recipe random_recipe(uint64_t base_seed, int index);

}  // namespace emulsion

#endif  // EMULSION_TESTS_RANDOM_RANDOM_GRAPH_H_
