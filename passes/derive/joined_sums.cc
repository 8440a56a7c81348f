#include "passes/derive/joined_sums.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dsl/affine.h"
#include "passes/derive/graph_reads.h"
#include "passes/derive/rows_at_a_time.h"
#include "passes/derive/stage_directives.h"

namespace emulsion {
namespace {

// The members that need a value of one of them.
std::set<const Op*> members_that_need(const Op& op, const RowGroup& group) {
  std::set<const Op*> found = {&op};
  const std::vector<const Op*> members = members_of(group);  // each behind all that read it
  for (auto member = members.rbegin(); member != members.rend(); ++member) {
    const bool any = std::any_of(found.begin(), found.end(),
                                 [&](const Op* needed) { return reads_op(**member, *needed); });
    if (any) found.insert(*member);
  }
  return found;
}

// Whether all that the sums read of a row of `op` is at their own place in it.
bool sums_up_rows_of(const Op& op, const Op& sums, size_t rows) {
  bool any = false, all = true;
  visit(sums.body, [&](const Expr& e) {
    if (e->op != ExprOp::read || e->tensor.get() != &op) return;  // a group goes by its own name
    any = true;
    for (size_t i = 0; i < e->args.size(); ++i) {
      const Axis& axis = i < rows ? sums.axes[i] : sums.reduction_axes.back();
      const std::optional<Affine> index = affine_of(e->args[i]);
      all = all && index && is_axis(*index, axis);
    }
  });
  return any && all;
}

// Whether the sums of a member have lanes along its rows.
bool has_lanes(const Op& member, const Target& target) {
  const Op* sums = sums_of(member);
  return sums != nullptr && !keeps_sums_in_registers(*sums, target);
}

// Whether a row does not stay in the first cache until it is walked again. What does is walked
// again for little, and short rows have more edges.
bool is_long_row(const Op& op, size_t rows, const Target& target) {
  const std::optional<int64_t> elements = elements_from(op, rows);
  return elements && *elements * size_in_bytes(op.dtype) > target.l1_bytes / 2;
}

// The sums of a group that a row of `producer` can be computed in the loop of, a step ahead, so
// that the row is walked once less: they are the first that read it. Null where there are none.
const Op* first_sums_of(const RowGroup::Member& producer, const RowGroup& group,
                        const Op* in_output, bool in_blocks, const Target& target) {
  const Op& op = result_of(*producer.op);
  // What is read of the memory of an output is to be read before that is computed.
  if (in_output != nullptr && reads_op(*producer.op, *in_output)) return nullptr;
  if (producer.is_inline || producer.is_kept || producer.is_with_reader) return nullptr;
  if (!producer.whole_rows) return nullptr;
  if (sums_of(*producer.op) != nullptr) return nullptr;
  const size_t rows = group.axes().size();
  if (!are_first(group)) return nullptr;
  if (!is_long_row(op, rows, target) && (in_blocks || !is_one_at_a_time(group, target))) {
    return nullptr;
  }
  if (op.axes.size() != rows + 1 || vector_axis(op, target) != rows) return nullptr;
  const Op* first = nullptr;
  std::vector<const Op*> readers;
  for (const Op* member : members_of(group)) {
    if (!reads_op(*member, *producer.op)) continue;
    readers.push_back(member);
    if (!has_lanes(*member, target)) continue;
    const Op& sums = *sums_of(*member);
    const bool along = sums.reduction_axes.size() == 1 && is_one_in_a_row(sums, group.axes()) &&
                       sums.reduction_axes.back().extent() == op.shape.back();
    if (along && sums_up_rows_of(*producer.op, sums, rows)) first = member;
  }
  if (first == nullptr) return nullptr;
  const Op& sums = *sums_of(*first);
  const int64_t step =
      sums_under_way(sums, target, in_blocks, vectors_beside(*producer.op, sums, target));
  if (step % value_lanes(op, target) != 0) return nullptr;
  const std::string& loop = sums.reduction_axes.back().name();
  for (size_t i = 0; i < rows; ++i) {
    if (op.axes[i].name() == loop) return nullptr;
  }
  const std::set<const Op*> later = members_that_need(*first, group);
  const bool is_first = std::all_of(readers.begin(), readers.end(),
                                    [&](const Op* reader) { return later.count(reader) > 0; });
  return is_first ? first : nullptr;
}

}  // namespace

int64_t vectors_beside(const Op& producer, const Op& sums, const Target& target) {
  if (!takes_series(producer)) return kMostVectors;
  return std::max<int64_t>(value_lanes(result_of(producer), target) / value_lanes(sums, target), 1);
}

JoinedSums joined_sums(const RowGroup& group, const Op* in_output, bool in_blocks,
                       const Target& target) {
  JoinedSums joined;
  for (size_t i = 1; i < group.members.size(); ++i) {
    const RowGroup::Member& producer = group.members[i];
    const Op* sums = first_sums_of(producer, group, in_output, in_blocks, target);
    if (sums != nullptr) joined.emplace(sums, producer.op);
  }
  return joined;
}

void compute_with_sums(const Op& op, const Op& sums, const SumsInLanes& lanes, const Target& target,
                       Schedule* schedule) {
  const Axis &last = op.axes.back(), &loop = sums.reduction_axes.back();
  const Axis inner(fresh_axis(op, last.name() + "_v"));
  const bool exact = last.extent().exact_quotient(lanes.step).has_value();
  StageSchedule& stage = (*schedule)[op.name];
  stage.split(last, loop, inner, lanes.step, exact ? Tail::automatic : Tail::predicate);
  const int64_t of_vector = value_lanes(op, target);
  if (lanes.step > of_vector) {
    stage.vectorize(inner, of_vector).unroll(inner);
  } else {
    stage.vectorize(inner);
  }
  StageSchedule& sum = (*schedule)[lanes.stages.front()];
  // What the sums have besides the rows are axes of one step, of which the row has no loop.
  std::vector<Axis> order(sums.axes.begin() + static_cast<std::ptrdiff_t>(op.axes.size() - 1),
                          sums.axes.end());
  if (!order.empty()) {
    order.push_back(loop);
    sum.reorder(order);
  }
  sum.compute_with(op.name, loop);
  if (!exact) sum.partition(loop);  // of a number of steps, which has none of its own
}

}  // namespace emulsion
