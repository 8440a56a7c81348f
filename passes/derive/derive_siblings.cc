#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>

#include "dsl/error.h"
#include "dsl/index_arithmetic.h"
#include "passes/derive/choices.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/graph_reads.h"
#include "passes/derive/merge_axes.h"
#include "passes/derive/read_borders.h"
#include "passes/derive/sibling_loops.h"
#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

using Reason = std::optional<std::string>;

Reason why_not_member(const Op& op, const Target& target) {
  if (!fits_one_expression(op)) {
    return fmt::format("expected {} to be a group that fits one expression", op.name);
  }
  if (crosses(op, target)) {
    return fmt::format("expected {} to read along its rows, got an operand that lies across them",
                       op.name);
  }
  if (has_borders(op)) {
    return fmt::format("expected {} to be the same at all places of a loop, got borders", op.name);
  }
  return std::nullopt;
}

OpPtr whole_of(const OpPtr& op) { return op->kind == OpKind::fused ? written_out(*op, {}) : op; }

// In terms that are the same for siblings.
std::string text_of(const Expr& read, const Op& whole) {
  return to_string(transform(read, [&](const Expr& e) -> Expr {
    if (e->op != ExprOp::axis) return Expr();
    const std::optional<size_t> place = axis_index(whole.axes, e->name);
    return place ? axis_value(fmt::format("#{}", *place)) : Expr();
  }));
}

// Whether the elements of a row lie apart from one another, as those of a colour do.
bool lies_apart(const Expr& read, const Op& op) {
  return !op.axes.empty() && mentions(read, op.axes.back().name()) &&
         !is_along(read, op.axes.back());
}

// Bytes that are moved for one point: of all results, of each operand that has as many, and of what
// lies apart in others.
int64_t bytes_of_a_point(const std::vector<OpPtr>& group) {
  int64_t bytes = 0;
  std::set<const Op*> counted;
  std::set<std::string> apart;
  for (const OpPtr& op : group) {
    bytes += size_in_bytes(op->dtype);
    for (const OpPtr& operand : operands(*op)) {
      if (operand->shape != op->shape || !counted.insert(operand.get()).second) continue;
      bytes += size_in_bytes(operand->dtype);
    }
    const OpPtr whole = whole_of(op);
    for (const Expr& read : reads_in(whole->body)) {
      if (read->tensor->shape == op->shape || !lies_apart(read, *whole)) continue;
      if (apart.insert(text_of(read, *whole)).second) bytes += size_in_bytes(read.dtype());
    }
  }
  return bytes;
}

// What the processor does for a line of the cache of results, if it waits for no memory.
int64_t instructions_of_a_line(const OpPtr& op, const Target& target) {
  constexpr int64_t kLine = 64, kApart = 3;  // to put a vector together of what lies apart
  const OpPtr whole = whole_of(op);
  int64_t of_vector = instructions_of(*whole) + 1;
  for (const Expr& read : reads_in(whole->body)) {
    of_vector += lies_apart(read, *whole) ? kApart : 1;
  }
  const int64_t vector = value_lanes(*whole, target) * size_in_bytes(op->dtype);
  return of_vector * std::max<int64_t>(kLine / vector, 1);
}

// Whether stores to several arrays by turns would take longer than everything else. They were seen
// to be slow where the first cache does not hold the arrays and little is computed for a line of
// results, and the same stores row by row were not; why is not known.
bool wait_for_stores(const std::vector<OpPtr>& group, const Op& first, size_t rows,
                     const Target& target) {
  constexpr int64_t kMostInstructions = 32;  // a line takes as long
  constexpr int64_t kLeastVectors = 4;       // of a row, for lines to be side by side
  const int64_t lanes = target.vector_lanes(first.dtype);
  if (elements_from(first, rows).value_or(kLeastVectors * lanes) < kLeastVectors * lanes) {
    return false;
  }
  const std::optional<int64_t> points = element_count(first.shape);
  if (points && saturated_product(*points, bytes_of_a_point(group)) <= target.l1_bytes) {
    return false;
  }
  return std::all_of(group.begin(), group.end(), [&](const OpPtr& op) {
    return instructions_of_a_line(op, target) <= kMostInstructions;
  });
}

// A function that takes many instructions of each element, so that memory does not wait for it;
// nothing where there is none.
std::optional<ExprOp> function_in(const Op& op) {
  std::vector<Expr> bodies;
  if (op.body.defined()) bodies.push_back(op.body);
  for (const OpPtr& member : op.members) bodies.push_back(member->body);
  for (const ExprOp function : {ExprOp::exp, ExprOp::log, ExprOp::tanh, ExprOp::erf, ExprOp::pow}) {
    const auto has_it = [&](const Expr& body) {
      return any_part(body, [&](const Expr& e) { return e->op == function; });
    };
    if (std::any_of(bodies.begin(), bodies.end(), has_it)) return function;
  }
  return std::nullopt;
}

