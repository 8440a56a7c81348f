#include "passes/derive/derive_few_columns.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "dsl/index_arithmetic.h"
#include "passes/derive/choices.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/window_sums.h"
#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

constexpr int64_t kUnderWay = 4;  // vectors that are added to

int64_t vectors_of_row(const Op& op, const Target& target) {
  const int64_t lanes = value_lanes(op, target);
  return (op.axes.back().extent().as_constant().value_or(0) + lanes - 1) / lanes;
}

// How many rows of `columns` are a few whole vectors, at least `under_way`, as they lie in memory;
// 0 where each row is whole vectors, or where it takes more rows than there are, or too many
// vectors.
int64_t rows_in_vectors(const Op& op, int64_t columns, int64_t under_way, const Target& target) {
  constexpr int64_t kMostVectors = 9;
  const int64_t lanes = value_lanes(op, target), least = std::lcm(lanes, columns);
  if (columns % lanes == 0 || least > kMostVectors * lanes) return 0;
  const int64_t some = (under_way * lanes + least - 1) / least * least / columns;
  const int64_t all = op.reduction_axes.back().extent().as_constant().value_or(some);
  if (some <= all) return some;
  return least / columns <= all ? least / columns : 0;
}

// Which of `axes` lie behind the axis `rows` in this read, outermost first, with nothing between
// them in memory; or none.
std::vector<size_t> columns_in(const Expr& read, const std::string& rows,
                               const std::vector<Axis>& axes) {
  std::vector<size_t> columns;
  for (size_t i = read->args.size(); i-- > 0;) {
    const Expr& index = read->args[i];
    if (index->op != ExprOp::axis) return {};
    if (index->name == rows) return columns;
    const std::optional<size_t> at = axis_index(axes, index->name);
    if (!at || axes[*at].extent() != read->tensor->shape[i]) return {};
    columns.insert(columns.begin(), *at);
  }
  return {};
}

// 0 of a run-time size.
int64_t number_of(const std::vector<Axis>& axes, const std::vector<size_t>& columns) {
  int64_t number = 1;
  for (const size_t at : columns) {
    number = saturated_product(number, axes[at].extent().as_constant().value_or(0));
  }
  return number;
}

bool are_few(int64_t columns) {
  constexpr int64_t kMostColumns = 15;
  return columns > 1 && columns <= kMostColumns;
}

// Of each of several rows of results; other such rows are under way beside it.
int64_t rows_of_each(const Op& op, int64_t columns, const Target& target) {
  constexpr int64_t kUnderWayOfEach = 2;
  return rows_in_vectors(op, columns, kUnderWayOfEach, target);
}

std::vector<Axis> joined(std::vector<Axis> axes, const std::vector<Axis>& more) {
  axes.insert(axes.end(), more.begin(), more.end());
  return axes;
}

// The axes of the results that are no columns, innermost first.
std::vector<Axis> axes_around(const Op& op, const std::vector<size_t>& columns) {
  std::vector<Axis> around;
  for (size_t i = op.axes.size(); i-- > 0;) {
    const bool is_column = std::find(columns.begin(), columns.end(), i) != columns.end();
    if (!is_column) around.push_back(op.axes[i]);
  }
  return around;
}

