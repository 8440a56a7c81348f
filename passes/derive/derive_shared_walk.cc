#include "passes/derive/derive_shared_walk.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dsl/index_arithmetic.h"
#include "passes/derive/choices.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/merge_axes.h"
#include "passes/index/simplify_index.h"
#include "passes/nest/chosen_places.h"

namespace emulsion {
namespace {

// Whether what is read in steps of the walk is the same for all sums.
bool reads_alike(const Op& op) {
  const std::vector<Expr> reads = reads_in(op.body);
  const Axis& walk = op.reduction_axes.back();
  return std::all_of(reads.begin(), reads.end(), [&](const Expr& read) {
    return !mentions(read, walk.name()) ||
           std::none_of(op.axes.begin(), op.axes.end(),
                        [&](const Axis& axis) { return mentions(read, axis.name()); });
  });
}

// Whether threads that share the sums, a walk each, take less time together than one that walks
// once for all of them. Of a run-time length it may be long.
bool is_faster_in_threads(const Op& op, int64_t sums, const Target& target) {
  constexpr int64_t kOfWalk = 2;  // a walk for one sum takes as long as so many do in one of all
  const std::optional<int64_t> steps = op.reduction_axes.back().extent().as_constant();
  const int64_t cycles =
      steps ? saturated_product(*steps, sums) / value_lanes(op, target) : kCyclesForThreads;
  const int64_t walks = (sums + target.cores - 1) / target.cores;
  return target.cores > 1 && cycles >= kCyclesForThreads && kOfWalk * walks < sums;
}

}  // namespace

bool shares_walk(const Op& op, const Target& target) {
  constexpr int64_t kOthers = 8;         // registers of what is read, compared and added
  constexpr int64_t kPlacesForLane = 3;  // comparisons that take as long as changing one place
  if (op.combiner == Combiner::none || op.axes.empty() || op.reduction_axes.size() != 1) {
    return false;
  }
  if (!has_sums_in_lanes(op, target) || merge_reduction_axes(op, target)) return false;
  const int64_t sums = element_count(op.shape).value_or(0);
  int64_t most = target.vector_registers() - kOthers;
  if (!chosen_places(op.body, op.combiner, op.axes).empty()) {
    most = std::min(most, kPlacesForLane * value_lanes(op, target));
  }
  return sums > 1 && sums <= most && reads_alike(op) && !is_faster_in_threads(op, sums, target);
}

void derive_shared_walk(const Op& op, const Target& target, Schedule* schedule) {
  const int64_t sums = element_count(op.shape).value();
  // Of few sums several vectors of each, so that no addition waits for the one before it.
  const int64_t vectors = std::max<int64_t>(kMostVectors / sums, 1);
  const SumsInLanes lanes = derive_sums_in_lanes(op, target, schedule, false, vectors);
  StageSchedule& walk = (*schedule)[lanes.stages.front()];
  std::vector<Axis> order(op.axes.rbegin(), op.axes.rend());
  order.push_back(op.reduction_axes.back());
  walk.reorder(order);
  for (const Axis& axis : op.axes) walk.unroll(axis);
  if (op.reduction_axes.back().extent().is_constant()) walk.store_in(Memory::registers);
  for (size_t i = 1; i < lanes.stages.size(); ++i) {
    (*schedule)[lanes.stages[i]].compute_at(op.name, op.axes.back());
  }
}

}  // namespace emulsion
