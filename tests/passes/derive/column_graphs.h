#ifndef EMULSION_TESTS_PASSES_DERIVE_COLUMN_GRAPHS_H_
#define EMULSION_TESTS_PASSES_DERIVE_COLUMN_GRAPHS_H_

// Graphs whose operations combine elements along an axis that is not the last, and go on with the
// results, for tests of what is computed by blocks of columns.

#include <string>
#include <utility>
#include <vector>

#include "dsl/graph.h"

namespace emulsion {

// By name, each of x: f32[rows, columns] or of pictures with `rows` channels; all are one group,
// the reader is y.
std::vector<std::pair<std::string, Graph>> column_graphs(const Extent& rows, const Extent& columns);

}  // namespace emulsion

#endif  // EMULSION_TESTS_PASSES_DERIVE_COLUMN_GRAPHS_H_
