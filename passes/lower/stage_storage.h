#ifndef EMULSION_PASSES_LOWER_STAGE_STORAGE_H_
#define EMULSION_PASSES_LOWER_STAGE_STORAGE_H_

// Where the values of each stage are kept, once all regions are known (stage_region.h), and the
// last steps of lower(), which read both. Private to passes/lower/.

#include <vector>

#include "passes/lower/stage_plan.h"
#include "passes/lower/stage_region.h"
#include "passes/nest/loop_nest.h"

namespace emulsion {

// Of an output, which the caller stores: no axes.
struct StageStorage {
  // The part that is stored, by axis: the region needed; when it is kept over loops between, what
  // is touched while they run.
  std::vector<Expr> mins, extents;
  StorageLayout layout;
  Memory memory = Memory::automatic;
  std::string output;  // not empty: in the memory of that output
};

// The storage of all stages, in the order of nest.stages.
std::vector<StageStorage> infer_storage(const NestPlan& nest,
                                        const std::vector<StageRegion>& regions);

// How much storage the regions come to: no more than an index of 32 bits reaches.
void check_growth(const NestPlan& nest, const std::vector<StageRegion>& regions,
                  const std::vector<StageStorage>& storage);

// What store_in_output asks of a stage, of its output, and of all that read it.
void check_outputs(const NestPlan& nest, const std::vector<StageRegion>& regions,
                   const std::vector<StageStorage>& storage);

NodePtr build_tree(const NestPlan& nest, const std::vector<StageRegion>& regions,
                   const std::vector<StageStorage>& storage);

// What is on the stack of a thread at once has to be little: threads may have 64 KiB. Takes the
// heap for storage of which nobody said where it is to be, the largest first, until the rest of
// what `root` has at once is little enough. Whether it did: then the tree is to be built again.
// Refuses where that which was asked for is too much by itself.
bool fit_stack(const Node& root, const NestPlan& nest, std::vector<StageStorage>* storage);

}  // namespace emulsion

#endif  // EMULSION_PASSES_LOWER_STAGE_STORAGE_H_