// What it reads anew for each point, in terms that are the same for siblings.
std::set<std::string> reads_of_each_point(const OpPtr& op) {
  const OpPtr whole = whole_of(op);
  std::set<std::string> reads;
  for (const Expr& read : reads_in(whole->body)) {
    const bool is_of_each =
        std::all_of(whole->axes.begin(), whole->axes.end(), [&](const Axis& axis) {
          return axis.extent() == Extent(1) || mentions(read, axis.name());
        });
    if (!is_of_each) continue;
    reads.insert(text_of(read, *whole));
  }
  return reads;
}

// Whether half of what the sibling reads for each point, or more, is read by the group at the same
// place: a loop of both loads it once, wherever it comes from.
bool reads_alike(const SiblingCandidate& candidate) {
  const std::set<std::string> own = reads_of_each_point(candidate.sibling);
  std::set<std::string> theirs;
  for (const OpPtr& op : candidate.group) theirs.merge(reads_of_each_point(op));
  const auto common = std::count_if(
      own.begin(), own.end(), [&](const std::string& read) { return theirs.count(read) > 0; });
  return common > 0 && 2 * static_cast<size_t>(common) >= own.size();
}

// A name that no member has for an axis.
std::string fresh_name(const std::vector<OpPtr>& group, const std::string& wanted) {
  std::string name = wanted;
  const auto taken = [&](const OpPtr& op) { return fresh_axis(result_of(*op), name) != name; };
  for (int i = 1; std::any_of(group.begin(), group.end(), taken); ++i) {
    name = wanted + std::to_string(i);
  }
  return name;
}

// The points of a block of the axis that vectors go along, of results like `first`: where a row of
// all that is moved does not fit half of the first cache, from which what all read is read again,
// and where there is one row. Nothing when the loop over rows is to be shared.
std::optional<int64_t> block_of(const std::vector<OpPtr>& group, const Op& first, size_t rows,
                                const Target& target) {
  constexpr int64_t kLeastBlock = 256;
  constexpr int64_t kMostLanes = 64;  // of any vector: what a block is a multiple of
  const std::optional<int64_t> points = elements_from(first, rows);
  const int64_t held = target.l1_bytes / 2 / bytes_of_a_point(group);
  if (rows > 0 && (!points || *points <= std::max(held, kLeastBlock))) return std::nullopt;
  int64_t block = kLeastBlock;
  while (2 * block <= held) block *= 2;
  const std::optional<int64_t> extent = first.shape[rows].as_constant();
  if (!extent || *extent >= block) return block;
  return (*extent + kMostLanes - 1) / kMostLanes * kMostLanes;
}

std::vector<const Op*> pointers_to(const std::vector<OpPtr>& group) {
  std::vector<const Op*> members;
  for (const OpPtr& op : group) members.push_back(op.get());
  return members;
}

// A member's result, as if the axes that lie one after another in memory were one.
struct Member {
  const Op& result;
  std::optional<MergedAxes> merged;

  const Op& view() const { return merged ? merged->view : result; }
};

// Axes are merged where all members merge the same ones: what threads share has rows.
std::vector<Member> siblings_of(const std::vector<OpPtr>& group, bool threads,
                                const Target& target) {
  std::vector<Member> members;
  for (const OpPtr& op : group) {
    members.push_back({result_of(*op), threads ? std::nullopt : merge_last_axes(*op, 0, target)});
  }
  const auto names_of = [](const Member& member) {
    std::vector<std::string> names;
    if (!member.merged) return names;
    for (const Axis& axis : member.merged->fused) names.push_back(axis.name());
    return names;
  };
  const auto merges_alike = [&](const Member& member) {
    return names_of(member) == names_of(members[0]);
  };
  if (!std::all_of(members.begin(), members.end(), merges_alike)) {
    for (Member& member : members) member.merged.reset();
  }
  return members;
}

// How many vectors of each member are stored in turn, where stores by turns take longest: so many
// that all of a row, or a block of it, have as many, and few enough for what they read to stay in
// registers. Nothing where no number divides those of a row.
std::optional<int64_t> vectors_of_turn(const Extent& row, int64_t lanes) {
  const std::optional<int64_t> elements = row.as_constant();
  if (!elements) return std::nullopt;
  const int64_t vectors = (*elements + lanes - 1) / lanes;
  for (const int64_t count : {4, 3, 5, 2}) {
    if (vectors % count == 0) return count;
  }
  return std::nullopt;
}

