#include "passes/derive/loop_groups.h"

#include <algorithm>
#include <utility>

#include "dsl/error.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/small_rows.h"

namespace emulsion {
namespace {

std::optional<std::string> why_not_pair(const Op& producer, const Op& reader, LoopGroupKind kind,
                                        const std::vector<size_t>& axes, const Target& target) {
  switch (kind) {
    case LoopGroupKind::rows:
      return why_not_by_rows(producer, reader, axes);
    case LoopGroupKind::columns:
      return why_not_by_columns(producer, reader);
    case LoopGroupKind::row_blocks:  // of rows and products that they are made of or go into, or of
                                     // layers
      return why_not_same_rows(producer, reader, axes.size());
    case LoopGroupKind::windows:
      return why_not_slide(producer, reader, axes.size() - 1, target);
    case LoopGroupKind::waiting_sums:
      return why_not_wait(producer, reader, target);
  }
  EMULSION_CHECK(false, "no such kind {}", static_cast<int>(kind));
  return std::nullopt;
}

// One group after another, each by looking at its members and at what they read.
class GroupReader {
 public:
  GroupReader(const ReadThrough& through, const Target& target)
      : through_(through), target_(target), readers_(through.graph) {}

  void read(const LoopGroup& group) {
    name_ = group.members.back()->name;
    find_members(group);
    MemberAxes behind = {{members_.back(), group.axes}};
    for (auto next = members_.rbegin() + 1; next != members_.rend(); ++next) {
      const Op& member = **next;
      const auto reason = is_result(member, group)
                              ? why_not_result(member, behind)
                              : why_not_in_loops(member, group.kind, behind, readers_, target_);
      if (reason) {
        refuse(*reason);
      }
      behind[&member] = axes_of(member, group, behind);
    }
    switch (group.kind) {
      case LoopGroupKind::rows: {
        if (auto small = small_rows_of(*members_.back(), readers_, target_, taken_);
            small && small->axes() == group.axes) {
          return add(*std::move(small), &groups_.small);
        }
        std::vector<const Op*> others;
        for (const Op* member : members_) {
          if (is_result(*member, group)) others.push_back(member);
        }
        const auto may_keep = [&](const RowGroup::Member& kept, const RowGroup&) {
          return is_member_.count(kept.op) > 0;
        };
        RowGroup rows = build_row_group(*members_.back(), group.axes, true, readers_, target_,
                                        taken_, may_keep, others);
        if (!combines_rows(rows)) refuse("expected rows that are combined");
        if (auto reason = why_not_worth_rows(rows, target_)) refuse(*reason);
        return add(std::move(rows), &groups_.rows);
      }
      case LoopGroupKind::columns: {
        ColumnGroup columns =
            build_column_group(*members_.back(), group.axes, readers_, target_, taken_);
        if (!combines_columns(columns) || !columns_of_block(columns, target_)) {
          refuse("expected columns that pay");
        }
        return add(std::move(columns), &groups_.columns);
      }
      case LoopGroupKind::row_blocks: {
        std::optional<BlockGroup> blocks = row_blocks_of(members_, readers_, target_, taken_);
        if (blocks) return add(std::move(*blocks), &groups_.blocks);
        std::optional<LayerBlocks> layers = layer_blocks_of(members_, readers_, target_, taken_);
        if (layers) return add(std::move(*layers), &groups_.layers);
        refuse("expected a contraction of rows that are combined, or layers, for which it pays");
      }
      case LoopGroupKind::windows: {
        WindowChain chain =
            build_window_chain(*members_.back(), group.axes.size() - 1, readers_, target_, taken_);
        if (!pays_to_slide(chain, readers_, target_)) refuse("expected windows that pay");
        return add(std::move(chain), &groups_.windows);
      }
      case LoopGroupKind::waiting_sums: {
        const std::vector<const Op*> sums(members_.begin(), members_.end() - 1);
        if (sums.size() > 1 && !can_wait_together(sums, target_)) {
          refuse("expected sums that can wait together");
        }
        return add(WaitingSums{sums, members_.back()}, &groups_.sums);
      }
    }
  }

  // In the order in which they are found in a graph without groups: chains and rows from its end
  // on. Names that a schedule makes up depend on it.
  LoopGroups groups() {
    std::reverse(groups_.windows.begin(), groups_.windows.end());
    std::reverse(groups_.layers.begin(), groups_.layers.end());
    std::reverse(groups_.columns.begin(), groups_.columns.end());
    std::reverse(groups_.rows.begin(), groups_.rows.end());
    std::reverse(groups_.small.begin(), groups_.small.end());
    return std::move(groups_);
  }

 private:
  // Moves that are read through are no members any more.
  void find_members(const LoopGroup& group) {
    members_.clear();
    is_member_.clear();
    taken_.clear();
    for (const OpPtr& member : group.members) {
      const OpPtr* const op = through_.graph.find(member->name);
      const bool is_inline =
          group.kind != LoopGroupKind::windows && through_.moves.count(member->name) > 0;
      if (op != nullptr && !is_inline) members_.push_back(op->get());
    }
    if (members_.size() < 2 || members_.back()->name != name_) {
      refuse("expected several members that are stored");
    }
    is_member_.insert(members_.begin(), members_.end());
    for (const Op* member : members_) {
      for (const OpPtr& operand : operands(*member)) {
        if (is_member_.count(operand.get()) == 0) taken_.insert(operand.get());
      }
    }
  }

