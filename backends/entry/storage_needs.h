#ifndef EMULSION_BACKENDS_ENTRY_STORAGE_NEEDS_H_
#define EMULSION_BACKENDS_ENTRY_STORAGE_NEEDS_H_

// What of a kernel's own storage can be too large: that of stages whose extents depend on run-time
// sizes. (lower() refuses what is too large whatever the sizes are.) It is asked at the entry, when
// the arguments have been checked and the sizes are known, and before anything is computed. A
// kernel in a library asks backends/runtime/check_arguments.h, by code that entry_module writes,
// since the storage is that of the copy for one target; a JitKernel calls check_storage() below.

#include <string>
#include <vector>

#include "dsl/expr.h"
#include "dsl/extent.h"
#include "dsl/types.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

struct StorageNeed {
  std::string stage;
  DType dtype = DType::f32;
  std::vector<Expr> extents;  // in memory, of each axis, over run-time sizes; below 1 counts as 1
  Expr when;  // a condition over run-time sizes: else it is not needed. Undefined: always
};

// Each once, in the order in which the kernel comes to them.
std::vector<StorageNeed> storage_needs(const LoopNest& nest);

// Error: storage of more than 2^31 - 1 bytes for these sizes, with its stage, the need and the
// limit.
void check_storage(const std::string& kernel, const std::vector<StorageNeed>& needs,
                   const SizeValues& sizes);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_ENTRY_STORAGE_NEEDS_H_
