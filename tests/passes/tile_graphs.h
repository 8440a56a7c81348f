#ifndef EMULSION_TESTS_PASSES_TILE_GRAPHS_H_
#define EMULSION_TESTS_PASSES_TILE_GRAPHS_H_

// Graphs for tests of what makes and reads programs for a tile machine, and a machine whose tiles
// are small enough for them.

#include <ostream>
#include <string>
#include <vector>

#include "dsl/graph.h"
#include "dsl/target.h"

namespace emulsion {

struct NamedGraph {
  std::string name;
  Graph graph;
};
inline void PrintTo(const NamedGraph& row, std::ostream* out) { *out << row.name; }

// y = relu(matmul(x, w) + b).
Graph linear_graph(const Extent& rows, const Extent& depth, const Extent& columns);
// Every kind of operation, with edges in every direction; those whose name ends in _b have the
// run-time size B.
std::vector<NamedGraph> tile_graphs();
// Tiles of 4 x 8 x 4 points.
TileMachine small_machine();

}  // namespace emulsion

#endif  // EMULSION_TESTS_PASSES_TILE_GRAPHS_H_