// The loops that a group shares, by the same names and steps in all members: that over vectors too
// where it is the same, so that what several read is loaded once; a few vectors at a time where
// stores would take longer, or that loop is not shared.
class SharedLoops {
 public:
  SharedLoops(const std::vector<OpPtr>& group, const Target& target, const Schedule& schedule)
      : target_(target),
        least_(points_for_threads(pointers_to(group), target)),
        threads_(wakes_threads_from(result_of(*group[0]).shape, least_, target)),
        members_(siblings_of(group, threads_, target)),
        leader_(members_[0].view()),
        rows_(vector_axis(leader_, target)) {
    block_name_ = fresh_name(group, "block");
    within_name_ = fresh_name(group, "within");
    const auto block = block_of(group, leader_, rows_, target);
    if (in_tasks()) block_ = block;
    if (const auto lanes = lanes_of_all(schedule)) {
      const bool waits = wait_for_stores(group, leader_, rows_, target);
      const Extent row = block_ ? Extent(*block_) : leader_.axes[rows_].extent();
      if (waits) turn_ = vectors_of_turn(row, *lanes);
      vectors_ = !waits || turn_;
    }
    if (!vectors_ && !in_tasks()) block_ = block;
    if (threads_ && rows_ > 0) {
      const auto begin = leader_.axes.begin();
      fused_ = count_shared({begin, begin + static_cast<std::ptrdiff_t>(rows_)}, target);
    }
    for (size_t i = 1; i < fused_; ++i) {
      fused_names_.emplace_back(fresh_name(group, "rows" + std::to_string(i)));
    }
    for (size_t i = 0; i < rows_; ++i) {
      const std::string& name = leader_.axes[i].name();
      const bool same = std::all_of(members_.begin(), members_.end(), [&](const Member& member) {
        return member.view().axes[i].name() == name;
      });
      const std::string number = std::to_string(i);
      outer_.push_back(same ? name : fresh_name(group, "row" + number));
      single_.push_back(same ? "" : fresh_name(group, "single" + number));
    }
    if (turn_) turn_name_ = fresh_name(group, "turn");
  }

  // The members' loops; threads share those of the first.
  void make(Schedule* schedule) const {
    for (const Member& member : members_) {
      StageSchedule& stage = (*schedule)[member.result.name];
      make(member, &stage);
      if (&member == &members_.front()) {
        cut_at_ends(&stage);
        share_among_threads(&stage);
      } else {
        follow(&stage);
      }
    }
  }

 private:
  // Whether threads share parts of the one row that there is.
  bool in_tasks() const { return threads_ && rows_ == 0; }

  // The axis that vectors go along: of a block, where there are any.
  Axis cut_into_blocks(const Member& member, StageSchedule* stage) const {
    Axis along = member.view().axes[rows_];
    if (!block_) return along;
    const Axis within(within_name_, *block_);
    stage->split(along, Axis(block_name_), within, *block_, Tail::guard);
    return within;
  }

  // The directive that leaves a loop over vectors, if one does. Of a block there may be others than
  // of a whole row, whose length is a size.
  std::optional<Directive> split_into_vectors(const Member& member,
                                              const Schedule& schedule) const {
    Schedule trial = schedule.without_directives();
    StageSchedule& stage = trial[member.result.name];
    const Axis along = cut_into_blocks(member, &stage);
    PointLoop loop{along};
    loop.is_cut = true;
    vectorize_points(member.view(), loop, target_, &stage);
    for (const Directive& d : stage.directives()) {
      if (d.kind == DirectiveKind::split && d.axes[0] == along.name()) return d;
    }
    return std::nullopt;
  }

  // The lanes of the vectors where the loops over them are the same of all, so that they can be
  // one.
  std::optional<int64_t> lanes_of_all(const Schedule& schedule) const {
    std::optional<Directive> first;
    for (const Member& member : members_) {
      const auto split = split_into_vectors(member, schedule);
      if (!split) return std::nullopt;
      if (!first) first = split;
      const bool is_same = split->axes[1] == first->axes[1] && split->factor == first->factor &&
                           split->tail == first->tail;
      if (!is_same) return std::nullopt;
    }
    return first->factor;
  }

  // The loops of one member, vectors included.
  void make(const Member& member, StageSchedule* stage) const {
    if (member.merged) member.merged->fuse(stage);
    const Op& result = member.view();
    if (fused_ > 1) {
      const std::vector<Axis> all(result.axes.begin(),
                                  result.axes.begin() + static_cast<std::ptrdiff_t>(fused_));
      fuse_rows(*stage, all, fused_names_);
    }
    for (size_t i = fused_ > 1 ? fused_ : 0; i < rows_; ++i) {
      if (single_[i].empty()) continue;
      stage->split(result.axes[i], Axis(outer_[i]), Axis(single_[i]), 1);
    }
    const Axis along = cut_into_blocks(member, stage);
    PointLoop loop{along};
    loop.whole_rows = vectors_;
    loop.is_cut = vectors_ || needs_what_it_lacks(result, target_);
    vectorize_points(result, loop, target_, stage);
    if (turn_) stage->split(along, along, Axis(turn_name_), *turn_).unroll(Axis(turn_name_));
    if (loop.is_cut && !vectors_ && !block_) stage->partition(along);
  }

