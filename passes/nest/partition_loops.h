#ifndef EMULSION_PASSES_NEST_PARTITION_LOOPS_H_
#define EMULSION_PASSES_NEST_PARTITION_LOOPS_H_

// Loops without the guards and clamps that matter at their ends only: a loop becomes an interior,
// whose uOps need neither, and edges that keep them.
//
//   for y.mo in 17, partition                    for y.mo in 16
//     for y.mi in 8                                for y.mi in 8
//       store y[m] = x[min(m, 129)]                  store y[m] = x[m]  where m = ...
//         where m = y.mo * 8 + y.mi  if m < 130  for y.mo in 16 .. +1
//                                                  for y.mi in 8
//                                                    store y[m] = x[min(m, 129)] ... if m < 130
//
// A loop with selects that its steps decide, as of what is concatenated, is cut into pieces before
// (split_choices.h).

#include <string>
#include <vector>

#include "passes/nest/loop_nest.h"

namespace emulsion {

// Every serial and parallel loop that is marked. The parts are one right after another, in order,
// and no longer marked; what is inside an edge is left as it is, but that in a last edge of one
// step producers end with their domain (end_at_domains.h), and the innermost loops of sums, which
// may be over vectors, are partitioned, too. Where the bounds of the interior depend on
// run-time sizes it may be empty, and so may the edges. A loop in which no guard and no clamp can
// be spared, and no select decided, comes back unchanged, as the same node.
LoopNest partition_loops(const LoopNest& nest);
// Those of these variables ("y.mo"), marked or not. Error: no such loop.
LoopNest partition_loops(const LoopNest& nest, const std::vector<std::string>& variables);

}  // namespace emulsion

#endif  // EMULSION_PASSES_NEST_PARTITION_LOOPS_H_
