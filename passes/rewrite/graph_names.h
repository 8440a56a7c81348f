#ifndef EMULSION_PASSES_REWRITE_GRAPH_NAMES_H_
#define EMULSION_PASSES_REWRITE_GRAPH_NAMES_H_

// The names of a graph, and new ones beside them.

#include <set>
#include <string>

#include "dsl/graph.h"

namespace emulsion {

// Of its operations, of the members of its groups, and of its sizes.
std::set<std::string> names_of(const Graph& graph);

// `wanted`, or else "wanted_1", "wanted_2", ..: the first that is free. It is taken from then on.
std::string take_name(const std::string& wanted, std::set<std::string>* taken);

}  // namespace emulsion

#endif  // EMULSION_PASSES_REWRITE_GRAPH_NAMES_H_
