#ifndef EMULSION_PASSES_NEST_END_AT_DOMAINS_H_
#define EMULSION_PASSES_NEST_END_AT_DOMAINS_H_

// Loops of producers that end where the domain ends, in the last edge of a partitioned loop. A
// producer has a region of constant size; in the last step of the loop around it, a part of that
// may be beyond its domain. Nobody reads that part, and here it is not computed.
//
//   for y.i0 in B / 4 .. +1                      for y.i0 in B / 4 .. +1
//     alloc s[y.i0 * 4 .. +4]                      alloc s[y.i0 * 4 .. +4]
//       for s.i0 in 4                                for s.i0 in B % 4
//         execute s[i0] = ...                          execute s[i0] = ...
//       for y.row in 4                               for y.row in 4
//         store y[i0] = s[i0]  if i0 < B               store y[i0] = s[i0]  if i0 < B

#include <optional>
#include <string>
#include <vector>

#include "passes/nest/loop_nest.h"

namespace emulsion {

// The body of a loop that takes at most one step, at which `variable` is `step` (over run-time
// sizes). The same node where no loop can end earlier: serial ones over an axis of an internal
// stage that is allocated in the body, as the axis is (neither split nor shared), where every
// reader is known to stay in the domain, too: by guards of its own, or of the loops around it,
// which then end as well (end_guarded_loops.h).
NodePtr end_at_domains(const LoopNest& nest, const NodePtr& body, const std::string& variable,
                       const Expr& step);

// The body for the steps from `from` on, where less of what the last step computes is in a domain.
struct ShorterLoops {
  Expr from;  // over run-time sizes
  NodePtr body;
};

// The same of vectors, which have numbers of lanes: half as many, where that leaves whole vectors
// of the shortest that are there.
//
//   for y.panel in B / 32 .. +1                  for y.panel in (B + 15) / 32 .. +1
//     alloc s[y.panel * 32 .. +32]                 alloc s[y.panel * 32 .. +32]
//       vectorized for s.i in 32                     vectorized for s.i in 16
std::optional<ShorterLoops> shorten_vectors(const LoopNest& nest, const NodePtr& body,
                                            const std::string& variable, const Expr& step);

// The same of the unrolled rows of sums in registers, and of what reads these. The last step of a
// tile of 8 rows has 7 rows or fewer. There are bodies for all but one of a tile's rows, for half
// of them, and for one row (a batch of one), in this order; what cannot be made shorter so is left
// out.
//
//   for y.tile in B / 8 .. +1                    for y.tile in (B + 6) / 8 .. +1
//     alloc s[y.tile * 8 .. +8] in registers       alloc s[y.tile * 8 .. +8] in registers
//       unrolled s.m in 8                            unrolled s.m in 1
std::vector<ShorterLoops> shorten_rows(const LoopNest& nest, const NodePtr& body,
                                       const std::string& variable, const Expr& step);

}  // namespace emulsion

#endif  // EMULSION_PASSES_NEST_END_AT_DOMAINS_H_
