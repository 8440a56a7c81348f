#ifndef EMULSION_PASSES_NEST_SPLIT_CHOICES_H_
#define EMULSION_PASSES_NEST_SPLIT_CHOICES_H_

// Loops without the selects that only say which of several things is at which of its steps: pieces,
// in each of which one of them is computed.
//
//   for y.j in 10                                     for y.j in 7
//     store y[j] = select(j < 7, a[min(j, 6)], b[..])   store y[j] = a[min(j, 6)]
//                                                     for y.j in 7 .. +3
//                                                       store y[j] = b[..]

#include <vector>

#include "passes/nest/loop_nest.h"

namespace emulsion {

struct LoopPiece {
  Loop loop;
  Expr past;  // its steps
};

// The pieces of a loop, one right after another, in order: cut where a comparison, of which a
// select depends, changes. A step at which it holds for some of what is inside and not for others
// has the select still. So have the steps of two pieces in a row that run-time sizes leave no more
// than a step each: these are one loop, for a row's end would wait for the branches of both. None
// where nothing can be told. `around`: the loops around it.
std::vector<LoopPiece> split_at_choices(const LoopNest& nest,
                                        const std::vector<const Loop*>& around, const Loop& loop);

}  // namespace emulsion

#endif  // EMULSION_PASSES_NEST_SPLIT_CHOICES_H_
