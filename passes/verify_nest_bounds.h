#ifndef EMULSION_PASSES_VERIFY_NEST_BOUNDS_H_
#define EMULSION_PASSES_VERIFY_NEST_BOUNDS_H_

// The last rule of verify_nest: every element that a uOp reads or writes is inside its buffer, or
// inside the part of it that is stored. A part of verify_nest; expects a nest that keeps all the
// other rules.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "dsl/expr.h"
#include "passes/loop_nest.h"

namespace emulsion {

// The reads that happen at a point, as far as the axes decide it: of a select, those of its
// condition and of the branch that is taken; those whose index is data are left out.
void visit_reads(
    const Expr& body, const std::map<std::string, int64_t>& axes,
    const std::function<void(const Expr& read, const std::vector<int64_t>& index)>& visit);

void verify_nest_bounds(const LoopNest& nest);

}  // namespace emulsion

#endif  // EMULSION_PASSES_VERIFY_NEST_BOUNDS_H_
