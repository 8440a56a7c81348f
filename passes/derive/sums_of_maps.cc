#include "passes/derive/sums_of_maps.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "dsl/index_arithmetic.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/merge_axes.h"
#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

// With the pixels of a map as one axis, and without axes of one step, as of kept dimensions.
Op as_maps(const Op& op, const std::optional<MergedAxes>& merged) {
  Op view = merged ? merged->view : op;
  view.axes.clear();
  view.shape.clear();
  for (const Axis& axis : op.axes) {
    if (axis.extent() == Extent(1)) continue;
    view.axes.push_back(axis);
    view.shape.push_back(axis.extent());
  }
  return view;
}

// Whether each read of several pixels is x[pictures .., channel, pixel].
bool reads_maps(const Op& op) {
  const Axis &channel = op.axes.back(), &pixel = op.reduction_axes.back();
  bool any = false, all = true;
  visit(op.body, [&](const Expr& e) {
    if (e->op != ExprOp::read || !mentions(e, pixel.name())) return;
    const size_t rank = e->args.size();
    const auto is = [&](size_t from_last, const Axis& axis) {
      const Expr& index = e->args[rank - from_last];
      return index->op == ExprOp::axis && index->name == axis.name();
    };
    any = true;
    all = all && rank >= 3 && is(1, pixel) && is(2, channel);
    for (size_t at = 0; all && at + 2 < rank; ++at) {
      all = !mentions(e->args[at], pixel.name()) && !mentions(e->args[at], channel.name());
    }
  });
  return any && all;
}

// Whether something that is no map is loaded again at each step of the sums.
bool reads_others_at_each_step(const Op& op) {
  const auto moves = [](const Expr& read) {
    return [&read](const Axis& axis) { return mentions(read, axis.name()); };
  };
  return any_part(op.body, [&](const Expr& e) {
    return e->op == ExprOp::read && !mentions(e, op.reduction_axes.back().name()) &&
           std::any_of(op.reduction_axes.begin(), op.reduction_axes.end(), moves(e));
  });
}

// The sums of all pictures, and the axis of their pixels.
Op sums_of_pictures(const Op& op, const std::string& name) {
  Op sums = op;
  sums.name = name;
  sums.axes.push_back(op.reduction_axes.back());
  sums.shape.push_back(op.reduction_axes.back().extent());
  sums.reduction_axes.pop_back();
  return sums;
}

}  // namespace

bool sums_of_maps(const Op& op, const Target& target) {
  constexpr int64_t kMostPixels = 64, kFewPixels = 16, kManyPictures = 64;
  if (op.combiner == Combiner::none) return false;
  const Op view = as_maps(op, merge_reduction_axes(op, target));
  if (view.axes.size() != 1 || view.reduction_axes.size() < 2 || !reads_maps(view)) return false;
  const std::optional<int64_t> channels = view.shape[0].as_constant();
  const int64_t pixels = view.reduction_axes.back().extent().as_constant().value_or(0);
  if (!channels || *channels < 2 || pixels < 2 || pixels > kMostPixels) return false;
  const int64_t bytes = saturated_product(*channels * pixels, size_in_bytes(op.dtype));
  if (bytes > target.l2_bytes / 2) return false;
  if (!combines_many_rows(sums_of_pictures(view, op.name), target)) return false;
  int64_t pictures = 1;
  for (size_t i = 0; i + 1 < view.reduction_axes.size(); ++i) {
    const Extent& extent = view.reduction_axes[i].extent();
    pictures = saturated_product(pictures, extent.as_constant().value_or(kManyPictures + 1));
  }
  constexpr int64_t kLine = 64, kWay = 4096;
  const int64_t lines =
      bytes % kLine == 0 ? target.l1_bytes / std::gcd(bytes, kWay) : kManyPictures;
  return pixels < kFewPixels || pictures > std::min(kManyPictures, lines);
}

