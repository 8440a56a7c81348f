#include <algorithm>
#include <optional>

#include "dsl/affine.h"
#include "passes/derive/derive_stage.h"

namespace emulsion {
namespace {

// Whether some read walks memory with this axis: its last index moves by one element a step.
bool is_contiguous_in_a_read(const Op& op, const std::string& axis) {
  bool found = false;
  visit(op.body, [&](const Expr& e) {
    if (e->op != ExprOp::read || e->args.empty()) return;
    auto last = affine_of(e->args.back());
    if (!last) return;
    auto coefficient = last->coefficients.find(axis);
    found = found || (coefficient != last->coefficients.end() && coefficient->second == 1);
  });
  return found;
}

// Whether some read walks memory from pixel to pixel and within each from colour to colour.
bool walks_pixels(const Op& op, const Pixels& pixels) {
  const size_t behind = op.axes.size() - pixels.rows - 1;
  bool found = false;
  visit(op.body, [&](const Expr& e) {
    if (e->op != ExprOp::read || e->args.size() <= behind) return;
    auto moves_with = [&](const Expr& index, const Axis& axis) {
      const auto affine = affine_of(index);
      return affine && affine->coefficients.count(axis.name()) > 0;
    };
    bool walks = moves_with(e->args[e->args.size() - 1 - behind], pixels.x);
    for (size_t i = 0; i < behind; ++i) {
      const Axis& axis = op.axes[pixels.rows + 1 + i];
      walks = walks && moves_with(e->args[e->args.size() - behind + i], axis);
    }
    found = found || walks;
  });
  return found;
}

// `rows`: how many of the first axes may be shared out; `last`: the loop that stands for the one
// behind them, if that may be too.
void share_rows(const Op& op, size_t rows, const Target& target, const std::optional<Axis>& last,
                StageSchedule* stage) {
  if (target.cores < 2) return;
  std::vector<Extent> work = op.shape;
  for (const Axis& axis : op.reduction_axes) {
    if (axis.extent() != Extent(0)) work.push_back(axis.extent());  // the start value is left
  }
  for (size_t i = 0; i < rows; ++i) {
    const Extent& extent = op.axes[i].extent();
    if (extent.is_constant() && extent.constant_term() < 2) continue;
    parallel_from(*stage, op.axes[i], work, kWorkForThreads);
    return;
  }
  if (last && op.axes[rows].extent() != Extent(1)) {
    parallel_from(*stage, *last, work, kWorkForThreads);
  }
}

// The stage that sums: where nothing is fused onto the sums, the result is a copy of it.
std::string accumulator_of(const Op& sums, const Op& result, Schedule* schedule) {
  if (&sums != &result) return sums.name;
  std::string acc = fresh_stage(*schedule, sums.name + "_acc");
  (*schedule)[result.name].cache_write(acc);
  return acc;
}

// acc of a vector of pixels, a colour in each register, and then the pixels put together:
//   for rows: for x: alloc acc: [start value]; for k: unrolled c: acc += ...; unrolled c: y = acc
Axis sum_pixels(const Op& sums, const Op& result, const Pixels& pixels, int64_t lanes,
                bool whole_rows, Schedule* schedule) {
  const std::string acc = accumulator_of(sums, result, schedule);
  const size_t colour_at = static_cast<size_t>(
      std::find_if(sums.axes.begin(), sums.axes.end(),
                   [&](const Axis& axis) { return axis.name() == pixels.colour.name(); }) -
      sums.axes.begin());
  const Axis& x = result.axes[pixels.rows];
  vectorize_pixels((*schedule)[result.name], x, result.axes[colour_at],
                   Axis(fresh_axis(result, "lane")), lanes, whole_rows);
  const int64_t colours = pixels.colour.extent().constant_term();
  std::vector<Axis> storage = {pixels.x};  // innermost first
  for (size_t i = sums.axes.size(); i-- > 0;) {
    if (i != pixels.rows) storage.push_back(sums.axes[i]);
  }
  accumulate_in_registers((*schedule)[acc], result.name, x, pixels.colour, pixels.x,
                          sums.reduction_axes, {colours, lanes, lanes})
      .reorder_storage(storage);
  return x;
}

// Along the last axis, acc in one or more vectors, the reduction loops around nothing else:
//   for rows: for tile: alloc acc: [start value]; for k: acc += ...; y = acc
Axis sum_columns(const Op& sums, const Op& result, int64_t lanes, bool whole_rows,
                 Schedule* schedule) {
  const Axis& last = sums.axes.back();
  const int64_t extent = last.extent().constant_term();
  int64_t width = std::min(lanes, extent);
  for (int64_t more = 4; more >= 2 && width == lanes; more /= 2) {
    if (extent % (lanes * more) == 0) width = lanes * more;
  }
  const std::string acc = accumulator_of(sums, result, schedule);
  Axis outer(fresh_axis(result, "tile"));
  const Axis inner(fresh_axis(result, "lane"));
  StageSchedule& stage = (*schedule)[result.name];
  // The result is pure, so the last tile may start earlier, where all of the axis is computed: the
  // tile is never longer than that.
  const Tail tail = whole_rows ? Tail::shift_inwards : Tail::predicate;
  stage.split(result.axes.back(), outer, inner, width,
              extent % width == 0 ? Tail::automatic : tail);
  if (width <= lanes) {
    stage.vectorize(inner);
  } else {
    stage.vectorize(inner, lanes);
  }
  std::vector<Axis> order = {last};
  order.insert(order.end(), sums.reduction_axes.rbegin(), sums.reduction_axes.rend());
  StageSchedule& accumulate = (*schedule)[acc];
  accumulate.compute_at(result.name, outer).reorder(order);
  if (width <= lanes) {
    accumulate.vectorize(last);
  } else {
    accumulate.vectorize(last, lanes);
    accumulate.unroll(last);
  }
  return outer;
}

std::optional<Pixels> pixels_to_sum(const Op& op, int64_t lanes) {
  std::optional<Pixels> pixels = match_pixels(op, lanes);
  return pixels && walks_pixels(op, *pixels) ? pixels : std::nullopt;
}

}  // namespace

bool keeps_sums_in_registers(const Op& op, const Target& target) {
  if (op.axes.empty()) return false;
  if (pixels_to_sum(op, value_lanes(op, target))) return true;
  const Axis& last = op.axes.back();
  return is_contiguous_in_a_read(op, last.name()) && last.extent().is_constant() &&
         last.extent().constant_term() >= 2;
}

Axis derive_sums(const Op& sums, const Op& result, const Target& target, bool whole_rows,
                 Schedule* schedule) {
  const int64_t lanes = std::min(value_lanes(sums, target), value_lanes(result, target));
  if (const std::optional<Pixels> pixels = pixels_to_sum(sums, value_lanes(sums, target))) {
    return sum_pixels(sums, result, *pixels, lanes, whole_rows, schedule);
  }
  return sum_columns(sums, result, lanes, whole_rows, schedule);
}

void derive_reduction(const Op& op, const Target& target, Schedule* schedule) {
  StageSchedule& stage = (*schedule)[op.name];
  const int64_t lanes = value_lanes(op, target);
  const Axis* last = op.axes.empty() ? nullptr : &op.axes.back();
  const Axis& last_reduction = op.reduction_axes.back();

  std::optional<Axis> whole_last;
  if (last) whole_last = *last;
  if (keeps_sums_in_registers(op, target)) {
    const std::optional<Pixels> pixels = pixels_to_sum(op, lanes);
    const Axis around = derive_sums(op, op, target, true, schedule);
    return share_rows(op, pixels ? pixels->rows : op.axes.size() - 1, target, around, &stage);
  }
  const size_t rows = op.axes.empty() ? 0 : op.axes.size() - 1;
  const bool tileable = last && last->extent().is_constant() && last->extent().constant_term() >= 2;
  bool lanes_of_k = last_reduction.extent().is_constant() &&
                    last_reduction.extent().constant_term() >= 2 * lanes &&
                    is_contiguous_in_a_read(op, last_reduction.name());
  if (lanes_of_k) {
    std::string partial = fresh_stage(*schedule, op.name + "_lanes");
    Axis lane(fresh_axis(op, "lane"));
    StageSchedule& part =
        reduce_in_lanes(*schedule, op.name, op.reduction_axes, lane, lanes, partial);
    if (last) part.compute_at(op.name, *last);
    share_rows(op, rows, target, whole_last, &stage);
    return;
  }
  // Neither way is open (short or run-time extents): vectors along the last axis, results in
  // memory.
  if (last && tileable) {
    std::vector<Axis> order = {*last};
    for (size_t i = op.reduction_axes.size(); i-- > 0;) order.push_back(op.reduction_axes[i]);
    stage.reorder(order);
    vectorize_last(stage, *last, lanes, false);
    share_rows(op, rows, target, std::nullopt, &stage);
  } else {
    share_rows(op, rows, target, whole_last, &stage);
  }
}

}  // namespace emulsion