// Vectors through `count` rows of columns, in the loops `around`, innermost first. Returns the
// stage that goes through the rows.
std::string sum_whole_vectors(const Op& op, const std::vector<size_t>& columns, int64_t count,
                              const std::vector<Axis>& around, const Target& target,
                              Schedule* schedule) {
  const Axis &rows = op.reduction_axes.back(), row(fresh_axis(op, "row"));
  const std::string of_rows = fresh_stage(*schedule, op.name + "_rows");
  StageSchedule& stage = (*schedule)[op.name];
  stage.split(rows, rows, row, count).rfactor(row, of_rows);
  std::vector<Axis> inside;  // innermost first
  for (size_t i = columns.size(); i-- > 0;) inside.push_back(op.axes[columns[i]]);
  const std::vector<Axis> vectors = joined(inside, {row});
  const bool is_along = columns.back() + 1 == op.axes.size();
  stage.reorder(joined(is_along ? vectors : joined({row}, inside), around));
  if (is_along) stage.vectorize(op.axes.back());
  stage.unroll(row);
  StageSchedule& many = (*schedule)[of_rows];
  const std::vector<Axis> walk(op.reduction_axes.rbegin(), op.reduction_axes.rend());
  many.reorder(joined(joined(vectors, walk), around))
      .reorder_storage(joined(vectors, axes_around(op, columns)));
  Axis fused = inside.front();
  for (size_t i = 1; i < vectors.size(); ++i) {
    const Axis both(fresh_axis(op, i + 1 == vectors.size() ? "lane" : "column"));
    many.fuse(vectors[i], fused, both);
    fused = both;
  }
  many.vectorize(fused, value_lanes(op, target)).unroll(fused);
  return of_rows;
}

// Only the last step, which may have fewer rows, asks which of them there are.
void keep_in_registers(const Axis& rows, int64_t count, StageSchedule* stage) {
  if (!rows.extent().exact_quotient(count)) stage->partition(rows);
  stage->store_in(Memory::registers);
}

}  // namespace

bool sums_few_columns(const Op& op, const Target& target) {
  constexpr int64_t kLeastColumns = 2, kManyRows = 16;
  constexpr int64_t kMostVectors = 4, kFewVectors = 3;  // full ones
  if (op.combiner == Combiner::none || op.axes.empty()) return false;
  const Axis &rows = op.reduction_axes.back(), &last = op.axes.back();
  if (element_count(op.shape) != last.extent().as_constant()) return false;
  const bool are_many = rows.extent().as_constant().value_or(kManyRows) >= kManyRows;
  // A few, again and again, of which a whole number of steps is under way.
  const bool are_again =
      rows.extent().exact_quotient(kUnderWay) && steps_of_sum(op, kManyRows) >= kManyRows;
  if (!are_many && !are_again) return false;
  const int64_t vectors = vectors_of_row(op, target);
  if (vectors < 1 || vectors > kMostVectors) return false;
  if (vectors > kFewVectors && fills_registers(op, target)) return false;
  if (last.extent().constant_term() < kLeastColumns || sums_up_quarters(op)) return false;
  if (pixels_to_sum(op, value_lanes(op, target)) || step_of_windows(op) > 0) return false;
  return is_contiguous_in_a_read(op, last.name(), true) && !has_register_tiles(op) &&
         !combines_chosen_places(op, target);
}

std::string derive_few_columns(const Op& op, const Target& target, Schedule* schedule) {
  const Axis &rows = op.reduction_axes.back(), &last = op.axes.back();
  int64_t count = rows_in_vectors(op, last.extent().constant_term(), kUnderWay, target);
  std::string of_rows;
  if (count > 0) {
    of_rows = sum_whole_vectors(op, {op.axes.size() - 1}, count, {}, target, schedule);
  } else {
    const Axis row(fresh_axis(op, "row"));
    count = std::max<int64_t>(kUnderWay / vectors_of_row(op, target), 2);
    of_rows = fresh_stage(*schedule, op.name + "_rows");
    StageSchedule& stage = (*schedule)[op.name];
    stage.split(rows, rows, row, count).rfactor(row, of_rows);
    stage.reorder({last, row}).vectorize(last).unroll(row);
    const std::vector<Axis> walk(op.reduction_axes.rbegin(), op.reduction_axes.rend());
    (*schedule)[of_rows]
        .reorder(joined({last, row}, walk))
        .reorder_storage(joined({last, row}, axes_around(op, {op.axes.size() - 1})))
        .vectorize(last)
        .unroll(row);
  }
  keep_in_registers(rows, count, &(*schedule)[of_rows]);
  return of_rows;
}

