#ifndef EMULSION_PASSES_NEST_VERIFY_NEST_STORAGE_H_
#define EMULSION_PASSES_NEST_VERIFY_NEST_STORAGE_H_

// Whether storage that is kept over loops (a window that slides) always holds what is read of it:
// every element read was computed before, and no other one has since taken its place along a folded
// axis. The first iterations of the loops between storage and computation are walked in order, at
// several values of each run-time size, over boxes of indices: what a window computes, and what
// readers read at the first and the last of their own iterations. Part of verify_nest.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "passes/nest/loop_nest.h"

namespace emulsion {

// InternalError, as all here, where the layout of an alloc or a hoisted alloc is not one of the
// stage's axes, or a fold is not as long as what it folds.
void verify_layout(const LoopNest& nest, const Storage& storage);
// Where an alloc is not of the memory and the extents that its hoisted alloc has.
void verify_fits(const LoopNest& nest, const Alloc& alloc, const HoistedAlloc& hoisted);

// The reads that happen at a point, as far as the axes decide it: of a select, those of its
// condition and of the branch that is taken; those whose index is data are left out.
void visit_reads(
    const Expr& body, const std::map<std::string, int64_t>& axes,
    const std::function<void(const Expr& read, const std::vector<int64_t>& index)>& visit);

// InternalError naming the reader, the element and what was found there.
void verify_nest_storage(const LoopNest& nest);

}  // namespace emulsion

#endif  // EMULSION_PASSES_NEST_VERIFY_NEST_STORAGE_H_
