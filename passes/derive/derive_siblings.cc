#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>

#include "dsl/error.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/graph_reads.h"
#include "passes/derive/sibling_loops.h"
#include "passes/index/index_arithmetic.h"

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

// Bytes that are moved for one point: of all results, and of each operand that has as many.
int64_t bytes_of_a_point(const std::vector<OpPtr>& group) {
  int64_t bytes = 0;
  std::set<const Op*> counted;
  for (const OpPtr& op : group) {
    bytes += size_in_bytes(op->dtype);
    for (const OpPtr& operand : operands(*op)) {
      if (operand->shape != op->shape || !counted.insert(operand.get()).second) continue;
      bytes += size_in_bytes(operand->dtype);
    }
  }
  return bytes;
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

// A name that no member has for an axis.
std::string fresh_name(const std::vector<OpPtr>& group, const std::string& wanted) {
  std::string name = wanted;
  const auto taken = [&](const OpPtr& op) { return fresh_axis(result_of(*op), name) != name; };
  for (int i = 1; std::any_of(group.begin(), group.end(), taken); ++i) {
    name = wanted + std::to_string(i);
  }
  return name;
}

// The points of a block of the axis that vectors go along: where a row of all that is moved does
// not fit half of the first cache, from which what all read is read again, and where there is one
// row. Nothing when the loop over rows is to be shared.
std::optional<int64_t> block_of(const std::vector<OpPtr>& group, size_t rows,
                                const Target& target) {
  constexpr int64_t kLeastBlock = 256;
  constexpr int64_t kMostLanes = 64;  // of any vector: what a block is a multiple of
  const std::optional<int64_t> points = elements_from(*group[0], rows);
  const int64_t held = target.l1_bytes / 2 / bytes_of_a_point(group);
  if (rows > 0 && (!points || *points <= std::max(held, kLeastBlock))) return std::nullopt;
  int64_t block = kLeastBlock;
  while (2 * block <= held) block *= 2;
  const std::optional<int64_t> extent = group[0]->shape[rows].as_constant();
  if (!extent || *extent >= block) return block;
  return (*extent + kMostLanes - 1) / kMostLanes * kMostLanes;
}

std::vector<const Op*> pointers_to(const std::vector<OpPtr>& group) {
  std::vector<const Op*> members;
  for (const OpPtr& op : group) members.push_back(op.get());
  return members;
}

// The loops that a group shares, by the same names and steps in all members.
class SharedLoops {
 public:
  SharedLoops(const std::vector<OpPtr>& group, const Target& target)
      : target_(target),
        leader_(result_of(*group[0])),
        least_(points_for_threads(pointers_to(group), target)),
        threads_(wakes_threads_from(leader_.shape, least_, target)),
        rows_(vector_axis(leader_, target)),
        block_(block_of(group, rows_, target)) {
    if (threads_ && rows_ > 0) {
      const auto begin = leader_.axes.begin();
      fused_ = count_shared({begin, begin + static_cast<std::ptrdiff_t>(rows_)}, target);
    }
    for (size_t i = 1; i < fused_; ++i) {
      fused_names_.emplace_back(fresh_name(group, "rows" + std::to_string(i)));
    }
    for (size_t i = 0; i < rows_; ++i) {
      const std::string& name = leader_.axes[i].name();
      const bool same = std::all_of(group.begin(), group.end(), [&](const OpPtr& op) {
        return result_of(*op).axes[i].name() == name;
      });
      const std::string number = std::to_string(i);
      outer_.push_back(same ? name : fresh_name(group, "row" + number));
      single_.push_back(same ? "" : fresh_name(group, "single" + number));
    }
    if (block_) {
      block_name_ = fresh_name(group, "block");
      within_name_ = fresh_name(group, "within");
    }
  }

  // The loops of one member, vectors included.
  void make(const Op& result, StageSchedule* stage) const {
    if (fused_ > 1) {
      const std::vector<Axis> all(result.axes.begin(),
                                  result.axes.begin() + static_cast<std::ptrdiff_t>(fused_));
      fuse_rows(*stage, all, fused_names_);
    }
    for (size_t i = fused_ > 1 ? fused_ : 0; i < rows_; ++i) {
      if (single_[i].empty()) continue;
      stage->split(result.axes[i], Axis(outer_[i]), Axis(single_[i]), 1);
    }
    Axis along = result.axes[rows_];
    if (block_) {
      const Axis within(within_name_, *block_);
      stage->split(along, Axis(block_name_), within, *block_, Tail::guard);
      along = within;
    }
    vectorize_points(result, along, target_, stage);
  }

  // The innermost of them.
  Axis last() const { return block_ ? Axis(block_name_) : rows_ == fused_ ? first() : back(); }

  // The threads' share of the one whose loops they are, and of one that follows.
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
    stage->compute_with(leader_.name, last());
  }

 private:
  Axis first() const { return fused_ > 1 ? fused_names_.back() : Axis(outer_.front()); }
  Axis back() const { return Axis(outer_.back()); }
  std::optional<Axis> task_loop() const {
    if (!threads_) return std::nullopt;
    if (fused_ > 0) return first();
    return block_ ? std::optional(Axis(block_name_)) : std::nullopt;
  }

  const Target& target_;
  const Op& leader_;
  int64_t least_;  // points for threads
  bool threads_;
  size_t rows_;       // axes before the one that vectors go along
  size_t fused_ = 0;  // of these, the first, as one loop
  std::optional<int64_t> block_;
  std::vector<Axis> fused_names_;
  // Of each row: its loop; and where members have other names for it the loop of one step inside.
  std::vector<std::string> outer_, single_;
  std::string block_name_, within_name_;
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
  if (!shares_whole_operand(first, sibling)) {
    return fmt::format("expected {} and {} to read one tensor of {}", first.name, sibling.name,
                       to_string(first.shape));
  }
  for (const Op* op : {&first, &sibling}) {
    if (const std::optional<ExprOp> function = function_in(*op)) {
      return fmt::format("expected {} to wait for memory, got {} of each element", op->name,
                         to_string(*function));
    }
  }
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
  const SharedLoops loops(group, target);
  for (const OpPtr& op : group) {
    const Op& result = result_of(*op);
    inline_members(*op, nullptr, schedule);
    StageSchedule& stage = (*schedule)[result.name];
    loops.make(result, &stage);
    if (op == group[0]) {
      loops.share_among_threads(&stage);
    } else {
      loops.follow(&stage);
    }
  }
}

}  // namespace emulsion
