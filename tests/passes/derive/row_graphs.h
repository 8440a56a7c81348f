#ifndef EMULSION_TESTS_PASSES_DERIVE_ROW_GRAPHS_H_
#define EMULSION_TESTS_PASSES_DERIVE_ROW_GRAPHS_H_

// Graphs whose operations combine rows and go on with them, for tests of what is computed by rows.

#include <string>
#include <utility>
#include <vector>

#include "dsl/graph.h"
#include "dsl/target.h"
#include "passes/derive/row_groups.h"

namespace emulsion {

// The row groups of a graph, and the grouped graph whose operations they are.
struct Groups {
  Groups(const Graph& graph, const Target& target);

  size_t size() const { return all.size(); }
  bool empty() const { return all.empty(); }
  const RowGroup& operator[](size_t at) const { return all[at]; }

  Graph grouped;
  std::vector<RowGroup> all;
};

// p[i, k] = exp(x[i, k] - max of row i), y[i, k] = p[i, k] / sum of row i of p, in index notation.
Graph softmax_by_hand(const Extent& rows, const Extent& columns);
// The same with the root of the squares' sum, root[i], which vectors across the rows make.
Graph roots_by_hand(const Extent& rows, const Extent& columns);
// By name, each with rows of x as long as `columns`; all are one group, the reader is y.
std::vector<std::pair<std::string, Graph>> row_graphs(const Extent& rows, const Extent& columns);

// By name, each of pictures x: f32[pictures, channels, height, width], whose rows are a channel of
// all of them; all are one group, the reader is y.
std::vector<std::pair<std::string, Graph>> piece_graphs(const Extent& pictures,
                                                        const Extent& channels,
                                                        const Extent& height, const Extent& width);

}  // namespace emulsion

#endif  // EMULSION_TESTS_PASSES_DERIVE_ROW_GRAPHS_H_
