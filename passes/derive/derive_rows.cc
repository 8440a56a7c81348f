#include <algorithm>
#include <map>
#include <set>

#include "dsl/affine.h"
#include "passes/derive/contraction_operands.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/graph_reads.h"
#include "passes/derive/merge_axes.h"
#include "passes/derive/row_groups.h"
#include "passes/index/index_arithmetic.h"

namespace emulsion {

bool is_one_in_a_row(const Op& op, size_t rows) { return elements_from(op, rows) == 1; }

namespace {

// Whether vectors go along the rows, and not across them: what has one element needs none.
bool has_vectors_in_rows(const Op& op, size_t rows, const Target& target) {
  const Op& result = result_of(op);
  const Op* sums = sums_of(op);
  const bool is_one = is_one_in_a_row(result, rows);
  const bool along = is_one || vector_axis(result, target) >= rows;
  if (sums == nullptr) return along && (is_one || !crosses(result, target));
  if (!keeps_sums_in_registers(*sums, target)) return has_sums_in_lanes(*sums, target);
  return along && vector_axis(*sums, target) >= rows && sums->axes.size() > rows;
}

// Several rows at a time hide a latency: while the last lanes of one row are combined, those of the
// next row are summed.
constexpr int64_t kRowsAtATime = 4;

// How many rows fit the L1 cache, with all that is read and computed of them, and at least one;
// nothing where a run-time size decides.
std::optional<int64_t> rows_in_cache(const RowGroup& group, const Target& target) {
  int64_t bytes = 0, most = 0;
  for (const Op* op : members_of(group)) {
    const std::optional<int64_t> elements = elements_from(*op, group.rows);
    if (!elements) return std::nullopt;
    const int64_t of_member = *elements * size_in_bytes(op->dtype);
    bytes += of_member;
    most = std::max(most, of_member);
  }
  bytes += most;  // of what comes from outside
  return std::max<int64_t>(target.l1_bytes / std::max<int64_t>(bytes, 1), 1);
}

// The largest number up to `most` that divides `all`.
int64_t rows_that_divide(int64_t all, int64_t most) {
  int64_t rows = std::min(most, all);
  while (rows > 1 && all % rows != 0) --rows;
  return std::max<int64_t>(rows, 1);
}

// How many rows of a loop are computed at a time. Where these are the tasks of threads, all cores
// get several. Of a number of rows that this does not divide, the last ones are computed one by
// one.
int64_t rows_at_a_time(const RowGroup& group, const Extent& all, bool are_tasks, bool are_short,
                       const Target& target) {
  constexpr int64_t kTasksOfCore = 2;
  const int64_t in_cache = rows_in_cache(group, target).value_or(are_short ? kRowsAtATime : 1);
  int64_t most = std::min(in_cache, kRowsAtATime);
  std::optional<int64_t> least = all.as_constant();
  if (!least) {  // from how many on there are threads
    std::vector<Extent> row = most_points(members_of(group));
    row.erase(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(group.rows));
    const std::optional<int64_t> points = element_count(row);
    if (points) least = points_for_threads(members_of(group)) / std::max<int64_t>(*points, 1);
  }
  if (are_tasks && least) {
    most = std::clamp<int64_t>(*least / (kTasksOfCore * target.cores), 1, most);
  }
  if (!all.is_constant()) return most;
  const int64_t exact = rows_that_divide(all.constant_term(), most);
  return exact > 1 || all.constant_term() < 2 * most ? exact : most;
}

// The same of the rows of a block, whose parts have no rows left over.
int64_t rows_of_block_at_a_time(const RowGroup& group, int64_t block, const Target& target) {
  const int64_t in_cache = rows_in_cache(group, target).value_or(kRowsAtATime);
  return rows_that_divide(block, std::min(in_cache, 2 * kRowsAtATime));
}

// What is stored where the reader, an output, overwrites it: of long rows, which are computed one
// at a time, one buffer less is in the cache. Null where there is none.
const Op* stored_in_output(const RowGroup& group, const Schedule& schedule, const Target& target) {
  const Op& reader = result_of(*group.reader);
  const OpPtr* output = schedule.graph().find(reader.name);
  if (output == nullptr || !schedule.graph().is_output(**output)) return nullptr;
  if (sums_of(*group.reader) != nullptr || rows_in_cache(group, target).value_or(1) > 1) {
    return nullptr;
  }
  for (const RowGroup::Producer& producer : group.producers) {
    const Op& op = *producer.op;
    if (op.dtype == reader.dtype && producer.whole_rows && reads_at_own_place(op, *group.reader)) {
      return &op;
    }
  }
  return nullptr;
}

std::vector<Axis> row_axes(const RowGroup& group) {
  const Op& reader = result_of(*group.reader);
  return {reader.axes.begin(), reader.axes.begin() + static_cast<std::ptrdiff_t>(group.rows)};
}

// Whether an element takes so many instructions that an addition is done before the next one is
// there to be added, and so many constants in registers that few are left for sums.
bool computes_much(const Op& op) {
  const auto is_series = [](const Expr& e) {
    return e->op == ExprOp::exp || e->op == ExprOp::log || e->op == ExprOp::tanh ||
           e->op == ExprOp::erf || e->op == ExprOp::pow;
  };
  if (op.body.defined() && any_part(op.body, is_series)) return true;
  return std::any_of(op.members.begin(), op.members.end(),
                     [](const OpPtr& member) { return computes_much(*member); });
}

// How many vectors of sums are added to at a time, at most, where `producer` is computed with them.
int64_t vectors_beside(const Op& producer, const Op& sums, const Target& target) {
  if (!computes_much(producer)) return kMostVectors;
  return std::max<int64_t>(value_lanes(result_of(producer), target) / value_lanes(sums, target), 1);
}

// The vectors of a member along its rows, and what is computed for it inside. Returns the partial
// sums that place_sums has to place, if there are any.
SumsInLanes derive_member(const Op& op, size_t rows, bool whole_rows, bool at_once,
                          const std::map<const Op*, const Op*>& joined, const Target& target,
                          Schedule* schedule) {
  const Op& result = result_of(op);
  const Op* sums = sums_of(op);
  inline_members(op, sums, schedule);
  if (sums != nullptr && keeps_sums_in_registers(*sums, target)) {
    derive_sums(*sums, result, target, whole_rows, schedule);
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
  if (!is_one_in_a_row(result, rows)) {
    StageSchedule& stage = (*schedule)[result.name];
    const std::optional<MergedAxes> merged =
        whole_rows ? merge_last_axes(op, rows, target) : std::nullopt;
    if (merged) merged->fuse(&stage);
    const Op& points = merged ? merged->view : result;
    vectorize_points(points, points.axes[vector_axis(points, target)], target, &stage, whole_rows);
  }
  return {};
}

bool reads_op(const Op& reader, const Op& op) {
  const std::vector<OpPtr> read = operands(reader);
  return std::any_of(read.begin(), read.end(),
                     [&](const OpPtr& operand) { return operand.get() == &op; });
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

}  // namespace

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

bool has_lanes(const Op& member, const Target& target) {
  const Op* sums = sums_of(member);
  return sums != nullptr && !keeps_sums_in_registers(*sums, target);
}

namespace {

// Whether a row does not stay in the first cache until it is walked again. What does is walked
// again for little, and short rows have more edges.
bool is_long_row(const Op& op, size_t rows, const Target& target) {
  const std::optional<int64_t> elements = elements_from(op, rows);
  return elements && *elements * size_in_bytes(op.dtype) > target.l1_bytes / 2;
}

// The sums of a group that a row of `producer` can be computed in the loop of, a step ahead, so
// that the row is walked once less: they are the first that read it. Null where there are none.
const Op* first_sums_of(const RowGroup::Producer& producer, const RowGroup& group,
                        const Op* in_output, bool in_blocks, const Target& target) {
  const Op& op = result_of(*producer.op);
  // What is read of the memory of an output is to be read before that is computed.
  if (in_output != nullptr && reads_op(*producer.op, *in_output)) return nullptr;
  if (!producer.whole_rows || sums_of(*producer.op) != nullptr) return nullptr;
  if (!is_long_row(op, group.rows, target)) return nullptr;
  if (op.axes.size() != group.rows + 1 || vector_axis(op, target) != group.rows) return nullptr;
  const Op* first = nullptr;
  std::vector<const Op*> readers;
  for (const Op* member : members_of(group)) {
    if (!reads_op(*member, *producer.op)) continue;
    readers.push_back(member);
    if (!has_lanes(*member, target)) continue;
    const Op& sums = *sums_of(*member);
    const bool along = sums.reduction_axes.size() == 1 && is_one_in_a_row(sums, group.rows) &&
                       sums.reduction_axes.back().extent() == op.shape.back();
    if (along && sums_up_rows_of(*producer.op, sums, group.rows)) first = member;
  }
  if (first == nullptr) return nullptr;
  const Op& sums = *sums_of(*first);
  const int64_t step =
      sums_under_way(sums, target, in_blocks, vectors_beside(*producer.op, sums, target));
  if (step % value_lanes(op, target) != 0) return nullptr;
  const std::string& loop = sums.reduction_axes.back().name();
  for (size_t i = 0; i < group.rows; ++i) {
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
  for (const RowGroup::Producer& producer : group.producers) {
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

// `row`: the innermost of the loops of a member that say which row.
void place_sums(const Op& op, size_t rows, const Axis& row, const SumsInLanes& lanes,
                Schedule* schedule) {
  if (lanes.stages.empty()) return;
  const Op& result = result_of(op);
  const Op& sums = *sums_of(op);
  const Axis& at = result.axes.size() == rows ? row : result.axes.back();
  if (&sums == &result) {
    lanes.compute_at(result.name, at, schedule);
  } else {
    (*schedule)[sums.name].compute_at(result.name, at);
    lanes.compute_at(sums.name, sums.axes.back(), schedule);
  }
}

}  // namespace

bool pays_to_group(const RowGroup& group, const Target& target) {
  for (const Op* op : members_of(group)) {
    if (!has_vectors_in_rows(*op, group.rows, target)) return false;
  }
  if (!wakes_threads(members_of(group), target)) return true;
  const Shape rows(group.reader->shape.begin(),
                   group.reader->shape.begin() + static_cast<std::ptrdiff_t>(group.rows));
  const int64_t least = int64_t{2} * target.cores;
  return element_count(rows).value_or(least) >= least;
}

void derive_rows(const RowGroup& all, const Target& target, Schedule* schedule,
                 const BlockLoops* blocks, bool are_short) {
  const RowGroup group = inline_rows(all, target, schedule);
  const Op& reader = result_of(*group.reader);
  StageSchedule& stage = (*schedule)[reader.name];
  const bool in_blocks = blocks != nullptr;
  const bool at_once = in_blocks || are_short;  // several rows
  const Op* in_output = at_once ? nullptr : stored_in_output(group, *schedule, target);
  // No element of an output that holds something else is computed twice.
  const std::map<const Op*, const Op*> joined = joined_producers(group, in_output, at_once, target);
  const SumsInLanes lanes = derive_member(*group.reader, group.rows, in_output == nullptr, at_once,
                                          joined, target, schedule);
  const std::vector<Axis> loops = row_axes(group);
  const bool has_threads = !in_blocks && wakes_threads(members_of(group), target);
  const size_t shared = has_threads ? count_shared(loops, target) : 0;
  Axis row = loops.back();
  Extent steps = in_blocks ? Extent(blocks->rows) : row.extent();
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
  const int64_t rows = in_blocks ? rows_of_block_at_a_time(group, blocks->rows, target)
                                 : rows_at_a_time(group, steps, are_tasks, are_short, target);
  const Axis one(rows == 1 ? row : Axis(fresh_axis(reader, "row")));
  if (rows > 1) {
    const bool exact = steps.exact_quotient(rows).has_value();
    stage.split(row, row, one, rows, exact ? Tail::automatic : Tail::guard);
    if (!exact) stage.partition(row);
  }
  if (shared_out)
    parallel_from(stage, shared_out->tasks, points, points_for_threads(members_of(group)));
  place_sums(*group.reader, group.rows, one, lanes, schedule);
  std::map<const Op*, SumsInLanes> all_lanes = {{group.reader, lanes}};
  for (const RowGroup::Producer& producer : group.producers) {
    const Op& op = result_of(*producer.op);
    const auto sums = std::find_if(joined.begin(), joined.end(),
                                   [&](const auto& pair) { return pair.second == producer.op; });
    SumsInLanes partial;
    if (sums != joined.end()) {
      inline_members(*producer.op, nullptr, schedule);
      compute_with_sums(op, *sums_of(*sums->first), all_lanes.at(sums->first), target, schedule);
    } else {
      partial = derive_member(*producer.op, group.rows, producer.whole_rows, at_once, joined,
                              target, schedule);
      all_lanes.emplace(producer.op, partial);
    }
    (*schedule)[op.name].compute_at(reader.name, row);
    if (producer.op == in_output) (*schedule)[op.name].store_in_output(reader.name);
    place_sums(*producer.op, group.rows, op.axes[group.rows - 1], partial, schedule);
  }
}

namespace {

// Of a tile of rows: vectors across them, the elements of each row one after another.
void derive_across_rows(const Op& op, size_t rows, const std::string& name, Schedule* schedule) {
  const Axis& row = op.axes[rows - 1];
  std::vector<Axis> order = {row}, storage = {row};
  order.insert(order.end(), op.reduction_axes.rbegin(), op.reduction_axes.rend());
  for (size_t i = op.axes.size(); i-- > 0;) {
    if (i != rows - 1) storage.push_back(op.axes[i]);
  }
  order.insert(order.end(), storage.begin() + 1, storage.end());
  StageSchedule& stage = (*schedule)[name];
  stage.reorder(order).vectorize(row);
  if (op.axes.size() > rows) stage.reorder_storage(storage);
}

}  // namespace

void derive_rows_in_each_lane(const RowGroup& all, const Target& target, Schedule* schedule) {
  const RowGroup group = inline_rows(all, target, schedule);
  const Op& reader = result_of(*group.reader);
  const Axis& row = reader.axes[group.rows - 1];
  int64_t lanes = value_lanes(reader, target);
  for (const Op* op : members_of(group)) {
    lanes = std::min(lanes, value_lanes(result_of(*op), target));
    if (const Op* sums = sums_of(*op)) lanes = std::min(lanes, value_lanes(*sums, target));
  }
  StageSchedule& stage = (*schedule)[reader.name];
  const auto place = [&](const Op& op, const std::string& name, const Axis& tile) {
    derive_across_rows(op, group.rows, name, schedule);
    (*schedule)[name].compute_at(reader.name, tile);
  };
  const Axis tile(fresh_axis(reader, "tile")), lane(fresh_axis(reader, "lane"));
  if (!reader.reduction_axes.empty()) {
    place(reader, accumulator_of(reader, reader, schedule), tile);
  }
  const bool exact = row.extent().exact_quotient(lanes).has_value();
  std::vector<Axis> order = {lane};
  for (size_t i = reader.axes.size(); i-- > group.rows;) order.push_back(reader.axes[i]);
  order.push_back(tile);
  stage.split(row, tile, lane, lanes, exact ? Tail::automatic : Tail::predicate);
  if (order.size() > 2) stage.reorder(order);
  stage.vectorize(lane);
  if (!exact) stage.partition(tile);
  for (const Op* op : members_of(group)) {
    const Op& result = result_of(*op);
    const Op* sums = sums_of(*op);
    inline_members(*op, sums, schedule);
    if (op != group.reader) place(result, result.name, tile);
    if (sums != nullptr && sums != &result) place(*sums, sums->name, tile);
  }
  if (!wakes_threads(members_of(group), target)) return;
  Axis tasks = tile;
  const std::vector<Axis> outer(reader.axes.begin(),
                                reader.axes.begin() + static_cast<std::ptrdiff_t>(group.rows - 1));
  if (const size_t count = count_shared(outer, target); count > 0) {
    tasks = share_loops(reader, outer, count, std::nullopt, target, &stage).tasks;
  }
  parallel_from(stage, tasks, most_points(members_of(group)),
                points_for_threads(members_of(group)));
}

}  // namespace emulsion
