#ifndef EMULSION_PASSES_DERIVE_NORMAL_AXES_H_
#define EMULSION_PASSES_DERIVE_NORMAL_AXES_H_

// The same computation may be written with other axes, and has the same loops. They are derived for
// a normal form of the graph, in which
//
//   tensors have no last axes of one step: a picture of [1, H, W, 1] lies in memory as one of
//   [1, H, W] does, and a sum that was kept as [M, 1] as one of [M];
//   sums have no axes of one step beside others, and go along memory:
//
//   y[i, j, u: 1] = sum(c: 1, b: 3, a: 3) x[i + a, j + b, u + c]
//     ->  y[i, j] = sum(a: 3, b: 3) x[i + a, j + b]
//
// Vectors along the last axis would have one lane, and gather where another one is last in memory.
// The schedule of the normal form is one of the graph itself, once each stage has its loops in that
// order, those of one step at the ends.

#include <optional>
#include <set>
#include <string>

#include "dsl/graph.h"
#include "dsl/schedule.h"

namespace emulsion {

// Operations keep their names, and axes theirs. Nothing where the graph is derived as it is: where
// no operation has vectors along an axis of one step (what is kept of sums along rows, [M, 1], has
// loops of the rows, but where these have few lanes), and no sum goes across memory.
std::optional<Graph> with_normal_axes(const Graph& graph);

// The axes of an operation that it lacks in normal form.
std::set<std::string> axes_gone(const Op& op, const Op& normal);

// What was derived for the normal form, for `graph`, operation by operation.
Schedule schedule_as_written(const Schedule& made, const Graph& graph);

// The loop groups of the normal form, of `graph`.
Graph groups_as_written(const Graph& made, const Graph& graph);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_NORMAL_AXES_H_
