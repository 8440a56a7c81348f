#include "passes/derive/derive_few_columns.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "passes/derive/derive_stage.h"
#include "passes/derive/window_sums.h"

namespace emulsion {
namespace {

constexpr int64_t kUnderWay = 4;  // vectors that are added to

int64_t vectors_of_row(const Op& op, const Target& target) {
  const int64_t lanes = value_lanes(op, target);
  return (op.axes.back().extent().as_constant().value_or(0) + lanes - 1) / lanes;
}

// How many rows are a few whole vectors, as they lie in memory; 0 where each row is whole vectors,
// or where it takes more rows than there are, or too many vectors.
int64_t rows_in_vectors(const Op& op, const Target& target) {
  constexpr int64_t kMostVectors = 8;
  const int64_t lanes = value_lanes(op, target), columns = op.axes.back().extent().constant_term();
  const int64_t least = std::lcm(lanes, columns);
  if (columns % lanes == 0 || least > kMostVectors * lanes) return 0;
  const int64_t some = (kUnderWay * lanes + least - 1) / least * least / columns;
  const int64_t all = op.reduction_axes.back().extent().as_constant().value_or(some);
  if (some <= all) return some;
  return least / columns <= all ? least / columns : 0;
}

}  // namespace

bool sums_few_columns(const Op& op, const Target& target) {
  constexpr int64_t kLeastColumns = 2, kManyRows = 16;
  constexpr int64_t kMostVectors = 4, kFewVectors = 3;  // full ones
  if (op.combiner == Combiner::none || op.axes.empty()) return false;
  const Axis &rows = op.reduction_axes.back(), &last = op.axes.back();
  if (element_count(op.shape) != last.extent().as_constant()) return false;
  if (rows.extent().as_constant().value_or(kManyRows) < kManyRows) return false;
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
  const Axis row(fresh_axis(op, "row"));
  const int64_t flat = rows_in_vectors(op, target);
  const int64_t count =
      flat > 0 ? flat : std::max<int64_t>(kUnderWay / vectors_of_row(op, target), 2);
  const std::string of_rows = fresh_stage(*schedule, op.name + "_rows");
  StageSchedule& stage = (*schedule)[op.name];
  stage.split(rows, rows, row, count).rfactor(row, of_rows);
  stage.reorder({last, row}).vectorize(last).unroll(row);
  std::vector<Axis> order = {last, row};
  order.insert(order.end(), op.reduction_axes.rbegin(), op.reduction_axes.rend());
  std::vector<Axis> storage = {last, row};
  storage.insert(storage.end(), op.axes.rbegin() + 1, op.axes.rend());
  StageSchedule& many = (*schedule)[of_rows];
  many.reorder(order).reorder_storage(storage);
  if (flat > 0) {
    const Axis lane(fresh_axis(op, "lane"), flat * last.extent().constant_term());
    many.fuse(row, last, lane).vectorize(lane, value_lanes(op, target)).unroll(lane);
  } else {
    many.vectorize(last).unroll(row);
  }
  if (!rows.extent().exact_quotient(count)) many.partition(rows);
  many.store_in(Memory::registers);
  return of_rows;
}

}  // namespace emulsion
