#include "passes/fuse/find_siblings.h"

#include <algorithm>
#include <unordered_map>

#include "dsl/error.h"
#include "passes/analyse/recognise_op.h"
#include "passes/fuse/fused_group.h"

namespace emulsion {
namespace {

using Reason = std::optional<std::string>;

Reason why_not_member(const Op& op) {
  if (!is_computed(op)) return fmt::format("expected {} to be computed", op.name);
  const auto why_not_class = [&](const Op& part) -> Reason {
    const OpClass found = classify(part);
    if (found == OpClass::elementwise) return std::nullopt;
    return fmt::format("expected an elementwise operation, got {} {}", to_string(found), part.name);
  };
  if (op.kind == OpKind::compute) {
    if (Reason reason = why_not_class(op)) return reason;
  }
  for (const OpPtr& member : op.members) {
    if (Reason reason = why_not_class(*member)) return reason;
  }
  if (op.shape.empty()) return fmt::format("expected {} to have a loop, got rank 0", op.name);
  if (std::count(op.shape.begin(), op.shape.end(), Extent(0)) > 0) {
    return fmt::format("expected {} to have elements, got shape {}", op.name, to_string(op.shape));
  }
  return std::nullopt;
}

// What is read of one element is no stream that two loops could have in common.
bool is_stream(const Op& operand) { return element_count(operand.shape) != 1; }

// The operands that both have, in the order of the first's.
std::vector<OpPtr> common_operands(const Op& first, const Op& sibling) {
  const std::vector<OpPtr> theirs = operands(sibling);
  std::vector<OpPtr> common;
  for (const OpPtr& operand : operands(first)) {
    if (!is_stream(*operand)) continue;
    if (std::find(theirs.begin(), theirs.end(), operand) != theirs.end()) common.push_back(operand);
  }
  return common;
}

// `sibling`, which was looked at alone already, beside `first`, which was too.
Reason why_not_beside(const Op& first, const Op& sibling) {
  if (first.shape != sibling.shape) {
    return fmt::format("expected {} of the shape of {}, {}, got {}", sibling.name, first.name,
                       to_string(first.shape), to_string(sibling.shape));
  }
  if (common_operands(first, sibling).empty()) {
    return fmt::format("expected {} and {} to read one tensor", first.name, sibling.name);
  }
  return std::nullopt;
}

// The groups of a graph as they grow. Each, and each other operation, is a unit with a time: later
// than that of all units that it reads. So an operation that reads only what is earlier than a unit
// can join it, and needs nothing of it.
class Groups {
 public:
  explicit Groups(const Graph& graph) : graph_(graph) {}

  std::vector<std::vector<OpPtr>> find(const SiblingPolicy& policy, FusionReport* report) {
    for (const OpPtr& op : graph_.ops()) {
      const bool may_join = !why_not_member(*op);
      std::vector<size_t> candidates;
      if (may_join) candidates = candidates_of(*op);
      std::optional<size_t> joined;
      size_t with = 0;
      std::optional<Refusal> refused;  // by the first that it does not need, if there is one
      for (size_t i = 0; i < candidates.size() && !joined; ++i) {
        const std::optional<Refusal> refusal = join(candidates[i], op, policy);
        if (!refusal) joined = candidates[i];
        if (!refused || (refusal && refused->is_needed && !refusal->is_needed)) {
          refused = refusal;
          with = candidates[i];
        }
      }
      if (report != nullptr && !candidates.empty()) {
        with = joined.value_or(with);
        FusionDecision decision{units_[with].ops[0]->name, op->name, joined.has_value(),
                                joined ? "" : refused->why.reason, kSiblings};
        decision.measured = !joined && refused->why.measured;
        decision.needed_elsewhere = !joined && refused->is_needed;
        report->decisions.push_back(std::move(decision));
      }
      if (!joined) units_.push_back({{op}, earliest(*op)});
      add(op, joined.value_or(units_.size() - 1), may_join);
    }
    std::vector<std::vector<OpPtr>> found;
    for (const Unit& unit : units_) {
      if (unit.ops.size() > 1) found.push_back(unit.ops);
    }
    return found;
  }

 private:
  struct Unit {
    std::vector<OpPtr> ops;
    size_t time;
  };
  using Times = std::unordered_map<size_t, size_t>;  // of units
  struct Refusal {
    FusionRefusal why;
    bool is_needed = false;  // one needs the other: they are no siblings
  };

