// Reductions of many rows that lie one after another in memory, with a result for each column: more
// results than registers hold.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "dsl/expr.h"
#include "dsl/index_arithmetic.h"
#include "passes/derive/derive_few_columns.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/merge_axes.h"
#include "passes/derive/stage_directives.h"
#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

// How many rows are combined at a time: each is read as it lies in memory, a stream of its own, and
// the results are loaded and stored once for all of them. Rows of a power of two all fall into one
// set of the first cache, which holds eight lines at least.
// Of elements that are loaded one by one there are no streams, and each row has as many
// instructions as a vector has lanes. Of few rows that nothing divides, as of 9, about as many each
// time: 5 and 4.
constexpr int64_t kMostRows = 8, kRowsFarApart = 2;
int64_t rows_combined_at_a_time(const Op& op) {
  if (steps_far(op, op.axes.back())) return kRowsFarApart;
  const Extent& rows = op.reduction_axes.back().extent();
  for (int64_t count = kMostRows; count > kMostRows / 2; --count) {
    if (rows.exact_quotient(count)) return count;
  }
  const int64_t few = rows.as_constant().value_or(0), times = (few + kMostRows - 1) / kMostRows;
  return few > 0 && times < kMostRows ? (few + times - 1) / times : kMostRows;
}

int64_t columns_of_vector(const Op& op, const Target& target) {
  return steps_far(op, op.axes.back()) ? lanes_apart(op, target) : value_lanes(op, target);
}

// Where an index is moved by an axis; nothing where none is.
std::optional<size_t> place_in(const Expr& read, const Axis& axis) {
  for (size_t at = 0; at < read->args.size(); ++at) {
    if (mentions(read->args[at], axis.name())) return at;
  }
  return std::nullopt;
}

// The last axes of results, from the one at `first` on and but for the columns, whose rows are
// walked through with these as one long row.
std::vector<Axis> axes_within(const Op& op, size_t first) {
  std::vector<Axis> within;
  for (size_t at = op.axes.size() - 1; at-- > first;) {
    if (!lies_within(op, op.axes[at])) break;
    within.push_back(op.axes[at]);
  }
  return within;
}

// The loops of one stage that combines rows, for that many columns. Axes before `first` stay
// outside.
class RowBlocks {
 public:
  RowBlocks(const Op& op, size_t first, const Extent& columns, int64_t lanes)
      : rows_(op.reduction_axes.back()),
        last_(op.axes.back()),
        lane_(fresh_axis(op, "lane")),
        row_(fresh_axis(op, "row")),
        lanes_(lanes),
        count_(rows_combined_at_a_time(op)),
        within_(axes_within(op, first)),
        reductions_(op.reduction_axes.rbegin(), op.reduction_axes.rend()),
        is_known_(columns.is_constant()),
        all_rows_(rows_.extent().exact_quotient(count_)),
        all_lanes_(columns.exact_quotient(lanes)) {}

  // for r: for c: y[c] += x[r, c]  ->  for r: for c: unrolled row: vectorized lane
  // With `results`, the axis of the rows of results: what is read for all of them is read once.
  //   for m: for r: for c: y[m, c] += x[r, c]  ->  for r: for c: for m: unrolled row: lane
  void combine(StageSchedule* stage, const std::optional<Axis>& results = std::nullopt) const {
    stage->split(rows_, rows_, row_, count_, all_rows_ ? Tail::automatic : Tail::guard);
    stage->split(last_, last_, lane_, lanes_, all_lanes_ ? Tail::automatic : Tail::predicate);
    std::vector<Axis> order = {lane_, row_};
    if (results) order.push_back(*results);
    order.push_back(last_);
    if (!results) order.insert(order.end(), within_.begin(), within_.end());
    order.insert(order.end(), reductions_.begin(), reductions_.end());
    stage->reorder(order).vectorize(lane_).unroll(row_);
  }

  // Only the last rows have guards, and only the last vector of a row has masks.
  void partition(StageSchedule* stage) const {
    if (!all_rows_) stage->partition(rows_);
    if (!all_lanes_) stage->partition(last_);
  }