std::vector<size_t> columns_of_long_sums(const Op& op) {
  if (op.combiner == Combiner::none || op.reduction_axes.empty()) return {};
  if (op.reduction_axes.back().extent().as_constant().value_or(0) < kRowsOfColumns) return {};
  for (const Expr& read : reads_in(op.body)) {
    std::vector<size_t> columns = columns_in(read, op.reduction_axes.back().name(), op.axes);
    if (!are_few(number_of(op.axes, columns))) continue;
    // Of each row of results it reads others.
    bool is_read_once = true, has_others = false;
    for (const Axis& axis : axes_around(op, columns)) {
      if (axis.extent() == Extent(1)) continue;
      has_others = true;
      is_read_once = is_read_once && mentions(read, axis.name());
    }
    // Of one row of one axis: sums_few_columns().
    if ((has_others || columns.size() > 1) && is_read_once) return columns;
  }
  return {};
}

bool sums_few_columns_of_each(const Op& op, const Target& target) {
  const std::vector<size_t> columns = columns_of_long_sums(op);
  return !columns.empty() && rows_of_each(op, number_of(op.axes, columns), target) > 0 &&
         !sums_up_quarters(op) && !pixels_to_sum(op, value_lanes(op, target)) &&
         step_of_windows(op) == 0 && !has_register_tiles(op) && !combines_chosen_places(op, target);
}

void derive_few_columns_of_each(const Op& op, const Target& target, Schedule* schedule) {
  const std::vector<size_t> columns = columns_of_long_sums(op);
  const std::vector<Axis> around = axes_around(op, columns);
  const int64_t count = rows_of_each(op, number_of(op.axes, columns), target);
  StageSchedule& many =
      (*schedule)[sum_whole_vectors(op, columns, count, around, target, schedule)];
  keep_in_registers(op.reduction_axes.back(), count, &many);
  if (around.empty()) return;
  StageSchedule& stage = (*schedule)[op.name];
  Axis inner = around.front();
  std::vector<size_t> last(columns.size());
  std::iota(last.begin(), last.end(), around.size());
  if (columns == last) {
    inner = share_sums(op, op, around.size(), target, std::nullopt, &stage).value_or(inner);
  } else if (wakes_threads_to_sum(op, target)) {
    parallel_from(stage, around.back(), work_of_sums(op), points_for_threads({&op}, target));
  }
  many.compute_at(op.name, inner);
}

std::vector<Axis> summed_columns(const Op& op, int64_t least_rows) {
  std::vector<Axis> found;
  if (op.combiner == Combiner::none || op.reduction_axes.size() < 2) return found;
  std::vector<Axis> all = op.axes;
  all.insert(all.end(), op.reduction_axes.begin(), op.reduction_axes.end());
  for (const Axis& rows : op.reduction_axes) {
    if (rows.extent().as_constant().value_or(least_rows) < least_rows) continue;
    for (const Expr& read : reads_in(op.body)) {
      std::vector<size_t> columns = columns_in(read, rows.name(), all);
      // Columns of the results may lie before them.
      const auto is_result = [&](size_t at) { return at < op.axes.size(); };
      if (columns.empty() || is_result(columns.back())) continue;
      columns.erase(std::remove_if(columns.begin(), columns.end(), is_result), columns.end());
      if (!are_few(number_of(all, columns))) continue;
      for (const size_t at : columns) found.push_back(all[at]);
      return found;
    }
  }
  return found;
}

Op sum_columns_apart(const Op& op, const std::vector<Axis>& columns, Schedule* schedule) {
  Op apart = op;
  for (const Axis& column : columns) {
    StageSchedule& stage = (*schedule)[apart.name];  // whose name is taken by now
    const std::string name = fresh_stage(*schedule, op.name + "_columns");
    stage.rfactor(column, name);
    apart.name = name;
    apart.axes.push_back(column);
    apart.shape.push_back(column.extent());
    std::vector<Axis>& rest = apart.reduction_axes;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(*axis_index(rest, column.name())));
  }
  return apart;
}

}  // namespace emulsion
