#include "passes/derive/sums_across.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "dsl/index_arithmetic.h"
#include "passes/derive/contraction_operands.h"
#include "passes/derive/derive_stage.h"
#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

constexpr int64_t kNear = 8;  // elements
constexpr int64_t kMostLoads = 64;

// How far apart neighbours along an axis are in what is read, at most; nothing where that is far in
// some operand, or not known.
std::optional<int64_t> widest_step(const Op& op, const Axis& axis) {
  int64_t widest = 0;
  bool is_near = true;
  visit(op.body, [&](const Expr& e) {
    if (e->op != ExprOp::read || !mentions(e, axis.name())) return;
    const std::optional<int64_t> step = elements_of_step(e, axis);
    is_near = is_near && step && std::abs(*step) <= kNear;
    if (step) widest = std::max(widest, std::abs(*step));
  });
  return is_near ? std::optional(widest) : std::nullopt;
}

// How many of the last axes, all behind `across`, have a sum in registers for each of their steps.
size_t axes_in_registers(const Op& op, size_t across) {
  constexpr int64_t kMost = 16;
  int64_t sums = 1;
  size_t count = 0;
  while (across + count + 1 < op.axes.size()) {
    const Extent& extent = op.axes[op.axes.size() - count - 1].extent();
    sums = saturated_product(sums, extent.as_constant().value_or(kMost + 1));
    if (sums > kMost) break;
    ++count;
  }
  return count;
}

}  // namespace

std::optional<size_t> lies_across(const Op& sums, const Target& target) {
  if (sums.axes.size() < 2 || widest_step(sums, sums.axes.back())) return std::nullopt;
  std::optional<size_t> best;
  int64_t least = kNear + 1;
  for (size_t i = sums.axes.size() - 1; i-- > 0;) {
    const int64_t extent = sums.axes[i].extent().as_constant().value_or(0);
    if (extent < value_lanes(sums, target)) continue;
    const int64_t widest = widest_step(sums, sums.axes[i]).value_or(0);
    if (widest == 0 || widest >= least) continue;
    best = i;
    least = widest;
  }
  return best;
}

void derive_sums_across(const Op& sums, size_t across, const Target& target, Schedule* schedule) {
  const std::string name = accumulator_of(sums, sums, schedule);
  StageSchedule &stage = (*schedule)[sums.name], &acc = (*schedule)[name];
  const Axis &axis = sums.axes[across], lane(fresh_axis(sums, "lane"));
  const int64_t lanes = value_lanes(sums, target);
  const bool is_exact = axis.extent().exact_quotient(lanes).has_value();
  stage.split(axis, axis, lane, lanes, is_exact ? Tail::automatic : Tail::shift_inwards);
  const size_t count = axes_in_registers(sums, across);
  const std::vector<Axis> kept(sums.axes.rbegin(),
                               sums.axes.rbegin() + static_cast<std::ptrdiff_t>(count));
  std::vector<Axis> order = {lane}, inside = {axis}, storage = {axis};  // innermost first
  order.insert(order.end(), sums.axes.rbegin(),
               sums.axes.rend() - static_cast<std::ptrdiff_t>(across) - 1);
  order.push_back(axis);
  inside.insert(inside.end(), kept.begin(), kept.end());
  inside.insert(inside.end(), sums.reduction_axes.rbegin(), sums.reduction_axes.rend());
  for (size_t i = sums.axes.size(); i-- > 0;) {
    if (i != across) storage.push_back(sums.axes[i]);
  }
  stage.reorder(order).vectorize(lane);
  acc.compute_at(sums.name, order[count + 1]).store_in(Memory::registers).reorder(inside);
  acc.vectorize(axis);
  int64_t vectors = 1;
  for (const Axis& one : kept) {
    vectors *= one.extent().constant_term();
    if (one.extent() == Extent(1)) continue;
    stage.unroll(one);
    acc.unroll(one);
  }
  // What lies apart is transposed where all of it is loaded together.
  if (has_few_steps(sums, kMostLoads / vectors)) {
    for (const Axis& summed : sums.reduction_axes) acc.unroll(summed);
  }
  acc.reorder_storage(storage);
  share_sums(sums, sums, across, target, axis, &stage);
}

}  // namespace emulsion