  // for r: for c  ->  parallel block: for r: for c, for blocks of that many vectors
  void share(const Op& op, int64_t vectors, StageSchedule* stage) const {
    const Axis block(fresh_axis(op, "block"));
    const bool exact = all_lanes_ && all_lanes_->exact_quotient(vectors).has_value();
    stage->split(last_, block, last_, vectors, exact ? Tail::automatic : Tail::guard);
    std::vector<Axis> order = {last_};
    order.insert(order.end(), within_.begin(), within_.end());
    order.insert(order.end(), reductions_.begin(), reductions_.end());
    order.push_back(block);
    stage->reorder(order).parallel(block);
    // Of a known number not by the blocks, of which the last one would be computed behind the
    // others: all have nearly as many vectors.
    if (!exact) stage->partition(is_known_ ? last_ : block);
    if (!all_rows_) stage->partition(rows_);
  }

  static constexpr int64_t kVectorsOfTask = 128;

 private:
  Axis rows_, last_, lane_, row_;
  int64_t lanes_, count_;
  std::vector<Axis> within_, reductions_;       // innermost first
  bool is_known_;                               // the number of columns
  std::optional<Extent> all_rows_, all_lanes_;  // how many steps, where they divide the extent
};

std::vector<Extent> work_of(const Op& op) {
  std::vector<Extent> work = op.shape;
  for (const Axis& axis : op.reduction_axes) work.push_back(axis.extent());
  return work;
}

// What a row of results takes.
std::vector<Extent> work_of_row(const Op& op) {
  std::vector<Extent> work = {op.axes.back().extent()};
  for (const Axis& axis : op.reduction_axes) work.push_back(axis.extent());
  return work;
}

// Whether some read of other places in each column walks memory with the rows.
bool lies_along(const Op& op, const Axis& rows, const Axis& last) {
  return any_part(op.body, [&](const Expr& e) {
    return e->op == ExprOp::read && is_along(e, rows) && mentions(e, last.name());
  });
}

// Whether some axis of results moves with what is combined: of windows, whose rows lie near.
bool has_windows(const Op& op) {
  const auto moves = [](const Expr& index, const std::vector<Axis>& axes) {
    return std::any_of(axes.begin(), axes.end(),
                       [&](const Axis& axis) { return mentions(index, axis.name()); });
  };
  return any_part(op.body, [&](const Expr& e) {
    return e->op == ExprOp::read &&
           std::any_of(e->args.begin(), e->args.end(), [&](const Expr& index) {
             return moves(index, op.axes) && moves(index, op.reduction_axes);
           });
  });
}

constexpr int64_t kManyRows = 64, kSomeRows = 16;

// Whether it combines `least` rows or more, or a run-time number of them: of the last axis, or many
// of all axes.
bool has_rows(const Op& op, int64_t least) {
  constexpr int64_t kManyOfAllAxes = 48;
  if (op.reduction_axes.back().extent().as_constant().value_or(least) >= least) return true;
  int64_t all = 1;
  for (const Axis& axis : op.reduction_axes) {
    all = saturated_product(all, axis.extent().as_constant().value_or(kManyOfAllAxes));
  }
  return op.reduction_axes.size() > 1 && all >= kManyOfAllAxes && !has_windows(op);
}

// Whether it combines `least` rows or more, with more results in each than registers hold.
bool combines_rows(const Op& op, int64_t least, const Target& target) {
  if (op.axes.empty()) return false;
  const Axis &rows = op.reduction_axes.back(), &last = op.axes.back();
  return has_rows(op, least) && last.extent() != Extent(0) && !fills_registers(op, target) &&
         is_contiguous_in_a_read(op, last.name(), true) && !lies_along(op, rows, last);
}

// Of a run-time number of rows: that not all of what is combined has guards.
Expr has_whole_steps(const Op& op) {
  const auto is_known = [](const Axis& axis) { return axis.extent().is_constant(); };
  const auto rows =
      std::find_if_not(op.reduction_axes.rbegin(), op.reduction_axes.rend(), is_known);
  const int64_t least = rows == op.reduction_axes.rbegin() ? kMostRows : 1;
  return extent_value(rows->extent()) >= int_constant(least);
}

// Of a run-time number of columns: where there are enough for several threads, these share them.
void share_run_time_columns(const Op& op, const RowBlocks& blocks, int64_t lanes,
                            const Target& target, StageSchedule* stage) {
  constexpr int64_t kLeastTasks = 2;
  const Expr columns = extent_value(op.axes.back().extent());
  if (const std::optional<Expr> enough = reaches(work_of(op), points_for_threads({&op}, target))) {
    const int64_t least = kLeastTasks * RowBlocks::kVectorsOfTask * lanes;
    const Expr wide = columns >= int_constant(least);
    blocks.share(op, RowBlocks::kVectorsOfTask,
                 &stage->specialize(enough->defined() ? *enough && wide : wide));
  }
  blocks.partition(&stage->specialize(columns >= int_constant(lanes)));
}

}  // namespace

