#include <algorithm>
#include <optional>

#include "passes/derive/column_groups.h"
#include "passes/derive/contraction_operands.h"
#include "passes/derive/derive_stage.h"
#include "passes/fuse/fused_group.h"

namespace emulsion {
namespace {

// The loops of a member that are not shared, innermost first.
std::vector<Axis> own_loops(const ColumnGroup::Member& member) {
  const std::vector<Axis>& axes = result_of(*member.op).axes;
  std::vector<Axis> loops;
  for (size_t at = axes.size(); at-- > 0;) {
    if (std::count(member.axes.begin(), member.axes.end(), at) == 0) loops.push_back(axes[at]);
  }
  return loops;
}

// The longest vectors that a block is made of.
int64_t lanes_in_block(const Op& op, int64_t columns, const Target& target) {
  int64_t lanes = value_lanes(op, target);
  while (columns % lanes != 0) lanes /= 2;
  return lanes;
}

// Vectors along the columns of a block.
void vectorize_block(const Op& op, const Axis& axis, int64_t columns, const Target& target,
                     StageSchedule* stage) {
  const int64_t lanes = lanes_in_block(op, columns, target);
  if (columns > lanes) {
    stage->vectorize(axis, lanes);
  } else {
    stage->vectorize(axis);
  }
}

// The sums of a member, in registers, inside loop `at` of its result:
//   alloc sums: [start values]; for k: unrolled vectors of the block: sums += ...
// Of few rows all are loaded at once, unrolled: the next ones need not wait for those before.
void sum_block(const std::string& name, const Op& sums, const Op& result, const Axis& at,
               int64_t columns, const Target& target, Schedule* schedule) {
  std::vector<Axis> order = {sums.axes.back()};
  order.insert(order.end(), sums.reduction_axes.rbegin(), sums.reduction_axes.rend());
  StageSchedule& stage = (*schedule)[name];
  stage.compute_at(result.name, at).reorder(order);
  vectorize_block(sums, sums.axes.back(), columns, target, &stage);
  if (columns > lanes_in_block(sums, columns, target)) stage.unroll(sums.axes.back());
  if (!has_few_steps(sums)) return;
  for (const Axis& axis : sums.reduction_axes) {
    if (axis.extent() != Extent(1)) stage.unroll(axis);
  }
}

// A block of a member that others read.
void derive_producer(const ColumnGroup::Member& member, int64_t columns, const Target& target,
                     Schedule* schedule) {
  const Op& result = result_of(*member.op);
  const Op* sums = sums_of(*member.op);
  inline_members(*member.op, sums, schedule);
  const std::string acc = sums == nullptr ? "" : accumulator_of(*sums, result, schedule);
  StageSchedule& stage = (*schedule)[result.name];
  Axis vectors = result.axes.back();
  std::vector<Axis> own = own_loops(member);
  if (sums != nullptr && own.empty()) {  // a loop of one step, for the sums to stand in
    const Axis all(fresh_axis(result, "block"));
    vectors = Axis(fresh_axis(result, "lane"));
    stage.split(result.axes.back(), all, vectors, columns);
    own = {all};
  }
  vectorize_block(result, vectors, columns, target, &stage);
  if (sums != nullptr) sum_block(acc, *sums, result, own.front(), columns, target, schedule);
}

}  // namespace

void derive_columns(const ColumnGroup& group, const Target& target, Schedule* schedule) {
  const int64_t columns = columns_of_block(group, target).value();
  const ColumnGroup::Member& last = group.members.front();
  const Op& reader = result_of(*last.op);
  const Op* sums = sums_of(*last.op);
  const Axis& axis = reader.axes.back();
  const std::optional<int64_t> all = axis.extent().as_constant();
  const bool exact = axis.extent().exact_quotient(columns).has_value();
  const Axis lane(fresh_axis(reader, "lane"));
  const Axis block(fresh_axis(reader, "block"),
                   all ? Extent((*all + columns - 1) / columns) : axis.extent());
  // The operations are pure: the last block of a number of columns overlaps the one before.
  const Tail tail = exact ? Tail::automatic : (all ? Tail::shift_inwards : Tail::predicate);
  std::vector<Axis> shared, order = {lane};
  for (const size_t at : last.axes) {
    if (at != last.axes.back()) shared.push_back(reader.axes[at]);
  }
  const std::vector<Axis> own = own_loops(last);
  order.insert(order.end(), own.begin(), own.end());
  order.push_back(block);
  order.insert(order.end(), shared.rbegin(), shared.rend());
  shared.push_back(block);

  inline_members(*last.op, sums, schedule);
  const std::string acc = sums == nullptr ? "" : accumulator_of(*sums, reader, schedule);
  StageSchedule& stage = (*schedule)[reader.name];
  stage.split(axis, block, lane, columns, tail).reorder(order);
  vectorize_block(reader, lane, columns, target, &stage);
  Axis around = block;
  const std::vector<const Op*> members = members_of(group);
  const int64_t least = points_for_threads(group, target);
  const std::vector<Extent> points = most_points(members);
  const bool has_threads = wakes_threads_from(points, least, target);
  const size_t count = has_threads ? count_shared(shared, target) : 0;
  // A loop that is cut is not fused with others: threads share it inside of these.
  const bool is_cut = !exact && !all;
  if (is_cut) stage.partition(block);
  if (is_cut && count == shared.size()) {
    parallel_from(stage, block, points, least);
  } else if (count > 0) {
    const Axis tasks = fuse_leading(reader, shared, count, &stage);
    if (count == shared.size()) around = tasks;
    parallel_from(stage, tasks, points, least);
  }
  if (sums != nullptr) {
    sum_block(acc, *sums, reader, own.empty() ? around : own.front(), columns, target, schedule);
  }
  for (size_t i = 1; i < group.members.size(); ++i) {
    const Op& op = *group.members[i].op;
    if (group.members[i].is_inline) {
      inline_members(op, nullptr, schedule);
      (*schedule)[op.name].compute_inline();
      continue;
    }
    derive_producer(group.members[i], columns, target, schedule);
    (*schedule)[op.name].compute_at(reader.name, around);
  }
}

}  // namespace emulsion
