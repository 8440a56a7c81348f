#include "passes/derive/derive_points.h"

#include <optional>

#include "passes/derive/alternative_ways.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/merge_axes.h"
#include "passes/derive/merge_row_axes.h"
#include "passes/derive/periodic_choices.h"
#include "passes/derive/read_borders.h"
#include "passes/fuse/fused_group.h"

namespace emulsion {
namespace {

void derive_merged(const MergedAxes& merged, const Op& result, const Target& target,
                   Schedule* schedule) {
  merged.fuse(&(*schedule)[result.name]);
  derive_pointwise(merged.view, target, schedule);
}

// Short rows as one, but where a call has so few of them that they are best one by one.
void derive_short_rows(const MergedAxes& rows, const Op& whole, const Op& result,
                       const Target& target, Schedule* schedule) {
  const std::optional<Expr> are_few = merges_few_rows(rows, target);
  if (!are_few) return derive_merged(rows, result, target, schedule);
  if (!can_have_ways(result, *schedule)) return derive_pointwise(whole, target, schedule);
  AlternativeWay few{"_few", *are_few, schedule->without_directives()};
  derive_pointwise(whole, target, &few.schedule);
  Schedule many = schedule->without_directives();
  derive_merged(rows, result, target, &many);
  add_ways(result, {few}, many, schedule);
}

void derive_as_they_are(const Op& group, const Target& target, Schedule* schedule) {
  const Op& result = result_of(group);
  if (const std::optional<MergedAxes> last = merge_last_axes(group, 0, target)) {
    return derive_merged(*last, result, target, schedule);
  }
  // What lies across the rows, borders and turns may be of any member.
  const OpPtr whole = written_out(group, {});
  if (const std::optional<MergedAxes> few = merge_few_elements(*whole, target)) {
    return derive_merged(*few, result, target, schedule);
  }
  if (const std::optional<MergedAxes> planes = merge_rows_of_planes(*whole, target)) {
    return derive_merged(*planes, result, target, schedule);
  }
  if (const std::optional<MergedAxes> rows = merge_short_rows(*whole, target)) {
    return derive_short_rows(*rows, *whole, result, target, schedule);
  }
  if (const std::optional<MergedAxes> pixels = merge_repeated_pixels(*whole, target)) {
    return derive_merged(*pixels, result, target, schedule);
  }
  const std::optional<PeriodicChoices> turns = split_periods(*whole, target);
  if (!turns) return derive_pointwise(*whole, target, schedule);
  turns->split(&(*schedule)[result.name]);
  derive_pointwise(turns->view, target, schedule);
}

}  // namespace

// Axes that say which pixel are one where they lie one after another, and where only so there are
// pixels enough for vectors that go through several of them.
void derive_points(const Op& group, const Target& target, Schedule* schedule) {
  constexpr int64_t kMostValues = 4;  // that pixels may have (are_pixels)
  const Shape& shape = result_of(group).shape;
  if (shape.size() < 3 || shape.back().as_constant().value_or(kMostValues + 1) > kMostValues) {
    return derive_as_they_are(group, target, schedule);
  }
  derive_with_merged_axes(
      RowGroup{{{&group, first_axes(shape.size() - 1)}}},
      [&](const RowGroup& of) { return are_pixels(of.reader(), target) ? 2 : 1; },
      [&](const RowGroup& of, Schedule* made) { derive_as_they_are(of.reader(), target, made); },
      schedule);
}

}  // namespace emulsion