bool lies_within(const Op& op, const Axis& axis) {
  bool any = false, all = true;
  visit(op.body, [&](const Expr& e) {
    if (e->op != ExprOp::read || !mentions(e, op.axes.back().name())) return;
    const std::optional<size_t> own = place_in(e, axis);
    for (const Axis& combined : op.reduction_axes) {
      const std::optional<size_t> other = place_in(e, combined);
      any = any || other;
      all = all && (!other || (own && *own > *other));
    }
  });
  return any && all;
}

bool shares_columns(const Op& op) {
  if (op.axes.size() < 2) return false;
  const Axis &rows = op.axes[op.axes.size() - 2], &columns = op.axes.back();
  return rows.extent().as_constant().value_or(2) > 1 && any_part(op.body, [&](const Expr& e) {
           return e->op == ExprOp::read && mentions(e, columns.name()) && !mentions(e, rows.name());
         });
}

bool combines_many_rows(const Op& op, const Target& target, size_t first) {
  if (op.axes.empty() || shares_columns(op)) return false;
  if (const std::optional<MergedAxes> merged = merge_result_axes(op, first, target)) {
    return !shares_columns(merged->view) && combines_rows(merged->view, kSomeRows, target);
  }
  // Of columns whose number is known, more are in registers where rows are fewer.
  const bool is_known = op.axes.back().extent().is_constant();
  return combines_rows(op, is_known ? kManyRows : kSomeRows, target);
}

bool combines_many_for_each_row(const Op& op, const Target& target) {
  return combines_rows(op, kManyRows, target);
}

bool streams_for_few_rows(const Op& op, const Axis& rows, DType read, const Target& target) {
  const std::optional<int64_t> count = rows.extent().as_constant();
  if (!count || *count < 2 || *count > kFewRows) return false;
  const std::optional<int64_t> elements = element_count(work_of_row(op));
  if (!elements || !combines_many_for_each_row(op, target)) return false;
  return saturated_product(*elements, size_in_bytes(read)) / 2 > (*count - 1) * target.l2_bytes;
}

void combine_rows_in_memory(const Op& op, size_t first, const Target& target, Schedule* schedule) {
  const RowBlocks blocks(op, first, op.axes.back().extent(), columns_of_vector(op, target));
  StageSchedule& stage = (*schedule)[op.name];
  blocks.combine(&stage);
  blocks.partition(&stage);
}

std::optional<PartSizes> parts_of_rows(const Op& op, const Target& target) {
  constexpr int64_t kPage = 4096, kShortestVector = 4;
  if (op.axes.empty()) return std::nullopt;
  const Axis &rows = op.reduction_axes.back(), &last = op.axes.back();
  const int64_t columns = element_count(op.shape).value_or(0);
  if (last.extent() != Extent(columns) || columns < kShortestVector) return std::nullopt;
  if (!is_contiguous_in_a_read(op, last.name(), true) || lies_along(op, rows, last)) {
    return std::nullopt;
  }
  const int64_t bytes = saturated_product(columns, size_in_bytes(op.dtype));
  if (bytes >= kPage * target.cores || !wakes_threads_to_sum(op, target)) return std::nullopt;
  const std::optional<int64_t> elements = elements_of_step(op);
  if (!elements) return std::nullopt;
  const std::optional<int64_t> extent = op.reduction_axes.front().extent().as_constant();
  if (!extent) return parts_of_rounds(op, target);
  int64_t steps = (*extent + target.cores - 1) / target.cores;
  const bool has_few = *extent < int64_t{2} * target.cores;
  if (has_few || *elements / columns * steps < kManyRows) return std::nullopt;
  if (op.reduction_axes.size() == 1) steps = (steps + kMostRows - 1) / kMostRows * kMostRows;
  return PartSizes{(*extent + steps - 1) / steps, steps};
}

bool threads_share_rows(const Op& op, const Target& target) {
  return op.reduction_axes.front().extent().is_constant() && parts_of_rows(op, target);
}

