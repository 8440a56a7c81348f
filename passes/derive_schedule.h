#ifndef EMULSION_PASSES_DERIVE_SCHEDULE_H_
#define EMULSION_PASSES_DERIVE_SCHEDULE_H_

// A schedule for any graph on a target, from what its comprehensions are and what the machine has: registers,
// vector lanes, cores. No search and no measurement, so the same graph and target give the same schedule.
//
//   contraction + elementwise epilogue   a tile of accumulators in registers, computed at the tile of the
//                                        epilogue; weights packed in panels; threads over panels or rows
//   elementwise, data movement           vectors along the last axis, threads along the first
//   reduction along the last axis        partial results in lanes (split_reduction), threads over rows
//   any other reduction                  accumulators in vectors along the last axis
//
// Legal at every value of the run-time sizes from 0 up.

#include "dsl/graph.h"
#include "dsl/schedule.h"
#include "dsl/target.h"

namespace emulsion {

struct DeriveOptions {
  bool fuse = true;  // false: every operation in a nest of its own, through memory ("operator by operator")
};

Schedule derive_schedule(const Graph& graph, const Target& target, const DeriveOptions& options = {});
// The same for groups that are decided already: `grouped` is `graph` after fuse_epilogues().
Schedule derive_schedule(const Graph& graph, const Graph& grouped, const Target& target);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_SCHEDULE_H_
