#ifndef EMULSION_BACKENDS_ENTRY_INDEX_NEEDS_H_
#define EMULSION_BACKENDS_ENTRY_INDEX_NEEDS_H_

// What i32, in which kernels compute indices, has to hold for the run-time sizes of a call: parts
// of an index that are divided, compared, clamped or chosen (dsl/index_parts.h). x(i * 1000000 /
// 7) for i below N reads another element, or outside x, where N is above 2147. (Where axes have
// constant extents, the graph refuses it.) And how many steps loops have, rounded up to whole
// vectors and tiles: the last byte of 2 GiB may be in a step beyond i32. It is asked at the entry,
// beside storage_needs.h.

#include <string>
#include <vector>

#include "dsl/expr.h"
#include "dsl/extent.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

struct IndexNeed {
  // "read of x, axis 0: i * 1000000" or "loop y.i: N + 63": where it stands, and what it is.
  std::string part;
  Expr low, high;  // over run-time sizes: all its values are between, both included
  Expr when;       // a condition over run-time sizes: else it is not computed. Undefined: always
};

// Each once. None of a part that is made of data, which may wrap around (dsl/README.md), or whose
// values are the same for all sizes; of loops none that arguments of less than 2 GiB rule out.
std::vector<IndexNeed> index_needs(const LoopNest& nest);

// Error: a part that i32 does not hold for these sizes, and what it goes up or down to.
void check_indices(const std::string& kernel, const std::vector<IndexNeed>& needs,
                   const SizeValues& sizes);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_ENTRY_INDEX_NEEDS_H_