void derive_rows_in_parts(const Op& op, const PartSizes& sizes, const Target& target,
                          Schedule* schedule) {
  const Axis& last = op.axes.back();
  const int64_t lanes = columns_of_vector(op, target);
  const SumsInParts made = cut_in_parts(op, sizes, schedule);
  const Op& part = made.part;
  std::vector<Axis> order = {last};  // the part outermost
  order.insert(order.end(), part.axes.rbegin() + 1, part.axes.rend());
  StageSchedule& parts = (*schedule)[part.name];
  // In memory of its own: a line of the cache that two threads add to goes to and fro.
  Op sums = part;
  sums.name = accumulator_of(part, part, schedule);
  const auto vectorize_columns = [&](StageSchedule* stage) {
    const Axis lane(fresh_axis(part, "lane"));
    const bool is_exact = last.extent().exact_quotient(lanes).has_value();
    stage->split(last, last, lane, lanes, is_exact ? Tail::automatic : Tail::predicate);
    stage->reorder({lane, last, made.block}).vectorize(lane);
  };
  std::string walk = sums.name;  // the stage that goes through the rows
  if (sums_few_columns(op, target)) {
    (*schedule)[sums.name].compute_at(part.name, made.block);
    walk = derive_few_columns(sums, target, schedule);
    (*schedule)[walk].compute_at(part.name, made.block);
    vectorize_columns(&parts);
  } else if (combines_rows(part, kSomeRows, target)) {
    const RowBlocks blocks(part, part.axes.size() - 1, last.extent(), lanes);
    StageSchedule& in_memory = (*schedule)[sums.name];
    in_memory.compute_at(part.name, made.block).reorder(order);
    blocks.combine(&in_memory);
    blocks.partition(&in_memory);
    vectorize_columns(&parts);
  } else {
    parts.reorder(order);
    derive_sums(sums, part, target, true, schedule);
  }
  parts.reorder_storage(order).parallel(made.block);
  // Not by the parts, of which the last one would be computed behind the others.
  if (made.uneven && !is_partitioned((*schedule)[walk], *made.uneven)) {
    (*schedule)[walk].partition(*made.uneven);
  }
  vectorize_columns(&(*schedule)[op.name]);
}

void derive_combined_rows(const Op& own, const Target& target, Schedule* schedule,
                          const std::optional<Axis>& few_rows) {
  // Of the columns of a thread: of a row a long part is walked through faster than several short
  // ones, but where there is much to sum up.
  constexpr int64_t kLeastVectors = 64, kLeastOfMany = 8;
  const std::optional<MergedAxes> merged =
      few_rows ? std::nullopt : merge_result_axes(own, 0, target);
  if (merged) merged->fuse(&(*schedule)[own.name]);
  const Op& op = merged ? merged->view : own;
  const int64_t least_for_threads = points_for_threads({&op}, target);
  const int64_t much = 4 * least_for_threads;
  const int64_t lanes = columns_of_vector(op, target);
  StageSchedule& stage = (*schedule)[op.name];
  const std::vector<Axis> outer(op.axes.begin(), op.axes.end() - 1);
  const Extent& columns = op.axes.back().extent();
  const bool has_threads = wakes_threads_to_sum(op, target);
  const size_t shared = has_threads ? count_shared(outer, target) : 0;
  const RowBlocks blocks(op, shared, columns, lanes);
  blocks.combine(&stage, few_rows);
  const bool by_columns = few_rows ? wakes_threads_from(work_of_row(op), least_for_threads, target)
                                   : has_threads && shared == 0;
  if (by_columns) {
    if (!columns.is_constant()) return share_run_time_columns(op, blocks, lanes, target, &stage);
    const int64_t all = columns.constant_term();
    const bool is_much = element_count(work_of(op)).value_or(much) >= much;
    const int64_t least = is_much ? kLeastOfMany : kLeastVectors;
    const int64_t tasks = std::min<int64_t>(target.cores, all / (least * lanes));
    const int64_t width = tasks > 1 ? ((all + tasks - 1) / tasks + lanes - 1) / lanes : 0;
    const std::optional<Expr> enough =
        reaches(few_rows ? work_of_row(op) : work_of(op), least_for_threads);
    if (tasks > 1 && enough) {
      if (!enough->defined()) return blocks.share(op, width, &stage);
      blocks.share(op, width, &stage.specialize(*enough));
      // Where there are no whole steps, there is nothing to cut.
      if (has_case(stage, has_whole_steps(op))) return;
      return blocks.partition(&stage.specialize(has_whole_steps(op)));
    }
  }
  blocks.partition(&stage);
  if (!few_rows) share_sums(op, op, outer.size(), target, std::nullopt, &stage);
}

}  // namespace emulsion
