// Sums in lanes along the last reduction axis, and what makes one sum of them.

#include <algorithm>
#include <cstdint>
#include <optional>

#include "dsl/error.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/merge_axes.h"

namespace emulsion {
namespace {

// How many vectors of lanes are added to at a time, so that one addition need not wait for another:
// as many as go into the extent without a rest, if any do. Of a run-time length that is walked
// again and again fewer, so that less of a short one is masked.
int64_t vectors_under_way(const Op& op, int64_t lanes, bool in_blocks) {
  const std::optional<int64_t> extent = op.reduction_axes.back().extent().as_constant();
  if (!extent) {
    const int64_t few = columns_at_a_time(op.dtype) / lanes;
    const bool is_short = in_blocks || op.reduction_axes.size() > 1;
    return is_short ? std::clamp<int64_t>(few, 1, kMostVectors) : kMostVectors;
  }
  for (int64_t count = kMostVectors; count > 1; --count) {
    if (*extent % (count * lanes) == 0) return count;
  }
  return std::clamp<int64_t>(*extent / lanes, 1, kMostVectors);
}

// How many steps of the axis outside the last one are summed side by side, a line of lanes each: of
// one vector each addition would wait for the one before. Of two axes of which the last is a
// run-time size, as the rows and columns of a picture, adding up the lines would take as long as a
// small picture. Of a short one that is a number as many of many rows make up for it.
int64_t rows_under_way(const Op& op, int64_t vectors, bool in_blocks, int64_t most_vectors) {
  constexpr size_t kLeastAxes = 3;
  constexpr int64_t kMostRows = 2, kManyRows = 64;
  const std::vector<Axis>& axes = op.reduction_axes;
  if (in_blocks || axes.size() < 2) return 1;
  const std::optional<int64_t> outer = axes[axes.size() - 2].extent().as_constant();
  if (axes.back().extent().is_constant()) {
    return outer.value_or(0) < kManyRows ? 1 : std::max<int64_t>(1, most_vectors / vectors);
  }
  if (axes.size() < kLeastAxes) return 1;
  const int64_t rows = std::min(kMostRows, most_vectors / vectors);
  return outer.value_or(rows) < rows ? 1 : rows;
}

// Of a row that is shorter than a vector there are shorter vectors.
int64_t lanes_of_sums(const Op& op, const Target& target) {
  int64_t lanes = value_lanes(op, target);
  while (op.reduction_axes.back().extent().as_constant().value_or(lanes) < lanes) lanes /= 2;
  return lanes;
}

// Partial sums of `rows` steps of the axis outside the last one, which are then added up:
//   s = sum({r, c}, e)  ->  rows[lane, row] += e; lanes[lane] = sum(row, rows); s = sum(lane, ..)
// Only the last steps have masks. Adds the names of the stages.
void reduce_rows_in_lanes(const Op& op, int64_t rows, const Axis& lane, int64_t step, int64_t lanes,
                          Schedule* schedule, std::vector<std::string>* stages) {
  const std::vector<Axis>& axes = op.reduction_axes;
  const Axis &last = axes.back(), &outer = axes[axes.size() - 2], row(fresh_axis(op, "row"));
  const std::string all = fresh_stage(*schedule, op.name + "_lanes");
  (*schedule)[op.name]
      .split(outer, outer, row, rows)
      .split(last, last, lane, step)
      .rfactor(lane, all);
  const std::string of_rows = fresh_stage(*schedule, op.name + "_rows");
  (*schedule)[all].rfactor(row, of_rows).reorder({lane, row});
  std::vector<Axis> order = {lane, row};
  order.insert(order.end(), axes.rbegin(), axes.rend());
  std::vector<Axis> storage = {lane, row};
  storage.insert(storage.end(), op.axes.rbegin(), op.axes.rend());
  (*schedule)[of_rows].reorder(order).reorder_storage(storage);
  if (!last.extent().exact_quotient(step)) (*schedule)[of_rows].partition(last);
  (*schedule)[of_rows].store_in(Memory::registers);
  if (!outer.extent().exact_quotient(rows)) (*schedule)[of_rows].partition(outer);
  for (const std::string& name : {all, of_rows}) {
    StageSchedule& stage = (*schedule)[name];
    if (step > lanes) {
      stage.vectorize(lane, lanes).unroll(lane);
    } else {
      stage.vectorize(lane);
    }
    stage.unroll(row);
  }
  *stages = {of_rows, all};
}

}  // namespace

Op with_merged_reduction(const Op& op, const Target& target) {
  const std::optional<MergedAxes> merged = merge_reduction_axes(op, target);
  return merged ? merged->view : op;
}

bool has_sums_in_lanes(const Op& op_as_is, const Target& target) {
  constexpr int64_t kShortest = 8;
  const Op op = with_merged_reduction(op_as_is, target);
  const Axis& last = op.reduction_axes.back();
  const int64_t least = std::min(kShortest, 2 * value_lanes(op, target));
  return last.extent().as_constant().value_or(least) >= least &&
         is_contiguous_in_a_read(op, last.name(), true);
}

int64_t sums_under_way(const Op& op_as_is, const Target& target, bool in_blocks,
                       int64_t most_vectors) {
  const Op op = with_merged_reduction(op_as_is, target);
  const int64_t lanes = lanes_of_sums(op, target);
  return lanes * std::min(most_vectors, vectors_under_way(op, lanes, in_blocks));
}

SumsInLanes derive_sums_in_lanes(const Op& op_as_is, const Target& target, Schedule* schedule,
                                 bool in_blocks, int64_t most_vectors) {
  constexpr int64_t kFewLanes = 4;  // are added up one by one
  const std::optional<MergedAxes> merged = merge_reduction_axes(op_as_is, target);
  if (merged) merged->fuse(&(*schedule)[op_as_is.name]);
  const Op& op = merged ? merged->view : op_as_is;
  const int64_t lanes = lanes_of_sums(op, target);
  int64_t count = sums_under_way(op, target, in_blocks, most_vectors);
  SumsInLanes made{{}, count};
  Axis lane(fresh_axis(op, "lane"));
  const int64_t rows = rows_under_way(op, count / lanes, in_blocks, most_vectors);
  if (rows > 1) {
    reduce_rows_in_lanes(op, rows, lane, count, lanes, schedule, &made.stages);
  } else {
    made.stages.push_back(fresh_stage(*schedule, op.name + "_lanes"));
    reduce_in_lanes(*schedule, op.name, op.reduction_axes, lane, lanes, made.stages.back(),
                    count / lanes);
    // Only the last step has masks; of merged axes no other step has indices that are clamped.
    const Extent& extent = op.reduction_axes.back().extent();
    if (!extent.is_constant() || (merged && !extent.exact_quotient(count))) {
      (*schedule)[made.stages.back()]
          .partition(op.reduction_axes.back())
          .store_in(Memory::registers);
    }
  }
  // What takes a part of a vector out of a register that a loop adds to has LLVM compute that part
  // by itself, once more, in every step. Where that is much, the first to read takes whole vectors.
  bool takes_parts = count == lanes && (rows > 1 || most_vectors == kMostVectors);
  while (count > kFewLanes) {
    count = takes_parts ? std::max<int64_t>(count / kFewLanes, 2) : lanes;
    takes_parts = true;
    const Axis part(fresh_axis(op, fmt::format("lane{}", count)));
    made.stages.push_back(fresh_stage(*schedule, fmt::format("{}_lanes{}", op.name, count)));
    combine_lanes(*schedule, op.name, lane, part, count, made.stages.back());
    lane = part;
  }
  (*schedule)[op.name].unroll(lane);
  return made;
}

void SumsInLanes::compute_at(const std::string& consumer, const Axis& at,
                             Schedule* schedule) const {
  for (const std::string& stage : stages) (*schedule)[stage].compute_at(consumer, at);
}

}  // namespace emulsion
