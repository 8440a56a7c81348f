#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "passes/derive/contraction_operands.h"
#include "passes/derive/derive_series.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/graph_reads.h"
#include "passes/derive/joined_sums.h"
#include "passes/derive/merge_axes.h"
#include "passes/derive/prefetch_rows.h"
#include "passes/derive/row_groups.h"
#include "passes/derive/rows_at_a_time.h"
#include "passes/derive/stage_directives.h"

namespace emulsion {
namespace {

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

// The vectors of elements along their rows. `again`: an element may be computed twice.
// `first`: the first axis that says no row. Vectors through several pixels would go through rows.
void vectorize_rows(const Op& points, size_t first, bool again, const Target& target,
                    StageSchedule* stage) {
  const size_t along = vector_axis(points, target);
  if (along >= first) return vectorize_points(points, {points.axes[along], again}, target, stage);
  vectorize_row(points, points.axes.back(), value_lanes(points, target), again, target, stage);
}

// The vectors of a member along its rows, and what is computed for it inside. Returns the partial
// sums that place_sums has to place, if there are any.
SumsInLanes derive_member(const RowGroup::Member& member, bool again, bool at_once,
                          const JoinedSums& joined, const Target& target, Schedule* schedule) {
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

// The loops of a group, from those of the reader on. What the steps find out is for those behind
// them; each adds to the schedule of the reader, or of one producer.
class RowLoops {
 public:
  RowLoops(const RowGroup& group, const BlockLoops* blocks, int64_t of_short, const Target& target,
           Schedule* schedule)
      : group_(group),
        blocks_(blocks),
        of_short_(of_short),
        target_(target),
        schedule_(*schedule),
        reader_(result_of(group.reader())),
        stage_((*schedule)[reader_.name]),
        row_(row_axes(group).back()),
        one_(row_) {}

  void derive(bool in_output_memory) {
    for (const RowGroup::Member& member : group_.members) {
      if (!member.is_inline) continue;
      inline_members(*member.op, nullptr, &schedule_);
      schedule_[result_of(*member.op).name].compute_inline();
    }
    find_what_waits(in_output_memory);
    const SumsInLanes lanes = vectorize_reader();
    const std::optional<RowTasks> tasks = share_rows();
    split_rows(tasks);
    if (stored_ != nullptr) vectorize_behind_stored();
    if (!in_blocks() && !few_) prefetch_rows(group_, row_, rows_, target_, &schedule_);
    if (tasks) {
      parallel_from(stage_, tasks->tasks, most_points(members_of(group_)),
                    points_for_threads(members_of(group_), target_));
    }
    const std::vector<Axis> of_row = axes_of_row(group_);
    const Axis& inner = few_ && !is_split_ ? *few_ : one_;
    place_sums(group_.reader(), of_row.empty() ? inner : of_row.back(), lanes, &schedule_);
    lanes_.emplace(&group_.reader(), lanes);
    for (size_t i = 1; i < group_.members.size(); ++i) {
      if (!group_.members[i].is_inline) derive_producer(group_.members[i]);
    }
  }

 private:
  bool in_blocks() const { return blocks_ != nullptr; }
  bool in_parts() const { return in_blocks() && blocks_->rows; }  // a few rows of a block at a time
  bool are_short() const { return of_short_ > 0; }
  bool at_once() const { return in_blocks() || are_short(); }  // several rows
  // What is stored of a few rows waits in the processor's buffer, of which no vector is loaded.
  bool lie_across() const { return !in_blocks() && rows_ != of_short_; }
  // Where the producers are computed.
  const Axis& at() const { return few_ ? *few_ : row_; }

  // What of a row is stored until the reader, or a series in it, is computed.
  void find_what_waits(bool in_output_memory) {
    const bool may_be_in_output = are_short()
                                      ? in_output_memory && !is_one_in_a_row(reader_, group_.axes())
                                      : may_be_in_output_memory(group_, target_);
    if (!in_blocks() && may_be_in_output) in_output_ = stored_in_output(group_, schedule_);
    joined_ = joined_sums(group_, in_output_, at_once(), target_);
    by_vectors_ = has_results(group_) && !are_results_in_rows(group_, target_);
    again_ = in_output_ == nullptr && !by_vectors_;
    if (!at_once() && !by_vectors_) stored_ = stored_for_series(group_);
  }

  SumsInLanes vectorize_reader() {
    const RowGroup::Member& member = group_.members.front();
    SumsInLanes lanes;
    if (stored_ == nullptr) {
      lanes = derive_member(member, again_, at_once(), joined_, target_, &schedule_);
    } else {
      inline_members(group_.reader(), nullptr, &schedule_, stored_);
      vectorize_rows(*stored_, behind_rows(member), true, target_, &schedule_[stored_->name]);
    }
    if (are_short()) go_down_columns(member, lanes, target_, &schedule_);
    bring_rows_outside(group_, &stage_);
    if (in_blocks()) stage_.compute_at(blocks_->reader, blocks_->block);
    return lanes;
  }

  // The tasks of threads, and how many rows the loop has that is left of each.
  std::optional<RowTasks> share_rows() {
    std::vector<Axis> loops = row_axes(group_);
    if (group_.is_across_steps()) {
      few_ = loops.back();
      loops.pop_back();
    }
    row_ = loops.back();
    steps_ = in_parts() ? Extent(*blocks_->rows) : row_.extent();
    const bool is_little = group_.are_few && loops.size() == 1;
    const bool has_threads = !in_blocks() && !is_little && wakes_threads(group_, target_);
    const size_t shared = has_threads ? count_shared(loops, target_) : 0;
    if (shared == 0) return std::nullopt;
    RowTasks tasks = share_loops(reader_, loops, shared,
                                 element_count(most_points(members_of(group_))), target_, &stage_);
    if (shared < loops.size()) return tasks;
    row_ = tasks.last;
    are_tasks_ = tasks.steps == 1;
    // A loop that is an axis still may be split, where its steps are not in tasks already.
    if (shared > 1 || tasks.steps > 1) steps_ = tasks.steps;
    return tasks;
  }

  // Several rows at a time. Before the threads: what follows a condition on the sizes concerns the
  // case in which it holds.
  void split_rows(const std::optional<RowTasks>& tasks) {
    const bool are_in_tasks = tasks && tasks->steps > 1;
    rows_ = in_parts()    ? rows_of_block_at_a_time(group_, *blocks_->rows, target_)
            : in_blocks() ? 1
                          : rows_at_a_time(group_, steps_, are_tasks_, of_short_, target_);
    // What is kept of a row is computed by one task.
    const bool is_of_task = are_in_tasks && (keeps_any(group_) || has_results(group_));
    while (is_of_task && !steps_.exact_quotient(rows_)) --rows_;
    // Tiles of rows may reach beyond the last one of a block, which no loop over parts of it does.
    is_whole_block_ = in_blocks() && rows_ == blocks_->rows.value_or(rows_);
    is_split_ = rows_ > 1 && !is_whole_block_;
    one_ = is_split_ ? Axis(fresh_axis(reader_, "row")) : row_;
    const bool exact = steps_.exact_quotient(rows_).has_value();
    // The last tile of a task would reach into the rows of the next one.
    if (!exact && are_in_tasks) in_output_ = nullptr;
    const bool starts_earlier = !exact && !in_blocks() && !tasks && in_output_ == nullptr &&
                                has_few_again(group_, steps_, rows_);
    // Else the last rows have loops of their own, in which vectors through many rows end with them.
    is_even_ = exact || starts_earlier || rows_ > kRowsAtATime;
    if (!is_split_) return;
    const Tail tail =
        exact ? Tail::automatic : (starts_earlier ? Tail::shift_inwards : Tail::guard);
    stage_.split(row_, row_, one_, rows_, tail);
    if (!exact && !starts_earlier) stage_.partition(row_);
    if (few_) stage_.reorder({one_, *few_});
    if (lie_across()) {
      vectorize_across_rows(group_.members.front(), one_, rows_, target_, &schedule_);
    }
  }

  // What the reader computes of what is stored for a series.
  void vectorize_behind_stored() {
    const Axis& last = reader_.axes.back();
    const int64_t lanes = value_lanes(reader_, target_);
    if (is_split_ && is_even_ && !last.extent().exact_quotient(lanes) && are_last_two(group_) &&
        lies_as_rows(*stored_, group_.reader())) {
      const Axis flat(fresh_axis(reader_, "flat"), rows_ * last.extent().constant_term());
      stage_.fuse(one_, last, flat);
      vectorize_last(stage_, flat, lanes, again_);
    } else {
      vectorize_rows(reader_, behind_rows(group_.members.front()), again_, target_, &stage_);
    }
    schedule_[stored_->name].compute_at(reader_.name, at());
  }

  void derive_producer(const RowGroup::Member& producer) {
    const Op& op = result_of(*producer.op);
    StageSchedule& stage = schedule_[op.name];
    if (producer.is_kept && !is_output(op, schedule_)) stage.store_root();
    if (producer.is_with_reader && by_vectors_) {
      return compute_with_vectors(*producer.op, reader_, &schedule_);
    }
    const SumsInLanes partial = vectorize_producer(producer);
    if (lie_across()) {
      const Axis& across = op.axes[producer.axes[group_.at_a_time()]];
      vectorize_across_rows(producer, across, rows_, target_, &schedule_);
    }
    if (is_whole_block_) {
      stage.compute_at(blocks_->reader, blocks_->block);
    } else {
      stage.compute_at(reader_.name, at());
    }
    if (producer.op == in_output_) stage.store_in_output(reader_.name);
    place_sums(*producer.op, op.axes.back(), partial, &schedule_);
  }

  // Returns the partial sums that are still to be placed, if there are any.
  SumsInLanes vectorize_producer(const RowGroup::Member& producer) {
    const Op& op = result_of(*producer.op);
    const auto sums = std::find_if(joined_.begin(), joined_.end(),
                                   [&](const auto& pair) { return pair.second == producer.op; });
    if (sums != joined_.end()) {
      inline_members(*producer.op, nullptr, &schedule_);
      compute_with_sums(op, *sums_of(*sums->first), lanes_.at(sums->first), target_, &schedule_);
      return {};
    }
    const bool is_sum = sums_of(*producer.op) == &op;
    if (in_blocks() && !in_parts() && is_sum && !keeps_sums_in_registers(op, target_)) {
      inline_members(*producer.op, &op, &schedule_);
      derive_rows_in_lanes(op, target_, &schedule_, false);
      return {};
    }
    if (lie_across() && is_even_ && is_split_ && !producer.is_kept && producer.whole_rows &&
        producer.axes.size() + 1 == op.axes.size() && has_flat_series(*producer.op, target_)) {
      derive_flat_series(*producer.op, {rows_, group_.is_across_steps()}, reader_.name, at(),
                         target_, &schedule_);
      return {};
    }
    if (combine_in_memory(producer, target_, &schedule_)) return {};
    const SumsInLanes partial =
        derive_member(producer, producer.whole_rows, at_once(), joined_, target_, &schedule_);
    if (are_short()) go_down_columns(producer, partial, target_, &schedule_);
    return lanes_.emplace(producer.op, partial).first->second;
  }

  const RowGroup& group_;
  const BlockLoops* const blocks_;
  const int64_t of_short_;
  const Target& target_;
  Schedule& schedule_;
  const Op& reader_;
  StageSchedule& stage_;  // of the reader

  const Op* in_output_ = nullptr;  // waits in the memory of the output
  const Op* stored_ = nullptr;     // for the series of the reader
  JoinedSums joined_;
  bool by_vectors_ = false;  // results beside the reader are computed with each vector of it
  bool again_ = false;       // an element of the reader may be computed twice
  Axis row_, one_;           // over rows, or tiles of them; and over the rows of a tile
  std::optional<Axis> few_;  // over the few rows of a step of the others
  Extent steps_;             // of row_, before it is split
  bool are_tasks_ = false;   // and whether these are the tasks of threads
  int64_t rows_ = 1;         // at a time
  bool is_split_ = false, is_whole_block_ = false;
  bool is_even_ = false;                    // no tile has fewer rows, or vectors end with them
  std::map<const Op*, SumsInLanes> lanes_;  // of the members whose sums have lanes
};

}  // namespace

void derive_rows(const RowGroup& group, const Target& target, Schedule* schedule,
                 const BlockLoops* blocks, int64_t of_short, bool in_output_memory) {
  RowLoops(group, blocks, of_short, target, schedule).derive(in_output_memory);
}

}  // namespace emulsion
