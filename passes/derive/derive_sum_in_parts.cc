#include "passes/derive/derive_sum_in_parts.h"

#include <cstdint>
#include <optional>
#include <string>

#include "passes/derive/derive_stage.h"
#include "passes/derive/merge_axes.h"

namespace emulsion {
namespace {

// Into how many equal parts an axis is cut: some for each core, where that leaves whole steps of
// lanes, if it can. 1 where nothing divides it.
int64_t parts_for_threads(int64_t extent, int64_t step, const Target& target) {
  constexpr int64_t kPartsOfCore = 4;
  for (const int64_t multiple : {step, int64_t{1}}) {
    for (int64_t parts = kPartsOfCore * target.cores; parts >= target.cores; --parts) {
      if (extent % (parts * multiple) == 0) return parts;
    }
  }
  return 1;
}

}  // namespace

bool derive_sum_in_parts(const Op& op, const Target& target, Schedule* schedule) {
  if (element_count(op.shape) != 1 || !wakes_threads_to_sum(op, target)) return false;
  const std::optional<MergedAxes> merged = merge_reduction_axes(op, target);
  Op part = merged ? merged->view : op;
  for (const Axis& axis : part.reduction_axes) {
    if (!axis.extent().is_constant()) return false;
  }
  Axis& outer = part.reduction_axes.front();
  const int64_t extent = outer.extent().constant_term();
  const bool is_row = part.reduction_axes.size() == 1;
  const int64_t parts =
      parts_for_threads(extent, is_row ? kMostVectors * value_lanes(part, target) : 1, target);
  if (parts < 2) return false;
  const int64_t steps = extent / parts;
  const Axis block(fresh_axis(part, "block"), parts);
  StageSchedule& stage = (*schedule)[op.name];
  if (merged) merged->fuse(&stage);
  part.name = fresh_stage(*schedule, op.name + "_parts");
  stage.split(outer, block, outer, steps).rfactor(block, part.name);
  part.axes.push_back(block);
  part.shape.push_back(block.extent());
  outer = Axis(outer.name(), Extent(steps));
  const SumsInLanes lanes = derive_sums_in_lanes(part, target, schedule);
  (*schedule)[part.name].parallel(block);
  lanes.compute_at(part.name, block, schedule);
  return true;
}

}  // namespace emulsion
