#ifndef EMULSION_PASSES_NEST_END_GUARDED_LOOPS_H_
#define EMULSION_PASSES_NEST_END_GUARDED_LOOPS_H_

// Loops of which guards leave out all steps from one on: the rows of the last tile of what is
// stored outside of the loop around it. They may as well end there, and then what is computed in
// them for that alone is not computed beyond the domain, nor does it read anything beyond it.
//
//   for y.row in 4                               for y.row in B % 4
//     alloc s: s = sum of e[i0]                    alloc s: s = sum of e[i0]
//     store y[i0] = s  if i0 < B                   store y[i0] = s  if i0 < B

#include <map>
#include <string>

#include "dsl/expr.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

struct GuardedEnd {
  Expr index;   // what the guards compare, in loop variables
  Expr extent;  // with what
  Expr steps;   // how many of the loop's are left, over run-time sizes
};

// Those in the body of a loop that takes at most one step, at which `variable` is `step`; by the
// variables of the loops. Serial ones, in which all that is stored for what is outside of them has
// such a guard, the same everywhere; also what is kept whole, of which no other step computes any.
std::map<std::string, GuardedEnd> guarded_ends(const NodePtr& body, const std::string& variable,
                                               const Expr& step);

}  // namespace emulsion

#endif  // EMULSION_PASSES_NEST_END_GUARDED_LOOPS_H_