  // The innermost loop of all.
  Axis last() const {
    if (vectors_) return block_ ? Axis(within_name_) : leader_.axes[rows_];
    return block_ ? Axis(block_name_) : rows_ == fused_ ? first() : back();
  }

  // Vectors that need masks which the target lacks are those of the last step alone. In a loop of
  // its own each member has them cut off by itself.
  void cut_at_ends(StageSchedule* leader) const {
    const auto needs = [&](const Member& member) {
      return needs_what_it_lacks(member.view(), target_);
    };
    if (std::none_of(members_.begin(), members_.end(), needs)) return;
    if (vectors_ || block_) leader->partition(block_ ? Axis(block_name_) : leader_.axes[rows_]);
  }

  void share_among_threads(StageSchedule* leader) const {
    if (const auto task = task_loop()) {
      parallel_from(*leader, *task, leader_.shape, least_);
    }
  }
  void follow(StageSchedule* stage) const {
    const auto task = task_loop();
    const std::optional<Expr> condition = reaches(leader_.shape, least_);
    // What a size decides, the leader's specialization does.
    if (task && condition && !condition->defined()) stage->parallel(*task);
    stage->compute_with(members_[0].result.name, last());
  }

  Axis first() const { return fused_ > 1 ? fused_names_.back() : Axis(outer_.front()); }
  Axis back() const { return Axis(outer_.back()); }
  std::optional<Axis> task_loop() const {
    if (!threads_) return std::nullopt;
    if (fused_ > 0) return first();
    return block_ ? std::optional(Axis(block_name_)) : std::nullopt;
  }

  const Target& target_;
  int64_t least_;  // points for threads
  bool threads_;
  std::vector<Member> members_;
  const Op& leader_;
  size_t rows_;                  // axes before the one that vectors go along
  bool vectors_ = false;         // whether the loop over them is shared
  std::optional<int64_t> turn_;  // how many of each member are computed in turn
  size_t fused_ = 0;             // of the rows, the first, as one loop
  std::optional<int64_t> block_;
  std::vector<Axis> fused_names_;
  // Of each row: its loop; and where members have other names for it the loop of one step inside.
  std::vector<std::string> outer_, single_;
  std::string block_name_, within_name_, turn_name_;
};

}  // namespace

std::optional<std::string> why_not_share_loops(const Op& first, const Op& sibling,
                                               const Target& target) {
  for (const Op* op : {&first, &sibling}) {
    if (Reason reason = why_not_member(*op, target)) return reason;
  }
  const size_t along = vector_axis(result_of(first), target);
  const size_t of_sibling = vector_axis(result_of(sibling), target);
  if (along == of_sibling) return std::nullopt;
  return fmt::format("expected vectors of {} along axis {}, as of {}, got axis {}", sibling.name,
                     along, first.name, of_sibling);
}

std::optional<std::string> why_not_worth_sharing(const SiblingCandidate& candidate,
                                                 const Target& target) {
  const Op &first = *candidate.group[0], &sibling = *candidate.sibling;
  const bool alike = reads_alike(candidate);
  if (!alike && !shares_whole_operand(first, sibling)) {
    return fmt::format("expected {} and {} to read one tensor of {}", first.name, sibling.name,
                       to_string(first.shape));
  }
  for (const Op* op : {&first, &sibling}) {
    if (const std::optional<ExprOp> function = function_in(*op)) {
      return fmt::format("expected {} to wait for memory, got {} of each element", op->name,
                         to_string(*function));
    }
  }
  if (alike) return std::nullopt;
  const std::optional<int64_t> points = element_count(first.shape);
  std::vector<OpPtr> all = candidate.group;
  all.push_back(candidate.sibling);
  const int64_t least = points_for_threads(pointers_to(all), target);
  if (!points || (target.cores > 1 && *points >= least)) return std::nullopt;
  const int64_t bytes = saturated_product(*points, bytes_of_a_point(all));
  if (bytes > target.l2_bytes) return std::nullopt;
  return fmt::format(
      "expected more than the {} bytes that stay in a cache from {} to {}, or {} points for "
      "several threads, got {} bytes and {} points",
      target.l2_bytes, first.name, sibling.name, least, bytes, *points);
}

void derive_siblings(const std::vector<OpPtr>& group, const Target& target, Schedule* schedule) {
  for (const OpPtr& op : group) inline_members(*op, nullptr, schedule);
  SharedLoops(group, target, *schedule).make(schedule);
}

}  // namespace emulsion
