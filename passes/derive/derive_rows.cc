#include <algorithm>
#include <map>
#include <set>

#include "dsl/affine.h"
#include "dsl/index_arithmetic.h"
#include "passes/derive/contraction_operands.h"
#include "passes/derive/derive_series.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/graph_reads.h"
#include "passes/derive/merge_axes.h"
#include "passes/derive/prefetch_rows.h"
#include "passes/derive/row_groups.h"
#include "passes/derive/rows_at_a_time.h"
#include "passes/derive/stage_directives.h"

namespace emulsion {
namespace {

bool reads_op(const Op& reader, const Op& op) {
  const std::vector<OpPtr> read = operands(reader);
  return std::any_of(read.begin(), read.end(),
                     [&](const OpPtr& operand) { return operand.get() == &op; });
}

// Whether the reader needs it at places that what is computed inline says.
bool is_read_through(const Op& op, const RowGroup& group) {
  return std::any_of(group.members.begin(), group.members.end(), [&](const auto& member) {
    return member.is_inline && reads_op(*member.op, op) && reads_op(group.reader(), *member.op);
  });
}

// What is stored where the reader, an output, overwrites it: one buffer less is in the cache, and
// the memory of the output is waited for while there is something to compute. Null where there is
// none.
const Op* stored_in_output(const RowGroup& group, const Schedule& schedule) {
  const Op& reader = result_of(group.reader());
  if (!is_output(reader, schedule)) return nullptr;
  if (has_results(group) || sums_of(group.reader()) != nullptr) return nullptr;
  for (size_t i = 1; i < group.members.size(); ++i) {
    const RowGroup::Member& producer = group.members[i];
    const Op& op = *producer.op;
    if (producer.is_inline || producer.is_kept || is_read_through(op, group)) continue;
    if (op.dtype == reader.dtype && producer.whole_rows && reads_at_own_place(op, group.reader())) {
      return &op;
    }
  }
  return nullptr;
}

// The axes of the reader that say which row, outermost first.
std::vector<Axis> row_axes(const RowGroup& group) {
  std::vector<Axis> axes;
  for (const size_t at : group.axes()) axes.push_back(result_of(group.reader()).axes[at]);
  return axes;
}

// Its other axes.
std::vector<Axis> axes_of_row(const RowGroup& group) {
  const std::vector<Axis>& axes = result_of(group.reader()).axes;
  std::vector<Axis> others;
  for (size_t at = 0; at < axes.size(); ++at) {
    if (std::count(group.axes().begin(), group.axes().end(), at) == 0) others.push_back(axes[at]);
  }
  return others;
}

//   for n: for c: for y: for x  ->  for c: for n: for y: for x
// Of rows that c tells. What is behind it may have other loops already.
void bring_rows_outside(const RowGroup& group, StageSchedule* stage) {
  if (are_first(group.axes())) return;
  std::vector<Axis> order = row_axes(group);
  const std::vector<Axis>& axes = result_of(group.reader()).axes;
  for (size_t at = 0; at < behind_rows(group.members.front()); ++at) {
    if (std::count(group.axes().begin(), group.axes().end(), at) == 0) order.push_back(axes[at]);
  }
  std::reverse(order.begin(), order.end());
  stage->reorder(order);
}

// How many vectors of sums are added to at a time, at most, where `producer` is computed with them.
// Of a series an addition is done before the next element is there to be added, and its constants
// take so many registers that few are left for sums.
int64_t vectors_beside(const Op& producer, const Op& sums, const Target& target) {
  if (!takes_series(producer)) return kMostVectors;
  return std::max<int64_t>(value_lanes(result_of(producer), target) / value_lanes(sums, target), 1);
}

// The vectors of elements along their rows. `again`: an element may be computed twice.
// `first`: the first axis that says no row. Vectors through several pixels would go through rows.
void vectorize_rows(const Op& points, size_t first, bool again, const Target& target,
                    StageSchedule* stage) {
  const size_t along = vector_axis(points, target);
  if (along >= first) return vectorize_points(points, points.axes[along], target, stage, again);
  vectorize_row(points, points.axes.back(), value_lanes(points, target), again, target, stage);
}

// The vectors of a member along its rows, and what is computed for it inside. Returns the partial
// sums that place_sums has to place, if there are any.
SumsInLanes derive_member(const RowGroup::Member& member, bool again, bool at_once,
                          const std::map<const Op*, const Op*>& joined, const Target& target,
                          Schedule* schedule) {
  const Op& op = *member.op;
  const Op& result = result_of(op);
  const Op* sums = sums_of(op);
  inline_members(op, sums, schedule);
  if (sums != nullptr && keeps_sums_in_registers(*sums, target)) {
    derive_sums(*sums, result, target, again, schedule, behind_rows(member));
    return {};
  }
  if (sums != nullptr) {
    const auto with = joined.find(&op);
    int64_t most =
        with == joined.end() ? kMostVectors : vectors_beside(*with->second, *sums, target);
    for (const OpPtr& operand : operands(op)) {
      if (!is_inline(*schedule, result_of(*operand).name)) continue;
      most = std::min(most, vectors_beside(*operand, *sums, target));
    }
    return derive_sums_in_lanes(*sums, target, schedule, at_once, most);
  }
  if (!is_one_in_a_row(result, member.axes)) {
    StageSchedule& stage = (*schedule)[result.name];
    std::optional<MergedAxes> merged;
    if (member.whole_rows) merged = merge_last_axes(op, behind_rows(member), target);
    // Rows are no pixels that vectors could go through: one of them may be computed at a time.
    if (merged && vector_axis(merged->view, target) < behind_rows(member)) merged.reset();
    if (merged) merged->fuse(&stage);
    vectorize_rows(merged ? merged->view : result, behind_rows(member), again, target, &stage);
  }
  return {};
}

// Combines many rows of its own, of more sums than are in registers: then they are in memory, as
// they would be by themselves, and each row is read once. False when it does not.
bool combine_in_memory(const RowGroup::Member& member, const Target& target, Schedule* schedule) {
  const Op& op = *member.op;
  if (sums_of(op) != &op || !member.whole_rows) return false;
  const size_t first = behind_rows(member);
  if (!combines_many_rows(op, target, first)) return false;
  const std::optional<MergedAxes> merged = merge_result_axes(op, first, target);
  if (merged) merged->fuse(&(*schedule)[op.name]);
  combine_rows_in_memory(merged ? merged->view : op, first, target, schedule);
  return true;
}

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

// Those sums, of each of which one producer is computed in the loop.
std::map<const Op*, const Op*> joined_producers(const RowGroup& group, const Op* in_output,
                                                bool in_blocks, const Target& target) {
  std::map<const Op*, const Op*> joined;
  for (size_t i = 1; i < group.members.size(); ++i) {
    const RowGroup::Member& producer = group.members[i];
    const Op* sums = first_sums_of(producer, group, in_output, in_blocks, target);
    if (sums != nullptr) joined.emplace(sums, producer.op);
  }
  return joined;
}

// for row: alloc op: for r: op; for r: lanes += op  ->  for row: alloc op: for r: op, lanes += op
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

// `at`: the innermost loop of a member.
void place_sums(const Op& op, const Axis& at, const SumsInLanes& lanes, Schedule* schedule) {
  if (lanes.stages.empty()) return;
  const Op& result = result_of(op);
  const Op& sums = *sums_of(op);
  if (&sums == &result) {
    lanes.compute_at(result.name, at, schedule);
  } else {
    (*schedule)[sums.name].compute_at(result.name, at);
    lanes.compute_at(sums.name, sums.axes.back(), schedule);
  }
}

// What there is once in a row, of several rows at a time: vectors lie across these, which are
// `across` in its loops.
void vectorize_across_rows(const RowGroup::Member& member, const Axis& across, int64_t rows,
                           const Target& target, Schedule* schedule) {
  const Op& result = result_of(*member.op);
  if (rows <= kRowsAtATime || sums_of(*member.op) != nullptr || member.is_kept) return;
  if (!is_one_in_a_row(result, member.axes)) return;
  int64_t lanes = value_lanes(result, target);
  while (lanes > rows) lanes /= 2;
  StageSchedule& stage = (*schedule)[result.name];
  if (rows == lanes) {
    stage.vectorize(across);
  } else if (rows % lanes == 0) {
    stage.vectorize(across, lanes);
  } else {  // the last vector of them starts earlier
    const Axis lane(fresh_axis(result, "lane"));
    stage.split(across, across, lane, lanes, Tail::shift_inwards).vectorize(lane);
  }
}

// Vectors of the same columns of a small picture one after another. Those of its last columns alone
// have masks, the same all the way down.
//   for y: for x: vector  ->  for x: for y: vector
void go_down_columns(const RowGroup::Member& member, const SumsInLanes& lanes, const Target& target,
                     Schedule* schedule) {
  // Of a picture whose size is a run-time size, which is the axes from `first` on.
  const auto is_picture = [](const std::vector<Axis>& axes, size_t first) {
    return axes.size() > first + 1 && !axes.back().extent().is_constant();
  };
  const auto swap = [&](const std::vector<Axis>& axes, const std::string& name) -> StageSchedule& {
    return (*schedule)[name].reorder({axes[axes.size() - 2], axes.back()});
  };
  const Op& result = result_of(*member.op);
  const Op* sums = sums_of(*member.op);
  if (sums != nullptr) {  // whose lanes have parts
    const std::vector<Axis>& axes = sums->reduction_axes;
    if (is_picture(axes, 0) && !lanes.stages.empty()) swap(axes, lanes.stages.front());
    return;
  }
  const std::vector<Axis>& axes = result.axes;
  if (!is_picture(axes, behind_rows(member))) return;
  if (vector_axis(result, target) + 1 != axes.size()) return;
  swap(axes, result.name).partition(axes.back());
}

// In the loop over vectors of the reader: as many elements of it as that has lanes, at once.
//   for row: for v: [other's vector]; the reader's vector
void compute_with_vectors(const Op& op, const Op& reader, Schedule* schedule) {
  const Op& result = result_of(op);
  inline_members(op, nullptr, schedule);
  (*schedule)[result.name]
      .vectorize(result.axes.back())
      .compute_at(reader.name, reader.axes.back());
}

// Whether a row is the last axis, and the one before it says last which.
bool are_last_two(const RowGroup& group) {
  const size_t rank = result_of(group.reader()).axes.size();
  return rank > 1 && group.axes().back() + 2 == rank && are_first(group.axes()) &&
         !group.is_across_steps();
}

}  // namespace

void derive_rows(const RowGroup& group, const Target& target, Schedule* schedule,
                 const BlockLoops* blocks, int64_t of_short, bool in_output_memory) {
  const Op& reader = result_of(group.reader());
  StageSchedule& stage = (*schedule)[reader.name];
  const bool in_blocks = blocks != nullptr;
  const bool are_short = of_short > 0;
  const bool at_once = in_blocks || are_short;  // several rows
  for (const RowGroup::Member& member : group.members) {
    if (!member.is_inline) continue;
    inline_members(*member.op, nullptr, schedule);
    (*schedule)[result_of(*member.op).name].compute_inline();
  }
  const bool may_be_in_output = are_short
                                    ? in_output_memory && !is_one_in_a_row(reader, group.axes())
                                    : may_be_in_output_memory(group, target);
  const Op* in_output =
      !in_blocks && may_be_in_output ? stored_in_output(group, *schedule) : nullptr;
  // No element is computed twice of an output that holds something else, or that others go with.
  const std::map<const Op*, const Op*> joined = joined_producers(group, in_output, at_once, target);
  const bool by_vectors = has_results(group) && !are_results_in_rows(group, target);
  const bool again = in_output == nullptr && !by_vectors;
  const Op* stored = at_once || by_vectors ? nullptr : stored_for_series(group);
  SumsInLanes lanes;
  if (stored == nullptr) {
    lanes = derive_member(group.members.front(), again, at_once, joined, target, schedule);
  } else {
    inline_members(group.reader(), nullptr, schedule, stored);
    vectorize_rows(*stored, behind_rows(group.members.front()), true, target,
                   &(*schedule)[stored->name]);
  }
  if (are_short) go_down_columns(group.members.front(), lanes, target, schedule);
  bring_rows_outside(group, &stage);
  std::vector<Axis> loops = row_axes(group);
  std::optional<Axis> few;  // over the few rows of a step of the others
  if (group.is_across_steps()) {
    few = loops.back();
    loops.pop_back();
  }
  const bool is_little = group.are_few && loops.size() == 1;
  const bool has_threads = !in_blocks && !is_little && wakes_threads(group, target);
  const size_t shared = has_threads ? count_shared(loops, target) : 0;
  Axis row = loops.back();
  const bool in_parts = in_blocks && blocks->rows;
  Extent steps = in_parts ? Extent(*blocks->rows) : row.extent();
  if (in_blocks) stage.compute_at(blocks->reader, blocks->block);
  std::optional<RowTasks> shared_out;
  const std::vector<Extent> points = most_points(members_of(group));
  if (shared > 0) {
    shared_out = share_loops(reader, loops, shared, element_count(points), target, &stage);
    if (shared == loops.size()) {
      row = shared_out->last;
      // A loop that is an axis still may be split, where its steps are not in tasks already.
      if (shared > 1 || shared_out->steps > 1) steps = shared_out->steps;
    }
  }
  // Before the threads: what follows a condition on the sizes concerns the case in which it holds.
  const bool are_tasks = shared == loops.size() && shared_out->steps == 1;
  int64_t rows = in_parts    ? rows_of_block_at_a_time(group, *blocks->rows, target)
                 : in_blocks ? 1
                             : rows_at_a_time(group, steps, are_tasks, of_short, target);
  // What is kept of a row is computed by one task.
  const bool is_of_task =
      shared_out && shared_out->steps > 1 && (keeps_any(group) || has_results(group));
  while (is_of_task && !steps.exact_quotient(rows)) --rows;
  // Tiles of rows may reach beyond the last one of a block, which no loop over parts of it does.
  const bool is_whole_block = in_blocks && rows == blocks->rows.value_or(rows);
  const bool is_split = rows > 1 && !is_whole_block;
  // What is stored of a few rows waits in the processor's buffer, of which no vector is loaded.
  const bool lie_across = !in_blocks && rows != of_short;
  const Axis one(is_split ? Axis(fresh_axis(reader, "row")) : row);
  const bool exact = steps.exact_quotient(rows).has_value();
  // The last tile of a task would reach into the rows of the next one.
  if (!exact && shared_out && shared_out->steps > 1) in_output = nullptr;
  const bool starts_earlier = !exact && !in_blocks && !shared_out && in_output == nullptr &&
                              has_few_again(group, steps, rows);
  // Else the last rows have loops of their own, in which vectors through many rows end with them.
  const bool is_even = exact || starts_earlier || rows > kRowsAtATime;
  if (is_split) {
    stage.split(row, row, one, rows,
                exact ? Tail::automatic : (starts_earlier ? Tail::shift_inwards : Tail::guard));
    if (!exact && !starts_earlier) stage.partition(row);
    if (few) stage.reorder({one, *few});
    if (lie_across && is_even) {
      vectorize_across_rows(group.members.front(), one, rows, target, schedule);
    }
  }
  const Axis& at = few ? *few : row;  // the producers are computed
  if (stored != nullptr) {
    const Axis& last = reader.axes.back();
    const bool fills_vectors =
        last.extent().exact_quotient(value_lanes(reader, target)).has_value();
    if (is_split && is_even && !fills_vectors && are_last_two(group) &&
        lies_as_rows(*stored, group.reader())) {
      const Axis flat(fresh_axis(reader, "flat"), rows * last.extent().constant_term());
      stage.fuse(one, last, flat);
      vectorize_last(stage, flat, value_lanes(reader, target), again);
    } else {
      vectorize_rows(reader, behind_rows(group.members.front()), again, target, &stage);
    }
    (*schedule)[stored->name].compute_at(reader.name, at);
  }
  if (!in_blocks && !few) prefetch_rows(group, row, rows, target, schedule);
  if (shared_out)
    parallel_from(stage, shared_out->tasks, points, points_for_threads(members_of(group), target));
  const std::vector<Axis> of_row = axes_of_row(group);
  const Axis& inner = few && !is_split ? *few : one;
  place_sums(group.reader(), of_row.empty() ? inner : of_row.back(), lanes, schedule);
  std::map<const Op*, SumsInLanes> all_lanes = {{&group.reader(), lanes}};
  for (size_t i = 1; i < group.members.size(); ++i) {
    const RowGroup::Member& producer = group.members[i];
    const Op& op = result_of(*producer.op);
    if (producer.is_inline) continue;
    if (producer.is_kept && !is_output(op, *schedule)) (*schedule)[op.name].store_root();
    if (producer.is_with_reader && by_vectors) {
      compute_with_vectors(*producer.op, reader, schedule);
      continue;
    }
    const auto sums = std::find_if(joined.begin(), joined.end(),
                                   [&](const auto& pair) { return pair.second == producer.op; });
    SumsInLanes partial;
    if (sums != joined.end()) {
      inline_members(*producer.op, nullptr, schedule);
      compute_with_sums(op, *sums_of(*sums->first), all_lanes.at(sums->first), target, schedule);
    } else if (in_blocks && !in_parts && sums_of(*producer.op) == &op && has_lanes(op, target)) {
      inline_members(*producer.op, &op, schedule);
      derive_rows_in_lanes(op, target, schedule, false);
    } else if (lie_across && is_even && is_split && !producer.is_kept && producer.whole_rows &&
               producer.axes.size() + 1 == op.axes.size() &&
               has_flat_series(*producer.op, target)) {
      derive_flat_series(*producer.op, {rows, group.is_across_steps()}, reader.name, at, target,
                         schedule);
    } else if (!combine_in_memory(producer, target, schedule)) {
      partial = derive_member(producer, producer.whole_rows, at_once, joined, target, schedule);
      if (are_short) go_down_columns(producer, partial, target, schedule);
      all_lanes.emplace(producer.op, partial);
    }
    if (lie_across) {
      vectorize_across_rows(producer, op.axes[producer.axes[group.at_a_time()]], rows, target,
                            schedule);
    }
    if (is_whole_block) {
      (*schedule)[op.name].compute_at(blocks->reader, blocks->block);
    } else {
      (*schedule)[op.name].compute_at(reader.name, at);
    }
    if (producer.op == in_output) (*schedule)[op.name].store_in_output(reader.name);
    place_sums(*producer.op, op.axes.back(), partial, schedule);
  }
}

}  // namespace emulsion
