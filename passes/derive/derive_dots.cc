// Contractions whose operands both lie along the reduction and that have few columns, or none: each
// result is a product of two vectors, several of which are summed at a time.

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

#include "dsl/affine.h"
#include "dsl/error.h"
#include "passes/derive/choices.h"
#include "passes/derive/contraction_operands.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/graph_reads.h"
#include "passes/derive/stage_directives.h"
#include "passes/index/size_facts.h"

namespace emulsion {
namespace {

// A shorter reduction takes more time to add its lanes up than in them. As long as the longest
// vector there is, so that of a weight every target says the same.
constexpr int64_t kLeastSteps = 64;
// But of one column, of which a tile has a lane in each vector: results of these are put together
// across the rows, and LLVM then turns the sums in every step of the loop. Fewer steps are pixels.
constexpr int64_t kLeastStepsOfOne = 5;
bool is_long(const Axis& reduction, bool is_one_column) {
  const int64_t least = is_one_column ? kLeastStepsOfOne : kLeastSteps;
  return reduction.extent().as_constant().value_or(0) >= least;
}

constexpr int64_t kMostColumns = 4, kRowsOfTile = 4;
// A copy turns a matrix, no more, and each of its elements is to be read several times.
constexpr int64_t kLeastReuse = 16;

// How many columns at most are faster so, of which a vector has lanes enough.
int64_t most_columns(const Op& op, const Target& target) {
  return std::clamp<int64_t>(target.vector_lanes(op.dtype) / kMostColumns, 2, kMostColumns);
}

// Whether the columns' operand is a matrix whose rows are the steps of the reduction.
bool lies_by_steps(const Op& op, const Contraction& c, const Axis& reduction) {
  const std::vector<Expr>& indices = c.b->args;
  return indices.size() == 2 && is_along(c.b, op.axes.back()) && indices[0]->op == ExprOp::axis &&
         indices[0]->name == reduction.name() && !is_read_otherwise(op, c.b);
}

// Whether all operands but the columns' lie along the reduction.
bool others_step_along(const Contraction& c, const Axis& reduction) {
  return steps_along(c.a, reduction, c) &&
         std::all_of(c.others.begin(), c.others.end(),
                     [&](const Expr& other) { return steps_along(other, reduction, c); });
}

// Vectors of how many lanes make fewer of those of a sum, before the last few are added up one by
// one. What takes a part of a vector out of a register that a loop adds to has LLVM compute that
// part by itself, once more, in every step of the loop: so the first to read the sums takes them
// whole.
std::vector<int64_t> parts_of(int64_t lanes) {
  constexpr int64_t kFewLanes = 4;
  std::vector<int64_t> parts;
  if (lanes > kFewLanes) parts.push_back(lanes);
  while (lanes > kFewLanes) {
    lanes = std::max(lanes / kFewLanes, kFewLanes);
    parts.push_back(lanes);
  }
  return parts;
}

// Threads share the outer loops or, where those are few, the tiles: `tiles_of_task` at a time,
// since each task is a call through a pointer.
void share_tiles(const Op& op, const Op& result, const std::vector<Axis>& outer, const Axis& tile,
                 int64_t tiles_of_task, const Target& target, StageSchedule* y) {
  if (target.cores < 2) return;
  std::vector<Extent> work = op.shape;
  for (const Axis& axis : op.reduction_axes) work.push_back(axis.extent());
  const size_t count = count_shared(outer, target);
  if (count == 0 && tiles_of_task == 1)
    return parallel_from(*y, tile, work, products_for_threads(target));
  if (count == 0) {
    const Axis task(fresh_axis(result, "task"));
    y->split(tile, task, tile, tiles_of_task, Tail::guard);
    return parallel_from(*y, task, work, products_for_threads(target));
  }
  parallel_from(*y, fuse_leading(result, outer, count, y), work, products_for_threads(target));
}

// Of a run-time number of columns, each number by itself.
void unroll_few(const Op& op, const Axis& row, const Axis& column, const Target& target,
                StageSchedule* stage) {
  stage->unroll(row);
  for (int64_t count = 1; count <= most_columns(op, target); ++count) {
    stage->specialize(extent_value(column.extent()) == int_constant(count)).unroll(column);
  }
}

// b[k, n]: n contiguous  ->  k contiguous, before all loops. Its columns are its last axis.
void copy_columns(const Op& operand, const std::string& reader, Schedule* schedule) {
  const std::string copy = fresh_stage(*schedule, operand.name + "_columns");
  (*schedule)[reader].copy_in(operand.name, copy);
  std::vector<Axis> order = copy_axes(operand);  // outermost first
  std::reverse(order.begin(), order.end());
  std::swap(order[0], order[1]);
  (*schedule)[copy].reorder_storage(order).reorder(order);
}

// The axes of the result but those of rows and columns.
std::vector<Axis> outer_axes(const Op& result, const Dots& dots) {
  std::vector<Axis> outer;
  for (size_t i = 0; i < result.axes.size(); ++i) {
    if (i != dots.rows && i != dots.columns) outer.push_back(result.axes[i]);
  }
  return outer;
}

// Whether a result, or what is computed inline in it, takes many instructions for an element.
bool has_series(const Op& result, const Schedule& schedule) {
  std::unordered_set<const Op*> found = {&result};
  std::vector<const Op*> left = {&result};
  while (!left.empty()) {
    const Op& op = *left.back();
    left.pop_back();
    if (takes_series(op)) return true;
    for (const Expr& read : reads_in(op.body)) {
      const Op& tensor = *read->tensor;
      if (is_inline(schedule, tensor.name) && found.insert(&tensor).second) left.push_back(&tensor);
    }
  }
  return false;
}

// Whether what follows one column is computed in vectors of rows, once their sums are stored.
bool follows_in_vectors(const ContractionGroup& group, const Dots& dots, const Target& target,
                        const Schedule& schedule) {
  const Op &op = *group.contraction, &result = *group.result;
  if (&op == &result || !dots.columns || op.shape[*dots.columns] != Extent(1)) return false;
  const std::optional<int64_t> rows = op.shape[dots.rows].as_constant();
  return rows ? *rows >= value_lanes(result, target) : has_series(result, schedule);
}

// Of so many rows how many a block has: about as many in each, since the last block starts earlier
// and sums up again what it shares with the one before.
int64_t rows_of_even_block(int64_t rows, int64_t most) {
  const int64_t blocks = (rows + most - 1) / most;
  const int64_t even = (rows + blocks - 1) / blocks;
  return std::min(rows, (even + kRowsOfTile - 1) / kRowsOfTile * kRowsOfTile);
}

// The loops of what follows; those of the sums are theirs alone, in a block of rows.
void derive_following(const ContractionGroup& group, const Dots& dots, const Target& target,
                      Schedule* schedule) {
  constexpr int64_t kMostVectors = 8;
  const Op &op = *group.contraction, &result = *group.result;
  StageSchedule& y = (*schedule)[result.name];
  const int64_t lanes = value_lanes(result, target);
  // A vector that is loaded right behind the stores of its elements waits for them.
  const int64_t rows = rows_of_even_block(*op.shape[dots.rows].as_constant(), kMostVectors * lanes);
  const Axis block(fresh_axis(result, "block")), row(fresh_axis(result, "row"), rows);
  y.split(result.axes[dots.rows], block, row, rows, Tail::shift_inwards);
  const std::vector<Axis> outer = outer_axes(result, dots);
  std::vector<Axis> order = {row, result.axes[*dots.columns], block};
  order.insert(order.end(), outer.rbegin(), outer.rend());
  y.reorder(order);
  vectorize_last(y, row, lanes);
  share_tiles(op, result, outer, block, 1, target, &y);
  (*schedule)[op.name].compute_at(result.name, block);
}

}  // namespace

bool steps_along(const Expr& read, const Axis& axis, const Contraction& c) {
  size_t last = read->args.size();
  while (last > 0 && read->tensor->shape[last - 1] == Extent(1)) --last;
  const std::optional<Affine> index = last > 0 ? affine_of(read->args[last - 1]) : std::nullopt;
  if (!index) return false;
  return std::all_of(index->coefficients.begin(), index->coefficients.end(),
                     [&](const auto& term) {
                       if (term.first == axis.name()) return term.second == 1;
                       return std::count(c.batch_axes.begin(), c.batch_axes.end(), term.first) > 0;
                     }) &&
         index->coefficients.count(axis.name()) > 0;
}

std::optional<Dots> match_dots(const Op& op, const Contraction& c, bool is_weight,
                               const Target& target) {
  const Axis& reduction = op.reduction_axes.back();
  const size_t last = op.axes.size() - 1;
  const std::optional<int64_t> columns = op.shape[last].as_constant();
  const bool is_one = columns == 1 && !c.row_axes.empty();
  if (!is_long(reduction, is_one) || !others_step_along(c, reduction)) return std::nullopt;
  const bool b_along = steps_along(c.b, reduction, c);
  if (c.row_axes.empty() || !columns || *columns > kMostColumns) {
    // Few rows by columns, or a vector by columns.
    return !is_weight && b_along ? std::optional(Dots{last, std::nullopt, false}) : std::nullopt;
  }
  // A packed weight lies as every target wants it, so whether it is packed no target decides.
  const size_t rows = axis_index(op.axes, c.row_axes.back()).value();
  if (is_one) return b_along ? std::optional(Dots{rows, last, false}) : std::nullopt;
  const bool few = *columns <= most_columns(op, target);
  if (*columns > 2 && (is_weight || !few)) return std::nullopt;
  if (b_along) return Dots{rows, last, false};
  const bool pays = op.shape[rows].as_constant().value_or(0) >= kLeastReuse;
  return pays && lies_by_steps(op, c, reduction) ? std::optional(Dots{rows, last, true})
                                                 : std::nullopt;
}

std::optional<DotsOfFew> match_dots_of_few(const Op& op, const Contraction& c,
                                           const Target& target) {
  const Axis& reduction = op.reduction_axes.back();
  const Extent& steps = reduction.extent();
  const Extent& columns = op.shape.back();
  if (!is_what_is_left_of_a_size(columns)) return std::nullopt;
  if (c.row_axes.empty() || !others_step_along(c, reduction)) return std::nullopt;
  if (steps.as_constant().value_or(kLeastSteps) < kLeastSteps) return std::nullopt;
  const size_t rows = axis_index(op.axes, c.row_axes.back()).value();
  const bool copied = !steps_along(c.b, reduction, c);
  if (copied && !lies_by_steps(op, c, reduction)) return std::nullopt;
  if (copied && op.shape[rows].as_constant().value_or(kLeastReuse) < kLeastReuse) {
    return std::nullopt;
  }
  Expr where = extent_value(columns) <= int_constant(most_columns(op, target));
  const auto at_least = [&](const Extent& extent, int64_t least) {
    if (!extent.is_constant()) where = where && extent_value(extent) >= int_constant(least);
  };
  at_least(steps, kLeastSteps);
  if (copied) at_least(op.shape[rows], kLeastReuse);
  return DotsOfFew{{rows, op.axes.size() - 1, copied}, where};
}

void derive_dots(const ContractionGroup& group, const Dots& dots, const Contraction& c,
                 const Target& target, Schedule* schedule) {
  // Of a run-time number of columns there is a loop for each number, so each has fewer rows.
  constexpr int64_t kMostOfEach = 2, kTilesOfTask = 16;
  const Op& op = *group.contraction;
  const Op& result = *group.result;
  if (follows_in_vectors(group, dots, target, *schedule)) {
    if (!op.shape[dots.rows].is_constant()) {
      // The last block would be summed up whole, however few rows it has; to store all sums and
      // load them again takes less than a series.
      derive_dots({&op, &op}, dots, c, target, schedule);
      return derive_pointwise(result, target, schedule);
    }
    Target alone = target;
    alone.cores = 1;
    derive_dots({&op, &op}, dots, c, alone, schedule);
    return derive_following(group, dots, target, schedule);
  }
  const bool known = !dots.columns || op.shape[*dots.columns].is_constant();
  const int64_t most = known ? kRowsOfTile : kMostOfEach;
  const int64_t count = std::min(op.shape[dots.rows].as_constant().value_or(most), most);
  std::string sums = op.name;
  StageSchedule& y = (*schedule)[result.name];
  if (&op == &result) {
    sums = fresh_stage(*schedule, op.name + "_acc");
    y.cache_write(sums);
  }
  // The result's loops, innermost first: the columns, the rows of a tile, the tiles, the rest.
  const Axis tile(fresh_axis(result, "tile")), row(fresh_axis(result, "row"));
  const std::vector<Axis> outer = outer_axes(result, dots);
  std::vector<Axis> order, few;
  if (dots.columns) few.push_back(op.axes[*dots.columns]);
  few.push_back(op.axes[dots.rows]);
  y.split(result.axes[dots.rows], tile, row, count, Tail::guard).unroll(row);
  order.push_back(row);
  if (dots.columns) order.insert(known ? order.begin() : order.end(), result.axes[*dots.columns]);
  if (dots.columns && known) y.unroll(result.axes[*dots.columns]);
  order.push_back(tile);
  order.insert(order.end(), outer.rbegin(), outer.rend());
  y.reorder(order);
  share_tiles(op, result, outer, tile, known ? 1 : kTilesOfTask, target, &y);

  // The sums of a tile in lanes, then of the lanes, all results side by side.
  Axis lane(fresh_axis(op, "lane"));
  const int64_t lanes = target.vector_lanes(op.dtype);
  const std::string in_lanes = fresh_stage(*schedule, op.name + "_lanes");
  StageSchedule& part = reduce_in_lanes(*schedule, sums, op.reduction_axes, lane, lanes, in_lanes);
  part.compute_at(result.name, tile).store_in(Memory::registers);
  std::vector<Axis> in_registers = {lane};
  in_registers.insert(in_registers.end(), few.begin(), few.end());
  in_registers.insert(in_registers.end(), op.reduction_axes.rbegin(), op.reduction_axes.rend());
  part.reorder(in_registers);
  if (!op.reduction_axes.back().extent().exact_quotient(lanes)) {
    part.partition(op.reduction_axes.back());
  }
  std::vector<std::string> side_by_side = {sums, in_lanes};
  for (const int64_t count : parts_of(lanes)) {
    const Axis fewer(fresh_axis(op, fmt::format("lane{}", count)));
    side_by_side.push_back(fresh_stage(*schedule, fmt::format("{}_lanes{}", op.name, count)));
    std::vector<Axis> loops = {fewer};
    loops.insert(loops.end(), few.begin(), few.end());
    loops.push_back(lane);
    combine_lanes(*schedule, sums, lane, fewer, count, side_by_side.back())
        .compute_at(result.name, tile)
        .reorder(loops);
    lane = fewer;
  }
  std::vector<Axis> by_lane = few;
  by_lane.push_back(lane);
  (*schedule)[sums].compute_at(result.name, tile).reorder(by_lane).unroll(lane);
  if (dots.copied) copy_columns(*c.b->tensor, in_lanes, schedule);
  for (const std::string& stage : side_by_side) {
    if (!known) {
      unroll_few(op, op.axes[dots.rows], op.axes[*dots.columns], target, &(*schedule)[stage]);
      continue;
    }
    for (const Axis& axis : few) (*schedule)[stage].unroll(axis);
  }
}

}  // namespace emulsion
