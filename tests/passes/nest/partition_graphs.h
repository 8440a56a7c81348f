#ifndef EMULSION_TESTS_PASSES_NEST_PARTITION_GRAPHS_H_
#define EMULSION_TESTS_PASSES_NEST_PARTITION_GRAPHS_H_

// Graphs whose loops have guards or clamps that matter at their ends only, for tests of
// partition_loops and of what runs its nests.

#include "dsl/graph.h"
#include "dsl/schedule.h"

namespace emulsion {

// y[i] = 2 x[i], in tiles of 4: loops y.io and y.ii.
Schedule doubled(const Extent& extent, Tail tail = Tail::guard);
// y[i] = x[i - 1] + x[i + 1], clamped at both ends: loop y.i.
Graph stencil(const Extent& extent);
// The sum of the nine neighbours of each point of a picture, clamped: loops y.i and y.j.
Graph blur(const Extent& rows, const Extent& columns);
// y[i] = x[i - 1] + x[i + 1], reflected or wrapped around at both ends: loop y.i.
Graph turned(const Extent& extent, bool wraps);
// y[i] = x[i - 3] of 6 more places than x has, reflected or wrapped around at both ends; 0 where x
// is empty: loop y.i.
Graph padded_in_turns(const Extent& extent, bool wraps);
// y = max(x * w, 0), the product mm computed in tiles of 6 x 4: loops y.io, y.jo, y.ii and y.ji.
Schedule product(const Extent& rows);

}  // namespace emulsion

#endif  // EMULSION_TESTS_PASSES_NEST_PARTITION_GRAPHS_H_
