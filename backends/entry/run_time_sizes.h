#ifndef EMULSION_BACKENDS_ENTRY_RUN_TIME_SIZES_H_
#define EMULSION_BACKENDS_ENTRY_RUN_TIME_SIZES_H_

// Where a kernel learns its run-time sizes from: the extents of its arguments, solved in the order
// that backends/runtime/descriptor.h prescribes, so that the check of the arguments and the kernel
// agree.

#include <map>
#include <string>

#include "passes/nest/loop_nest.h"

namespace emulsion {

// size = (extent of axis `axis` of the argument - rest) / coefficient.
struct SizeSource {
  std::string size;
  size_t argument = 0;  // its position
  size_t axis = 0;
  int64_t coefficient = 1;
  Extent rest;  // over sizes that come earlier
};

// One for each size of the nest, in an order in which they can be evaluated. Error: a size that no
// argument's shape gives.
std::vector<SizeSource> size_sources(const LoopNest& nest);

}  // namespace emulsion

#endif  // EMULSION_BACKENDS_ENTRY_RUN_TIME_SIZES_H_
