#ifndef EMULSION_PASSES_DERIVE_UNIT_AXES_H_
#define EMULSION_PASSES_DERIVE_UNIT_AXES_H_

// Last axes of one step say nothing: a picture of [1, H, W, 1] lies in memory as one of [1, H, W]
// does, and a sum that was kept as [M, 1] as one of [M]. Loops are derived for the graph without
// them, or vectors along the last axis would have one lane.
//
//   y[i, j, u: 1] = sum(a: 3, c: 1) x[i + a, j, u + c] * w[a, u]
//     ->  y[i, j] = sum(a: 3) x[i + a, j] * w[a]
//
// The schedule of that graph is one of the graph itself, once each stage has these loops outside of
// all others.

#include <optional>

#include "dsl/graph.h"
#include "dsl/schedule.h"

namespace emulsion {

// Without the last axes of one step of every tensor, and without those of a sum that has others.
// Operations keep their names, and axes theirs. Nothing where
// no operation has vectors along such an axis: what is kept of sums along rows has loops of the
// rows.
std::optional<Graph> without_unit_axes(const Graph& graph);

// What was derived for the graph without them, for `graph`, operation by operation.
Schedule with_unit_axes(const Schedule& made, const Graph& graph);

// The loop groups of the graph without them, of `graph`.
Graph with_groups_of(const Graph& made, const Graph& graph);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_UNIT_AXES_H_