namespace {

// How many lanes the vectors of a row have, in which the few of all columns lie side by side; 0
// where it is no few whole vectors.
int64_t lanes_of_row(const Op& op, const Target& target) {
  constexpr int64_t kMostVectors = 8, kFewestLanes = 4;
  const int64_t few = op.reduction_axes.back().extent().as_constant().value_or(0);
  const int64_t all = saturated_product(op.shape.back().as_constant().value_or(0), few);
  int64_t lanes = value_lanes(op, target);
  while (lanes > kFewestLanes && all % lanes != 0) lanes /= 2;
  return all >= lanes && all % lanes == 0 && all <= kMostVectors * lanes ? lanes : 0;
}

}  // namespace

bool sums_of_few_side_by_side(const Op& op, const Target& target) {
  constexpr int64_t kFewestSteps = 8;
  const bool sums_few_of_rows = op.combiner != Combiner::none && op.axes.size() > 1 &&
                                op.reduction_axes.size() > 1 && reads_maps(op) &&
                                !reads_others_at_each_step(op) && !has_sums_in_lanes(op, target);
  if (!sums_few_of_rows || lanes_of_row(op, target) == 0) return false;
  int64_t steps = 1;
  for (size_t i = 0; i + 1 < op.reduction_axes.size(); ++i) {
    const Extent& extent = op.reduction_axes[i].extent();
    steps = saturated_product(steps, extent.as_constant().value_or(kFewestSteps));
  }
  return steps >= kFewestSteps;
}

void derive_sums_of_few_side_by_side(const Op& op, const Target& target, Schedule* schedule) {
  const Axis &column = op.axes.back(), &few = op.reduction_axes.back();
  StageSchedule& stage = (*schedule)[op.name];
  const Op rows = sums_of_pictures(op, fresh_stage(*schedule, op.name + "_rows"));
  stage.rfactor(few, rows.name);
  StageSchedule& added = (*schedule)[rows.name];
  const Axis flat(fresh_axis(op, "flat")), lane(fresh_axis(op, "lane"));
  std::vector<Axis> order = {lane, flat};
  order.insert(order.end(), rows.reduction_axes.rbegin(), rows.reduction_axes.rend());
  added.fuse(column, few, flat)
      .split(flat, flat, lane, lanes_of_row(op, target))
      .reorder(order)
      .vectorize(lane)
      .unroll(flat)
      .compute_at(op.name, op.axes[op.axes.size() - 2]);
  stage.reorder({column, few});
  vectorize_last(stage, column, value_lanes(op, target), false).unroll(few);
  share_sums(op, op, op.axes.size() - 1, target, std::nullopt, &stage);
}

void derive_sums_of_maps(const Op& op, const Target& target, Schedule* schedule) {
  const std::optional<MergedAxes> merged = merge_reduction_axes(op, target);
  StageSchedule& stage = (*schedule)[op.name];
  if (merged) merged->fuse(&stage);
  const Op view = as_maps(op, merged);
  const Axis &channel = view.axes[0], &pixel = view.reduction_axes.back();
  const Op pictures = sums_of_pictures(view, fresh_stage(*schedule, op.name + "_pixels"));
  stage.rfactor(pixel, pictures.name);
  if (op.axes.size() > 1) {  // next to one another
    std::vector<Axis> order = {pixel, channel};
    for (size_t i = op.axes.size(); i-- > 0;) {
      if (op.axes[i].name() != channel.name()) order.push_back(op.axes[i]);
    }
    (*schedule)[pictures.name].reorder(order);
  }
  derive_reduction(pictures, target, schedule);
  Op pixels = view;
  pixels.reduction_axes = {pixel};
  pixels.body = read_op(std::make_shared<Op>(pictures),
                        {axis_value(channel.name()), axis_value(pixel.name())});
  if (has_sums_in_lanes(pixels, target)) {
    return derive_rows_in_lanes(pixels, target, schedule, false);
  }
  const int64_t lanes = value_lanes(op, target);
  const Axis lane(fresh_axis(op, "lane"));
  const bool exact = channel.extent().exact_quotient(lanes).has_value();
  stage.split(channel, channel, lane, lanes, exact ? Tail::automatic : Tail::guard)
      .reorder({lane, pixel, channel})
      .vectorize(lane)
      .unroll(pixel);
}

}  // namespace emulsion
