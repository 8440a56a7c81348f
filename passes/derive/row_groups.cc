#include "passes/derive/row_groups.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "dsl/error.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/graph_reads.h"
#include "passes/fuse/fused_group.h"

namespace emulsion {
namespace {

class GroupBuilder {
 public:
  GroupBuilder(const Op& reader, size_t rows, const Readers& readers,
               const std::unordered_set<const Op*>& taken)
      : readers_(readers), taken_(taken), group_{&reader, {}, rows} {}

  RowGroup build() {
    // A chain of any length is derived and lowered in time that grows with it, group by group.
    constexpr size_t kMostProducers = 32;
    whole_rows_[group_.reader] = true;
    std::vector<const Op*> open = {group_.reader};
    for (size_t next = 0; next < open.size(); ++next) {
      for (const OpPtr& operand : operands(*open[next])) {
        if (group_.producers.size() == kMostProducers) return std::move(group_);
        if (whole_rows_.count(operand.get())) continue;
        const std::optional<RowGroup::Producer> producer = producer_of(*operand);
        if (!producer) continue;
        whole_rows_[operand.get()] = producer->whole_rows;
        group_.producers.push_back(*producer);
        open.push_back(operand.get());
      }
    }
    return std::move(group_);
  }

 private:
  // When all that read it are in the group and read it by rows.
  std::optional<RowGroup::Producer> producer_of(const Op& op) const {
    const auto is_inside = [&](const Op& reader) { return whole_rows_.count(&reader) > 0; };
    if (taken_.count(&op) || readers_.why_not_only(op, is_inside)) return std::nullopt;
    bool whole = true;
    for (const Op* reader : *readers_.only_readers(op)) {
      if (why_not_by_rows(op, *reader, group_.rows)) return std::nullopt;
      const std::optional<Reads> reads = reads_of(op, *reader, op.shape.size());
      whole = whole && whole_rows_.at(reader) && reads && reads_whole(op, *reads, group_.rows);
    }
    return RowGroup::Producer{&op, whole};
  }

  const Readers& readers_;
  const std::unordered_set<const Op*>& taken_;
  RowGroup group_;
  std::unordered_map<const Op*, bool> whole_rows_;  // of the members
};

}  // namespace

std::vector<const Op*> members_of(const RowGroup& group) {
  std::vector<const Op*> members = {group.reader};
  for (const RowGroup::Producer& producer : group.producers) members.push_back(producer.op);
  return members;
}

std::optional<std::string> why_not_in_rows(const Op& op) {
  if (!is_computed(op)) {
    return fmt::format("expected {} to be computed", op.name);
  }
  if (!fits_one_expression(op)) {
    return fmt::format("expected {} to be a group that fits one expression", op.name);
  }
  if (std::count(op.shape.begin(), op.shape.end(), Extent(0)) > 0) {
    return fmt::format("expected {} to have elements", op.name);
  }
  const Op* sums = sums_of(op);
  if (sums == nullptr) return std::nullopt;
  if (combines_windows(*sums)) return fmt::format("expected {} to combine no windows", op.name);
  if (has_register_tiles(*sums)) {
    return fmt::format("expected {} to be no product that is computed in register tiles", op.name);
  }
  return std::nullopt;
}

std::optional<std::string> why_not_same_rows(const Op& producer, const Op& reader, size_t rows) {
  for (const Op* op : {&producer, &reader}) {
    if (rows == 0 || op->shape.size() < rows) {
      return fmt::format("expected {} to have axes that say which row, got {} of them", op->name,
                         std::min(rows, op->shape.size()));
    }
  }
  const std::optional<Reads> reads = reads_of(producer, reader, rows);
  if (!reads) return fmt::format("expected rows of {} that are affine", producer.name);
  if (reads->all.empty()) return fmt::format("expected {} to read {}", reader.name, producer.name);
  for (const std::vector<Affine>& read : reads->all) {
    for (size_t i = 0; i < rows; ++i) {
      if (is_axis(read[i], reads->axes[i]) && producer.shape[i] == reader.shape[i]) continue;
      return fmt::format("expected reads of {} at the same {}", producer.name,
                         reads->axes[i].name());
    }
  }
  return std::nullopt;
}

std::optional<std::string> why_not_by_rows(const Op& producer, const Op& reader, size_t rows) {
  for (const Op* op : {&producer, &reader}) {
    if (std::optional<std::string> reason = why_not_in_rows(*op)) return reason;
  }
  return why_not_same_rows(producer, reader, rows);
}

RowGroup build_row_group(const Op& reader, size_t rows, const Readers& readers,
                         const std::unordered_set<const Op*>& taken) {
  return GroupBuilder(reader, rows, readers, taken).build();
}

bool combines_rows(const RowGroup& group) {
  const auto combines = [](const RowGroup::Producer& p) { return sums_of(*p.op) != nullptr; };
  if (group.producers.empty()) return false;
  return sums_of(*group.reader) != nullptr ||
         std::any_of(group.producers.begin(), group.producers.end(), combines);
}

std::vector<RowGroup> row_groups(const Graph& grouped, const Target& target,
                                 const std::unordered_set<const Op*>& taken) {
  const Readers readers(grouped);
  std::vector<RowGroup> groups;
  std::unordered_set<const Op*> in_groups = taken;
  // Of an operation in a group that combines nothing, the group would be a part of that one.
  std::set<std::pair<const Op*, size_t>> hopeless;
  for (size_t i = grouped.ops().size(); i-- > 0;) {
    const Op& op = *grouped.ops()[i];
    if (in_groups.count(&op) || why_not_in_rows(op)) continue;
    // Most axes say which row, and least is there at a time, unless fewer axes join more.
    std::optional<RowGroup> best;
    for (size_t rows = op.shape.size(); rows > 0; --rows) {
      if (hopeless.count({&op, rows})) continue;
      RowGroup group = build_row_group(op, rows, readers, in_groups);
      if (!combines_rows(group)) {
        for (const RowGroup::Producer& producer : group.producers) {
          hopeless.emplace(producer.op, rows);
        }
      } else if (pays_to_group(group, target) &&
                 (!best || group.producers.size() > best->producers.size())) {
        best = std::move(group);
      }
    }
    if (!best) continue;
    const std::vector<const Op*> members = members_of(*best);
    in_groups.insert(members.begin(), members.end());
    groups.push_back(std::move(*best));
  }
  return groups;
}

}  // namespace emulsion