  // Those that read what `op` reads, the first first.
  std::vector<size_t> candidates_of(const Op& op) const {
    std::vector<size_t> candidates;
    for (const OpPtr& operand : operands(op)) {
      const auto found = siblings_.find(operand.get());
      if (found == siblings_.end()) continue;
      candidates.insert(candidates.end(), found->second.begin(), found->second.end());
    }
    std::sort(candidates.begin(), candidates.end());
    candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
    return candidates;
  }

  size_t earliest(const Op& op) const {
    size_t time = 0;
    for (const OpPtr& operand : operands(op)) {
      time = std::max(time, units_[unit_of_.at(operand.get())].time + 1);
    }
    return time;
  }

  // Why `op` does not become one of the unit; nothing when there is room for it.
  std::optional<Refusal> join(size_t at, const OpPtr& op, const SiblingPolicy& policy) {
    const std::vector<OpPtr>& group = units_[at].ops;
    if (Reason reason = why_not_beside(*group[0], *op)) return Refusal{*reason};
    if (group.size() == kMostSiblings) {
      return Refusal{fmt::format("expected at most {} siblings, got {} beside those of {}",
                                 kMostSiblings, op->name, group[0]->name)};
    }
    Times later;
    if (std::optional<Refusal> refusal = postpone(at, *op, &later)) return refusal;
    if (auto refusal = policy({group, op})) return Refusal{*refusal};
    for (const auto& [unit, time] : later) units_[unit].time = time;
    return std::nullopt;
  }

  // The times of the units when that one is no earlier than what `op` reads: it and all that read
  // it, directly or not, may have to be later. If `op` is among these it cannot join.
  std::optional<Refusal> postpone(size_t at, const Op& op, Times* later) const {
    const size_t time = earliest(op);
    if (time <= units_[at].time) return std::nullopt;
    const std::vector<OpPtr> read = operands(op);
    const auto now = [&](size_t unit) {
      const auto found = later->find(unit);
      return found == later->end() ? units_[unit].time : found->second;
    };
    (*later)[at] = time;
    std::vector<size_t> waiting = {at};
    size_t steps = 0;
    while (!waiting.empty()) {
      const size_t unit = waiting.back();
      waiting.pop_back();
      for (const OpPtr& made : units_[unit].ops) {
        if (std::find(read.begin(), read.end(), made) != read.end()) {
          return Refusal{
              fmt::format("expected operations of which neither needs the other, got {} and {}",
                          units_[at].ops[0]->name, op.name),
              true};
        }
        const auto users = users_.find(made.get());
        if (users == users_.end()) continue;
        for (const size_t user : users->second) {
          if (++steps > kMostBetweenSiblings) {
            return Refusal{fmt::format("expected at most {} reads between {} and {}",
                                       kMostBetweenSiblings, units_[at].ops[0]->name, op.name)};
          }
          if (now(user) > now(unit)) continue;
          (*later)[user] = now(unit) + 1;
          waiting.push_back(user);
        }
      }
    }
    return std::nullopt;
  }

  void add(const OpPtr& op, size_t at, bool may_be_joined) {
    if (units_[at].ops.back() != op) units_[at].ops.push_back(op);
    unit_of_[op.get()] = at;
    for (const OpPtr& operand : operands(*op)) {
      users_[operand.get()].push_back(at);
      if (!may_be_joined || !is_stream(*operand)) continue;
      std::vector<size_t>& siblings = siblings_[operand.get()];
      if (std::find(siblings.begin(), siblings.end(), at) != siblings.end()) continue;
      siblings.push_back(at);
      constexpr size_t kMostCandidates = 8;  // the last ones are nearest
      if (siblings.size() > kMostCandidates) siblings.erase(siblings.begin());
    }
  }

  const Graph& graph_;
  std::vector<Unit> units_;
  std::unordered_map<const Op*, size_t> unit_of_;
  std::unordered_map<const Op*, std::vector<size_t>> users_;     // units that read it
  std::unordered_map<const Op*, std::vector<size_t>> siblings_;  // units that may be joined
};

}  // namespace

std::optional<std::string> why_not_siblings(const Op& first, const Op& sibling) {
  for (const Op* op : {&first, &sibling}) {
    if (Reason reason = why_not_member(*op)) return reason;
  }
  return why_not_beside(first, sibling);
}

bool shares_whole_operand(const Op& first, const Op& sibling) {
  const std::vector<OpPtr> common = common_operands(first, sibling);
  return std::any_of(common.begin(), common.end(),
                     [&](const OpPtr& operand) { return operand->shape == first.shape; });
}

std::vector<std::vector<OpPtr>> find_siblings(const Graph& graph, const SiblingPolicy& policy,
                                              FusionReport* report) {
  return Groups(graph).find(policy, report);
}

}  // namespace emulsion