  std::optional<std::string> why_not_result(const Op& op, const MemberAxes& behind) const {
    if (std::optional<std::string> reason = why_not_in_rows(op)) return reason;
    for (const Op* reader : readers_.readers_of(op)) {
      const auto member = behind.find(reader);
      if (member == behind.end()) continue;
      if (auto reason = why_not_by_rows(op, *reader, member->second)) return reason;
    }
    return why_not_beside(op, *members_.back(), behind.at(members_.back()));
  }

  bool is_needed_outside(const Op& op) const {
    const auto is_member = [&](const Op& by) { return is_member_.count(&by) > 0; };
    return readers_.why_not_only(op, is_member).has_value();
  }

  // Of rows: what is kept and has the elements of the last one, or is read by none of them.
  bool is_result(const Op& op, const LoopGroup& group) const {
    if (group.kind != LoopGroupKind::rows || &op == members_.back()) return false;
    if (!is_needed_outside(op)) return false;
    const std::vector<const Op*>& reading = readers_.readers_of(op);
    return op.shape == members_.back()->shape ||
           std::none_of(reading.begin(), reading.end(),
                        [&](const Op* reader) { return is_member_.count(reader) > 0; });
  }

  template <typename Group>
  void add(Group group, std::vector<Group>* groups) const {
    const std::vector<const Op*> members = members_of(group);
    for (const Op* member : members_) {
      if (std::count(members.begin(), members.end(), member) > 0) continue;
      refuse(fmt::format("expected {} to be one of them", member->name));
    }
    groups->push_back(std::move(group));
  }

  // Which of its axes say which part: the same as of the last one, but of rows, where what reads it
  // says so.
  std::vector<size_t> axes_of(const Op& member, const LoopGroup& group,
                              const MemberAxes& behind) const {
    if (group.kind != LoopGroupKind::rows) return group.axes;
    if (is_result(member, group)) return group.axes;
    const std::vector<const Op*>& reading = readers_.readers_of(member);
    const Op& reader = **std::find_if(reading.begin(), reading.end(),
                                      [&](const Op* op) { return behind.count(op) > 0; });
    return row_axes_of(member, reader, behind.at(&reader)).value();
  }

  [[noreturn]] void refuse(const std::string& reason) const {
    fail(
        "derive_schedule: the loop group of {}: {}; legal: a graph without it, or as share_loops "
        "gave it for {}",
        name_, reason, target_.to_string());
  }

  const ReadThrough& through_;
  const Target& target_;
  const Readers readers_;
  std::string name_;
  std::vector<const Op*> members_;
  std::unordered_set<const Op*> is_member_, taken_;
  LoopGroups groups_;
};

}  // namespace

std::optional<std::string> why_not_in_loops(const Op& producer, LoopGroupKind kind,
                                            const MemberAxes& members, const Readers& readers,
                                            const Target& target) {
  const auto is_member = [&](const Op& reader) { return members.count(&reader) > 0; };
  if (kind != LoopGroupKind::rows) {  // of these others may be kept
    if (auto reason = readers.why_not_only(producer, is_member)) return reason;
  }
  std::vector<const Op*> reading = readers.readers_of(producer);
  reading.erase(std::remove_if(reading.begin(), reading.end(),
                               [&](const Op* reader) { return !is_member(*reader); }),
                reading.end());
  if (reading.empty()) return fmt::format("expected {} to be read there", producer.name);
  for (const Op* reader : reading) {
    if (auto reason = why_not_pair(producer, *reader, kind, members.at(reader), target))
      return reason;
  }
  return std::nullopt;
}

LoopGroups read_loop_groups(const Graph& shared, const ReadThrough& through, const Target& target) {
  if (shared.loop_groups().empty()) return {};
  GroupReader reader(through, target);
  for (const LoopGroup& group : shared.loop_groups()) reader.read(group);
  return reader.groups();
}

std::optional<FusionRefusal> unwanted_through(const std::string& pattern, const Op& op,
                                              const LoopPolicy& policy) {
  const std::vector<const Op*> operations = {&op};
  return policy({pattern, operations});
}

bool wanted_in_loops(const std::string& pattern, const std::vector<const Op*>& operations,
                     const LoopPolicy& policy, std::vector<FusionDecision>* decisions) {
  const std::optional<FusionRefusal> refusal = policy({pattern, operations});
  const std::string reason = refusal ? refusal->reason : "";
  const bool measured = refusal && refusal->measured;
  for (size_t i = 1; i < operations.size(); ++i) {
    decisions->push_back(
        {operations[i]->name, operations[0]->name, !refusal, reason, pattern, measured});
  }
  return !refusal;
}

std::set<std::string> inlined_moves(const ReadThrough& through,
                                    const std::unordered_set<const Op*>& done) {
  std::set<std::string> inlined = transposed_weights(through.graph);
  for (const std::string& name : through.moves) {
    const OpPtr* op = through.graph.find(name);
    if (op == nullptr || done.count(op->get()) == 0) inlined.insert(name);
  }
  return inlined;
}

}  // namespace emulsion
