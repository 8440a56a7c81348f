#include "passes/derive/derive_sum_in_parts.h"

#include <cstdint>
#include <optional>
#include <string>

#include "passes/derive/derive_stage.h"
#include "passes/derive/merge_axes.h"

namespace emulsion {
namespace {

// How long the parts are into which an axis is cut: equal ones, some for each core, of whole steps
// of lanes, if they can be. Where nothing divides it, the last part is shorter.
int64_t steps_of_part(int64_t extent, int64_t step, const Target& target) {
  constexpr int64_t kPartsOfCore = 4;
  const int64_t most = kPartsOfCore * target.cores;
  for (const int64_t multiple : {step, int64_t{1}}) {
    for (int64_t parts = most; parts >= target.cores; --parts) {
      if (extent % (parts * multiple) == 0) return extent / parts;
    }
  }
  return ((extent + most - 1) / most + step - 1) / step * step;
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
  const int64_t steps =
      steps_of_part(extent, is_row ? kMostVectors * value_lanes(part, target) : 1, target);
  const int64_t parts = (extent + steps - 1) / steps;
  if (parts < 2) return false;
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
  if (extent % steps != 0) (*schedule)[part.name].partition(block);
  lanes.compute_at(part.name, block, schedule);
  return true;
}

}  // namespace emulsion
