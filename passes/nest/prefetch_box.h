#ifndef EMULSION_PASSES_NEST_PREFETCH_BOX_H_
#define EMULSION_PASSES_NEST_PREFETCH_BOX_H_

// What one step of a loop reads of a buffer, for a prefetch of it: the smallest box around the
// indices of all reads inside the loop, by whatever stage, over all steps of the loops inside.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "passes/nest/loop_nest.h"

namespace emulsion {

// From `first` to `last`, both included.
struct IndexRange {
  Expr first, last;
};

// The range of each axis of the buffer, row-major, over run-time sizes, the loops around `loop` and
// its own variable. No range: the index is not known, for it is itself read or no bound of it is.
// Empty: nothing inside reads it, or it is a single value. Guards are not looked at: the box of a
// tile that goes past an end goes past it too. Nor is whether a loop inside has a step: of two
// pieces of a loop, one of which has none at the sizes of a call, the box reaches to both.
std::vector<std::optional<IndexRange>> prefetch_box(const LoopNest& nest, const Loop& loop,
                                                    const std::string& buffer);
// The same of the reads of one stage.
std::vector<std::optional<IndexRange>> prefetch_box(const LoopNest& nest, const Loop& loop,
                                                    const std::string& buffer,
                                                    const std::string& stage);

// Whether anything that is computed in the tree reads it. (The start value of a reduction reads
// nothing.)
bool reads_inside(const LoopNest& nest, const Node& tree, const std::string& buffer);
// The same where there is no nest yet; `stage_of` finds stages by their names.
bool reads_inside(const Node& tree, const std::string& buffer,
                  const std::function<const Stage&(const std::string&)>& stage_of);

}  // namespace emulsion

#endif  // EMULSION_PASSES_NEST_PREFETCH_BOX_H_
