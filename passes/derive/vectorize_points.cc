// Vectors of what combines nothing, along one loop: whole ones, and what is left of a row.

#include <cstdint>
#include <optional>

#include "passes/derive/derive_stage.h"
#include "passes/derive/planes_of_pixels.h"
#include "passes/derive/vector_lanes.h"

namespace emulsion {
namespace {

// Whether elements that are a little apart are loaded with what is between, under masks.
bool masks_what_is_between(const Op& op, const Target& target) {
  return !lacks_masks(op, target) && steps_a_little(op, op.axes.back());
}

}  // namespace

int64_t steps_of_whole(const Op& op, const Target& target) {
  return lie_side_by_side(op) ? pixels_side_by_side(op, target) : lanes_without_masks(op, target);
}

void vectorize_points(const Op& op, const PointLoop& loop, const Target& target,
                      StageSchedule* stage) {
  const Axis& along = loop.along;
  const std::optional<Pixels> pixels = match_pixels(op, value_lanes(op, target));
  const std::optional<Axis> inside = pixels ? std::optional(pixels->colour) : loop.planes;
  const int64_t whole = steps_of_whole(op, target);
  const Axis lane(fresh_axis(op, "lane"));
  const bool is_exact = along.extent().exact_quotient(whole).has_value();
  const bool may_shift = loop.whole_rows && along.extent().is_constant();
  if (pixels && lie_side_by_side(op) && (loop.fills_vector || is_exact || may_shift)) {
    const Axis pixel(fresh_axis(op, "pixel"));
    stage->split(along, along, pixel, whole, is_exact ? Tail::automatic : Tail::shift_inwards);
    stage->fuse(pixel, pixels->colour, lane).vectorize(lane);
    return;
  }
  if (loop.planes && !pixels) {
    const PlaneRow row{along, whole, loop.fills_block, loop.whole_rows};
    if (vectorize_planes(op, *loop.planes, row, lane, stage)) return;
  }
  if (loop.fills_vector) {
    stage->split(along, along, lane, whole, Tail::shift_inwards).vectorize(lane);
    if (inside) stage->reorder({lane, *inside}).unroll(*inside);
    return;
  }
  const bool is_long = loop.is_cut && masks_what_is_between(op, target);
  const bool by_elements =
      !along.extent().is_constant() && (pixels || (reads_apart(op) && !is_long));
  const bool is_row =
      along.name() == op.axes.back().name() && along.extent() == op.axes.back().extent();
  const int64_t at_a_time = by_elements ? lanes_apart(op, target) : lanes_without_masks(op, target);
  if (inside) {
    vectorize_pixels(*stage, along, *inside, lane, at_a_time, loop.whole_rows);
  } else if (is_row) {
    vectorize_row(op, along, at_a_time, loop.whole_rows, target, stage);
  } else {
    vectorize_last(*stage, along, at_a_time, loop.whole_rows);
  }
}

}  // namespace emulsion
