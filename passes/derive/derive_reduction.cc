#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dsl/affine.h"
#include "dsl/error.h"
#include "dsl/index_arithmetic.h"
#include "passes/derive/alternative_ways.h"
#include "passes/derive/choices.h"
#include "passes/derive/column_tiles.h"
#include "passes/derive/contraction_operands.h"
#include "passes/derive/derive_few_columns.h"
#include "passes/derive/derive_shared_walk.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/derive_sum_in_parts.h"
#include "passes/derive/sums_across.h"
#include "passes/derive/sums_of_maps.h"
#include "passes/derive/window_sums.h"
#include "passes/index/simplify_index.h"
#include "passes/index/size_facts.h"

namespace emulsion {
namespace {

bool moves_with_the_reduction(const Op& op, const Expr& read) {
  return std::any_of(op.reduction_axes.begin(), op.reduction_axes.end(), [&](const Axis& axis) {
    return std::any_of(read->args.begin(), read->args.end(),
                       [&](const Expr& index) { return mentions(index, axis.name()); });
  });
}

bool has_several_vectors(const Axis& axis, int64_t lanes) {
  return axis.extent().as_constant().value_or(2 * lanes) >= 2 * lanes;
}

// Whether each read is of one value for all columns or for all that is summed up, and some walk
// memory along the columns: `sum(k, i32(x(j) > edges(k)))`. Vectors along the columns are then read
// once, and none of them has to be added up in the end.
bool sums_up_values_of_columns(const Op& op) {
  const Axis& columns = op.axes.back();
  const auto has_both = [&](const Expr& e) {
    return e->op == ExprOp::read && mentions(e, columns.name()) && moves_with_the_reduction(op, e);
  };
  return is_contiguous_in_a_read(op, columns.name(), false) && !any_part(op.body, has_both);
}

// The sums of a tile; `most`: how many steps of these are added without loops.
void accumulate_columns(const Op& sums, const ColumnTile& tile, int64_t lanes, int64_t most,
                        StageSchedule* accumulate) {
  const Axis& last = sums.axes.back();
  std::vector<Axis> order = {last};
  if (tile.rows > 1) order.push_back(sums.axes[sums.axes.size() - 2]);
  order.insert(order.end(), sums.reduction_axes.rbegin(), sums.reduction_axes.rend());
  accumulate->reorder(order);
  if (tile.width <= lanes) {
    accumulate->vectorize(last);
  } else {
    accumulate->vectorize(last, lanes).unroll(last);
  }
  if (tile.rows > 1) accumulate->unroll(sums.axes[sums.axes.size() - 2]);
  const int64_t vectors = tile.rows * ((tile.width + lanes - 1) / lanes);
  // Otherwise they are written once more for their rest, with masks.
  if (tile.has_windows && tile.rows_fill) {
    unroll_windows(sums, vectors, most, accumulate);
  } else {
    unroll_short_windows(sums, vectors, accumulate);
  }
}

// Whether vectors have sums of few steps side by side, though these lie apart in what is read.
bool sums_few_steps(const Op& op, const Target& target) {
  const int64_t lanes = value_lanes(op, target);
  return are_short_sums(op, target) && !op.axes.empty() &&
         op.axes.back().extent().as_constant().value_or(lanes) >= lanes;
}

Axis task_of(const Op& result) { return Axis(fresh_axis(result, "task")); }

// Along the last axis, acc in one or more vectors, the reduction loops around nothing else:
//   for rows: for tile: alloc acc: [start value]; for k: acc += ...; y = acc
// Or of several rows at a time:
//   for rows: for tile: alloc acc: [start values]; for k: unrolled row: acc += ..; unrolled row: y
// Of several sums one after another. Tiles of a task have a loop of their own around them.
Axis sum_columns(const std::vector<const Op*>& sums, const Op& result, const ColumnTile& tile,
                 int64_t lanes, bool whole_rows, Schedule* schedule) {
  const Extent& extent = sums.front()->axes.back().extent();
  const int64_t at_a_time = tile.rows, width = tile.width;
  std::vector<std::string> accumulators;
  for (const Op* op : sums) accumulators.push_back(accumulator_of(*op, result, schedule));
  Axis outer(fresh_axis(result, "tile"));
  const Axis inner(fresh_axis(result, "lane"));
  StageSchedule& stage = (*schedule)[result.name];
  // The result is pure, so the last tile may start earlier, where all of the axis is computed and
  // is as long as the tile. Of a run-time length of which that is not known the last tile alone has
  // masks.
  const int64_t step = width * tile.of_task;
  const bool exact = extent.exact_quotient(step).has_value();
  const bool is_part = extent.is_constant() && extent.constant_term() < width;
  const bool shifted = whole_rows && !is_part && (extent.is_constant() || tile.fills);
  const Tail tail = exact ? Tail::automatic : (shifted ? Tail::shift_inwards : Tail::predicate);
  if (tile.of_task > 1) {
    stage.split(result.axes.back(), task_of(result), outer, step, tail)
        .split(outer, outer, inner, width);
  } else {
    stage.split(result.axes.back(), outer, inner, width, tail);
  }
  if (at_a_time > 1) {
    const Axis& all = result.axes[result.axes.size() - 2];
    const Axis row(fresh_axis(result, "row"));
    const bool divides = all.extent().exact_quotient(at_a_time).has_value();
    const Tail otherwise = tile.rows_fill ? Tail::shift_inwards : Tail::guard;
    stage.split(all, all, row, at_a_time, divides ? Tail::automatic : otherwise)
        .reorder({inner, row, outer})
        .unroll(row);
    if (!divides && !tile.rows_fill) stage.partition(all);
  }
  const bool has_last = !exact && !shifted && !extent.is_constant();
  const bool has_several = extent != Extent(width) && !is_part;
  if (has_last || (has_several && reach_over_ends(sums))) stage.partition(outer);
  if (width <= lanes) {
    stage.vectorize(inner);
  } else {
    // A loop over them would read the sums from memory, not from registers.
    stage.vectorize(inner, lanes).unroll(inner);
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    StageSchedule& accumulate = (*schedule)[accumulators[i]];
    accumulate.compute_at(result.name, outer);
    accumulate_columns(*sums[i], tile, lanes, kMostOfWindows / static_cast<int64_t>(sums.size()),
                       &accumulate);
  }
  return outer;
}

// Whether threads share the loops over all results as one.
bool are_one_loop(const Op& op, size_t shared) { return shared > 1 && shared == op.axes.size(); }

// Of how many rows of a run-time length one part after another is summed, side by side. A row may
// be short: a line of each has fewer lanes for nothing than as much of one row, and as many sums
// are under way. Of a run-time number of rows the last ones are as many as the others, the last row
// again and again. Where threads share all rows as one loop, those of a step are inside of it: a
// number of them that divides the last axis.
int64_t rows_side_by_side(const Op& op, size_t shared, const Target& target) {
  constexpr int64_t kMostRows = 4, kMostOfRows = 8;  // vectors
  const Op lanes = with_merged_reduction(op, target);
  if (op.axes.empty() || lanes.reduction_axes.back().extent().is_constant()) return 1;
  const int64_t vectors = sums_under_way(op, target, true, kMostVectors) / value_lanes(op, target);
  const Extent& last = op.axes.back().extent();
  int64_t rows = std::min(kMostRows, kMostOfRows / vectors);
  while (rows > 1 && are_one_loop(op, shared) && !last.exact_quotient(rows)) --rows;
  return last.as_constant().value_or(rows) < rows ? 1 : rows;
}

// for row: lanes of a row, their sum  ->  for rows: lanes of all rows, their sums
//   parallel rows: alloc lanes: [start values]; for k: unrolled row: lanes += ...; fewer = ..;
//                  unrolled row: y = sum of the last few
void derive_rows_side_by_side(const Op& op, int64_t rows, size_t shared, const Target& target,
                              Schedule* schedule) {
  const SumsInLanes lanes = derive_sums_in_lanes(op, target, schedule, true);
  StageSchedule& stage = (*schedule)[op.name];
  const Axis& last = op.axes.back();
  const Axis row(fresh_axis(op, "row"));
  const bool exact = last.extent().exact_quotient(rows).has_value();
  const bool is_one_loop = are_one_loop(op, shared);
  const auto split_rows = [&] {
    stage.split(last, last, row, rows, exact ? Tail::automatic : Tail::guard).unroll(row);
    if (!exact) stage.partition(last);
  };
  std::vector<Axis> loops = op.axes;
  if (is_one_loop) {
    split_rows();
    loops.back() = Axis(last.name(), *last.extent().exact_quotient(rows));
  }
  std::optional<RowTasks> tasks;
  if (shared > 0) tasks = share_loops(op, loops, shared, std::nullopt, target, &stage);
  if (!is_one_loop) split_rows();
  if (tasks) {
    parallel_from(stage, tasks->tasks, work_of_sums(op), points_for_threads({&op}, target));
  }
  lanes.compute_at(op.name, is_one_loop ? tasks->last : last, schedule);
  for (const std::string& name : lanes.stages) (*schedule)[name].unroll(last);
  std::vector<Axis> order = {last};
  const std::vector<Axis> steps = with_merged_reduction(op, target).reduction_axes;
  order.insert(order.end(), steps.rbegin(), steps.rend());
  (*schedule)[lanes.stages.front()].reorder(order);
}

// Threads share the first `count` of the loops. Returns the innermost loop that they have become,
// where these are all.
std::optional<Axis> share_rows(const Op& sums, const Op& result, const std::vector<Axis>& loops,
                               size_t count, const Target& target, StageSchedule* stage) {
  const RowTasks shared =
      share_loops(result, loops, count, element_count(work_of_sums(sums)), target, stage);
  parallel_from(*stage, shared.tasks, work_of_sums(sums), points_for_threads({&sums}, target));
  return count == loops.size() ? std::optional(shared.last) : std::nullopt;
}

// The sums of all columns, of which threads share the loops.
void share_sums_of_columns(const std::vector<const Op*>& sums, const Op& result,
                           const ColumnTile& tile, int64_t lanes, const Target& target,
                           Schedule* schedule) {
  const Axis tiles = sum_columns(sums, result, tile, lanes, true, schedule);
  const Axis around = tile.of_task > 1 ? task_of(result) : tiles;
  StageSchedule& stage = (*schedule)[result.name];
  const size_t rows = result.axes.size() - (tile.rows > 1 ? 2 : 1);
  std::optional<Axis> last = tile.rows > 1 ? result.axes[rows] : around;
  const std::optional<int64_t> columns = result.axes.back().extent().as_constant();
  // One tile of columns is nothing to share.
  if (tile.rows == 1 && columns && *columns <= tile.width * tile.of_task) last.reset();
  share_sums(*sums.front(), result, rows, target, last, &stage);
}

// Whether a vector of columns would be gathered, element by element under its mask. Of every second
// to fourth element all that lies between is loaded, where the target has masks.
bool gathers_columns(const Op& sums, const Target& target) {
  const int64_t most = lacks_masks(sums, target) ? 1 : 4;
  const Axis& last = sums.axes.back();
  return any_part(sums.body, [&](const Expr& e) {
    if (e->op != ExprOp::read || !mentions(e, last.name())) return false;
    const std::optional<int64_t> step = elements_of_step(e, last);
    return !step || *step < 1 || *step > most;
  });
}

// Without vectors:  for rows: for columns: alloc acc: start value; for k: acc += ..; y = acc
void share_sums_one_by_one(const Op& sums, const Op& result, const Target& target,
                           Schedule* schedule) {
  StageSchedule& acc = (*schedule)[accumulator_of(sums, result, schedule)];
  acc.compute_at(result.name, result.axes.back());
  unroll_short_windows(sums, 1, &acc);
  share_sums(sums, result, result.axes.size() - 1, target, std::nullopt, &(*schedule)[result.name]);
}

//   if N <= lanes: the sums of one vector  else: of several
void share_narrow_or_wide_sums(const Op& sums, const Op& result, const ColumnTile& tile,
                               int64_t lanes, const Target& target, Schedule* schedule) {
  const Expr is_narrow = extent_value(sums.axes.back().extent()) <= int_constant(lanes);
  AlternativeWay way{"_narrow", is_narrow, schedule->without_directives()};
  share_sums_of_columns({&sums}, result, {tile.rows, lanes}, lanes, target, &way.schedule);
  Schedule wide = schedule->without_directives();
  share_sums_of_columns({&sums}, result, tile, lanes, target, &wide);
  add_ways(result, {way}, wide, schedule);
}

}  // namespace

std::vector<Extent> work_of_sums(const Op& op) {
  std::vector<Extent> work = op.shape;
  for (const Axis& axis : op.reduction_axes) {
    if (axis.extent() != Extent(0)) work.push_back(axis.extent());  // the start value is left
  }
  return work;
}

std::string accumulator_of(const Op& sums, const Op& result, Schedule* schedule) {
  if (&sums != &result) return sums.name;
  std::string acc = fresh_stage(*schedule, sums.name + "_acc");
  (*schedule)[result.name].cache_write(acc);
  return acc;
}

bool is_contiguous_in_a_read(const Op& op, const std::string& axis, bool reduced) {
  return any_part(op.body, [&](const Expr& e) {
    if (e->op != ExprOp::read || e->args.empty()) return false;
    const std::optional<Affine> last = affine_of(between_ends(e->args.back(), op, axis));
    if (!last) return false;
    const auto coefficient = last->coefficients.find(axis);
    const bool walks = coefficient != last->coefficients.end() && coefficient->second == 1;
    return walks && (!reduced || moves_with_the_reduction(op, e));
  });
}

bool wakes_threads_to_sum(const Op& op, const Target& target) {
  return wakes_threads_from(work_of_sums(op), points_for_threads({&op}, target), target);
}

std::optional<Axis> share_sums(const Op& sums, const Op& result, size_t rows, const Target& target,
                               const std::optional<Axis>& last, StageSchedule* stage) {
  if (!wakes_threads_to_sum(sums, target)) return std::nullopt;
  const std::vector<Axis> loops(result.axes.begin(),
                                result.axes.begin() + static_cast<std::ptrdiff_t>(rows));
  if (const size_t count = count_shared(loops, target); count > 0) {
    return share_rows(sums, result, loops, count, target, stage);
  }
  if (last && result.axes[rows].extent() != Extent(1)) {
    parallel_from(*stage, *last, work_of_sums(sums), points_for_threads({&sums}, target));
  }
  return std::nullopt;
}

bool fills_registers(const Op& op, const Target& target) {
  const int64_t lanes = value_lanes(op, target);
  if (pixels_to_sum(op, lanes)) return true;
  return op.axes.back().extent() == Extent(sums_at_a_time(op, lanes, true, target));
}

bool keeps_sums_in_registers(const Op& op, const Target& target) {
  if (op.axes.empty()) return false;
  if (pixels_to_sum(op, value_lanes(op, target)) || sums_up_quarters(op)) return true;
  const Axis& last = op.axes.back();
  if (last.extent().as_constant().value_or(2) < 2) return false;
  return is_contiguous_in_a_read(op, last.name(), true) ||
         (is_contiguous_in_a_read(op, last.name(), false) && !has_sums_in_lanes(op, target));
}

bool has_sums_in_vectors(const Op& op, const Target& target) {
  if (sums_of_few_side_by_side(op, target)) return false;
  if (keeps_sums_in_registers(op, target) || strides_a_little(op)) return true;
  if (op.axes.empty()) return false;
  const Axis& last = op.axes.back();
  const bool has_several = has_several_vectors(last, value_lanes(op, target));
  if (has_several && sums_up_values_of_columns(op)) return true;
  const bool is_window = last.extent() != Extent(1) && step_of_windows(op) > 0;
  return (is_window || (has_several && steps_a_little(op, last))) && !has_sums_in_lanes(op, target);
}

Axis derive_sums(const Op& sums, const Op& result, const Target& target, bool whole_rows,
                 Schedule* schedule, size_t first) {
  const int64_t lanes = std::min(value_lanes(sums, target), value_lanes(result, target));
  const std::optional<Pixels> pixels = pixels_to_sum(sums, value_lanes(sums, target));
  if (pixels && pixels->rows >= first) {
    return sum_pixels(sums, result, *pixels, lanes, whole_rows, schedule);
  }
  const int64_t width = sums_at_a_time(sums, lanes, whole_rows, target);
  return sum_columns({&sums}, result, {1, width}, lanes, whole_rows, schedule);
}

Axis derive_sums_of_row(const Op& sums, const Op& result, size_t row, const Target& target,
                        bool whole_rows, Schedule* schedule) {
  const int64_t lanes = std::min(value_lanes(sums, target), value_lanes(result, target));
  ColumnTile tile = column_tile({&sums}, lanes, target);
  if (!tile.has_windows || pixels_to_sum(sums, value_lanes(sums, target))) {
    return derive_sums(sums, result, target, whole_rows, schedule);
  }
  const bool has_rows = row + 2 < result.axes.size() && whole_rows && tile.rows_fill;
  if (!has_rows) tile.rows = 1;
  if (tile.rows == 1) tile.width = sums_at_a_time(sums, lanes, whole_rows, target);
  tile.rows_fill = true;
  return sum_columns({&sums}, result, tile, lanes, whole_rows, schedule);
}

Axis derive_sums_together(const std::vector<const Op*>& sums, const Op& result,
                          const Target& target, Schedule* schedule) {
  const int64_t lanes = std::min(value_lanes(*sums.front(), target), value_lanes(result, target));
  ColumnTile tile = tile_of_windows(sums, lanes, false);
  tile.rows = 1;
  return sum_columns(sums, result, tile, lanes, true, schedule);
}

void derive_rows_in_lanes(const Op& op, const Target& target, Schedule* schedule, bool may_share) {
  if (may_share && derive_sum_in_parts(op, target, schedule)) return;
  const bool has_threads = may_share && wakes_threads_to_sum(op, target);
  const size_t shared = has_threads ? count_shared(op.axes, target) : 0;
  const int64_t rows = rows_side_by_side(op, shared, target);
  if (rows > 1) return derive_rows_side_by_side(op, rows, shared, target, schedule);
  const SumsInLanes lanes = derive_sums_in_lanes(op, target, schedule);
  std::optional<Axis> tasks;
  if (shared > 0) tasks = share_rows(op, op, op.axes, shared, target, &(*schedule)[op.name]);
  if (!op.axes.empty()) lanes.compute_at(op.name, tasks.value_or(op.axes.back()), schedule);
}

bool are_short_sums(const Op& op, const Target& target) {
  constexpr int64_t kMostOfWords = 16, kManyLanes = 16;
  const bool is_narrow = any_part(
      op.body, [](const Expr& e) { return e->op == ExprOp::read && size_in_bytes(e.dtype()) < 4; });
  const int64_t of_narrow = value_lanes(op, target) >= kManyLanes ? 8 : 7;
  return has_few_steps(op, is_narrow ? of_narrow : kMostOfWords);
}

bool has_vectors_to_reduce(const Op& op, const Target& target) {
  return combines_many_rows(op, target) || has_sums_in_vectors(op, target) ||
         has_sums_in_lanes(op, target);
}

void derive_reduction(const Op& op, const Target& target, Schedule* schedule) {
  const auto otherwise = [&](Schedule* made) { derive_reduction(op, target, made); };
  if (derive_parts_of_much(op, op, target, {nullptr, otherwise}, schedule)) return;
  if (sums_of_maps(op, target)) return derive_sums_of_maps(op, target, schedule);
  StageSchedule& stage = (*schedule)[op.name];
  if (shares_walk(op, target)) return derive_shared_walk(op, target, schedule);
  if (combines_chosen_places(op, target)) return derive_chosen_places(op, target, schedule);
  if (threads_share_rows(op, target)) {
    return derive_rows_in_parts(op, *parts_of_rows(op, target), target, schedule);
  }
  if (sums_few_columns(op, target)) {
    derive_few_columns(op, target, schedule);
    return;
  }
  if (sums_few_columns_of_each(op, target)) {
    return derive_few_columns_of_each(op, target, schedule);
  }
  if (const std::vector<Axis> columns = summed_columns(op);
      !columns.empty() && !has_sums_in_lanes(op, target) && !sums_of_few_side_by_side(op, target)) {
    return derive_reduction(sum_columns_apart(op, columns, schedule), target, schedule);
  }
  if (combines_many_rows(op, target)) return derive_combined_rows(op, target, schedule);
  if (const std::optional<size_t> across = lies_across(op, target)) {
    return derive_sums_across(op, *across, target, schedule);
  }
  if (has_sums_in_vectors(op, target)) {
    return derive_shared_sums({&op}, op, target, schedule);
  }
  if (sums_few_steps(op, target)) return derive_shared_sums({&op}, op, target, schedule);
  if (has_sums_in_lanes(op, target)) {
    if (const std::optional<Expr> length = length_of_summed_rows(op, target)) {
      return derive_rows_by_length(op, *length, target, schedule);
    }
    return derive_rows_in_lanes(op, target, schedule);
  }
  if (sums_of_few_side_by_side(op, target)) {
    return derive_sums_of_few_side_by_side(op, target, schedule);
  }
  // Neither way is open: vectors along the last axis, with the results in memory.
  const Axis* last = op.axes.empty() ? nullptr : &op.axes.back();
  if (!last || last->extent().as_constant().value_or(0) < 2) {
    if (const std::vector<Axis> columns = summed_columns(op, kRowsOfLoneColumns);
        !columns.empty()) {
      return derive_reduction(sum_columns_apart(op, columns, schedule), target, schedule);
    }
    share_sums(op, op, op.axes.size(), target, std::nullopt, &stage);
    return;
  }
  std::vector<Axis> order = {*last};
  for (size_t i = op.reduction_axes.size(); i-- > 0;) order.push_back(op.reduction_axes[i]);
  stage.reorder(order);
  vectorize_last(stage, *last, value_lanes(op, target), false);
  share_sums(op, op, op.axes.size() - 1, target, std::nullopt, &stage);
}

void derive_shared_sums(const std::vector<const Op*>& sums, const Op& result, const Target& target,
                        Schedule* schedule) {
  const Op& first = *sums.front();
  if (derive_sums_of_pixels(first, result, target, schedule)) return;
  const int64_t lanes = std::min(value_lanes(first, target), value_lanes(result, target));
  ColumnTile tile = column_tile(sums, lanes, target);
  if (sums_few_steps(first, target) && !has_sums_in_vectors(first, target)) tile = {1, lanes};
  std::optional<FilledTile> of_tasks = tile_of_tasks(sums, result, tile, target);
  if (of_tasks && !of_tasks->condition.defined()) {
    tile = of_tasks->tile;
    of_tasks.reset();
  }
  const std::optional<FilledTile> filled = filled_tile(sums, result, tile, lanes, target);
  if (!can_have_ways(result, *schedule)) {
    return share_sums_of_columns(sums, result, tile, lanes, target, schedule);
  }
  if (!filled && sums.size() == 1 && may_be_narrow(first, tile, lanes)) {
    return share_narrow_or_wide_sums(first, result, tile, lanes, target, schedule);
  }
  std::vector<AlternativeWay> ways;
  const auto add_way = [&](const std::string& suffix, const FilledTile& of) {
    ways.push_back({suffix, of.condition, schedule->without_directives()});
    share_sums_of_columns(sums, result, of.tile, lanes, target, &ways.back().schedule);
  };
  if (of_tasks) add_way("_in_tasks", *of_tasks);
  if (filled) add_way("_filled", *filled);
  if (ways.empty()) return share_sums_of_columns(sums, result, tile, lanes, target, schedule);
  Schedule otherwise = schedule->without_directives();
  ColumnTile short_tile = tile;
  if (filled) short_tile.width = std::min(tile.width, lanes);
  if (tile.has_windows) short_tile.rows = 1;
  // Not where the condition may say that there are few rows.
  const bool are_short =
      filled && !of_tasks && !first.axes.back().extent().is_constant() &&
      (filled->tile.rows == 1 || result.axes[result.axes.size() - 2].extent().is_constant());
  if (are_short && sums.size() == 1 && gathers_columns(first, target)) {
    share_sums_one_by_one(first, result, target, &otherwise);
  } else if (of_tasks) {  // fewer than a task has are no work for threads
    sum_columns(sums, result, short_tile, lanes, true, &otherwise);
  } else {
    share_sums_of_columns(sums, result, short_tile, lanes, target, &otherwise);
  }
  add_ways(result, ways, otherwise, schedule);
}

}  // namespace emulsion
