// A group of rows: what is in it, and what of that is computed where it is read.

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "passes/derive/derive_series.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/graph_reads.h"
#include "passes/derive/merge_axes.h"
#include "passes/derive/row_groups.h"
#include "passes/derive/rows_at_a_time.h"

namespace emulsion {
namespace {

class RowGroupBuilder {
 public:
  RowGroupBuilder(bool in_pieces, const Readers& readers, const Target& target,
                  const std::unordered_set<const Op*>& taken, const MayKeep& may_keep)
      : in_pieces_(in_pieces),
        readers_(readers),
        target_(target),
        taken_(taken),
        may_keep_(may_keep) {}

  RowGroup build(const Op& reader, const std::vector<size_t>& axes,
                 const std::vector<const Op*>& others) {
    add({&reader, axes});
    bool keeps = !others.empty();
    add_results(others);
    do {
      join_operands();
    } while (may_keep_ && are_first(axes) && keep_one(&keeps));
    if (keeps) {  // each behind all that read it, also of those that came later
      std::sort(group_.members.begin(), group_.members.end(), [&](const auto& a, const auto& b) {
        return readers_.position_of(*a.op) > readers_.position_of(*b.op);
      });
    }
    for (RowGroup::Member& member : group_.members) {  // that the rest of the group may read alone
      member.is_kept = member.is_kept && is_needed_outside(*member.op);
    }
    return std::move(group_);
  }

 private:
  // A chain of any length is derived and lowered in time that grows with it, group by group.
  static constexpr size_t kMostMembers = 33;

  // Each behind all that read it.
  void add_results(std::vector<const Op*> others) {
    std::sort(others.begin(), others.end(), [&](const Op* a, const Op* b) {
      return readers_.position_of(*a) > readers_.position_of(*b);
    });
    for (const Op* other : others) {
      if (why_not_beside(*other, group_.reader(), group_.axes())) continue;
      RowGroup::Member result{other, group_.axes()};
      result.is_kept = true;
      if (is_read_by_rows(result)) add(std::move(result));
    }
  }

  void add(RowGroup::Member member) {
    place_[member.op] = group_.members.size();
    open_.push_back(member.op);
    group_.members.push_back(std::move(member));
  }

  // All that the members alone read.
  void join_operands() {
    for (; next_ < open_.size(); ++next_) {
      for (const OpPtr& operand : operands(*open_[next_])) {
        if (group_.members.size() == kMostMembers) return;
        if (place_.count(operand.get()) > 0) continue;
        std::optional<RowGroup::Member> producer = producer_of(*operand, false);
        if (producer) add(*std::move(producer));
      }
    }
  }

  // One that others need too.
  bool keep_one(bool* keeps) {
    for (const Op* reader : open_) {
      for (const OpPtr& operand : operands(*reader)) {
        if (group_.members.size() == kMostMembers) return false;
        if (place_.count(operand.get()) > 0) continue;
        std::optional<RowGroup::Member> producer = producer_of(*operand, true);
        if (!producer || !may_keep_(*producer, group_)) continue;
        *keeps = true;
        add(*std::move(producer));
        return true;
      }
    }
    return false;
  }

  bool is_inside(const Op& op) const { return place_.count(&op) > 0; }
  bool is_needed_outside(const Op& op) const {
    return readers_.why_not_only(op, [&](const Op& by) { return is_inside(by); }).has_value();
  }

  // When all that read it are in the group, or some and it may be kept, and these read it by rows.
  std::optional<RowGroup::Member> producer_of(const Op& op, bool is_kept) const {
    if (taken_.count(&op) > 0) return std::nullopt;
    if (is_needed_outside(op) != is_kept) return std::nullopt;
    RowGroup::Member producer{&op, {}};
    producer.is_kept = is_kept;
    for (const Op* reading : readers_.readers_of(op)) {
      if (!is_inside(*reading)) continue;
      const RowGroup::Member& reader = group_.members[place_.at(reading)];
      if (why_not_by_rows(op, *reader.op, reader.axes)) return std::nullopt;
      std::vector<size_t> axes = row_axes_of(op, *reader.op, reader.axes).value();
      if ((!in_pieces_ || is_kept) && !are_first(axes)) return std::nullopt;
      if (!producer.axes.empty() && axes != producer.axes) return std::nullopt;
      producer.axes = axes;
      const std::optional<Reads> reads = reads_of(op, *reader.op, op.shape.size());
      producer.whole_rows = producer.whole_rows && reader.whole_rows && reads &&
                            reads_whole(op, *reads, 0, {std::move(axes), reader.axes});
    }
    if (is_kept) producer.whole_rows = true;
    if (!has_vectors_in_rows(producer, target_) || !reads_members_by_rows(producer)) {
      return std::nullopt;
    }
    return producer;
  }

  // By all members so far.
  bool is_read_by_rows(const RowGroup::Member& result) const {
    const std::vector<const Op*>& reading = readers_.readers_of(*result.op);
    return std::all_of(reading.begin(), reading.end(), [&](const Op* reader) {
      if (!is_inside(*reader)) return true;
      const RowGroup::Member& by = group_.members[place_.at(reader)];
      return !why_not_by_rows(*result.op, *by.op, by.axes) &&
             row_axes_of(*result.op, *by.op, by.axes) == result.axes;
    });
  }

  // Of what is kept there may be readers that come later.
  bool reads_members_by_rows(const RowGroup::Member& reader) const {
    const std::vector<OpPtr> read = operands(*reader.op);
    return std::all_of(read.begin(), read.end(), [&](const OpPtr& operand) {
      if (!is_inside(*operand)) return true;
      return !why_not_by_rows(*operand, *reader.op, reader.axes) &&
             row_axes_of(*operand, *reader.op, reader.axes) ==
                 group_.members[place_.at(operand.get())].axes;
    });
  }

  const bool in_pieces_;
  const Readers& readers_;
  const Target& target_;
  const std::unordered_set<const Op*>& taken_;
  const MayKeep& may_keep_;
  RowGroup group_;
  std::unordered_map<const Op*, size_t> place_;  // of its members
  std::vector<const Op*> open_;                  // the members in the order in which they came
  size_t next_ = 0;                              // of these, whose operands were not looked at yet
};

// Which members are computed where they are read.
class InlineMembers {
 public:
  InlineMembers(const Readers& readers, const Target& target, RowGroup* group)
      : readers_(readers), target_(target), group_(*group) {}

  void mark() {
    for (size_t i = group_.members.size(); i-- > 1;) {  // what is read first
      RowGroup::Member& member = group_.members[i];
      if (member.is_kept) continue;
      const std::optional<int64_t> cost = cost_of(member);
      if (!cost || !keeps_vectors(*member.op) || is_for_flat_series(member)) continue;
      member.is_inline = *cost <= kAsALoad || is_read_once(*member.op, readers_);
      if (!member.is_inline) continue;
      costs_[member.op] = *cost;
      if (differs_along_rows(*member.op)) along_rows_.insert(member.op);
    }
  }

 private:
  static constexpr int64_t kMost = 16;  // instructions that an expression may grow to

  // Whether what is inline in it, or it itself, reads anything else than whole rows as they lie.
  bool differs_along_rows(const Op& op) const {
    if (!lies_flat(op)) return true;
    const std::vector<OpPtr> read = operands(op);
    return std::any_of(read.begin(), read.end(),
                       [&](const OpPtr& operand) { return along_rows_.count(operand.get()) > 0; });
  }

  // Of rows that fill no vectors a series is computed in vectors through several of them: it is
  // stored, and so is what it reads that differs along them.
  bool is_for_flat_series(const RowGroup::Member& member) const {
    constexpr int64_t kLeastRows = 4;
    const Op& op = *member.op;
    if (member.axes.size() + 1 != op.shape.size() || !member.whole_rows) return false;
    const std::optional<int64_t> all = element_count(op.shape),
                                 row = elements_of_row(op, member.axes);
    if (!row || (all && *all < kLeastRows * *row)) return false;
    if (!all && (!are_short_rows(*row) || !may_end_with_last_row(group_))) return false;
    if (has_flat_series(op, target_)) return true;
    if (!differs_along_rows(op)) return false;
    const std::vector<const Op*>& reading = readers_.readers_of(op);
    return std::any_of(reading.begin(), reading.end(),
                       [&](const Op* reader) { return has_flat_series(*reader, target_); });
  }

  // What an element costs, with all that is inline in it; nothing when it combines elements or
  // costs too much, or reads along its row elsewhere than at its own place: vectors of that may be
  // gathered, and here each of them once.
  std::optional<int64_t> cost_of(const RowGroup::Member& member) const {
    const Op& op = *member.op;
    if (sums_of(op) != nullptr) return std::nullopt;
    int64_t cost = 0, rows = 0;
    for (const OpPtr& operand : operands(op)) {
      const std::optional<Reads> reads = reads_of(*operand, op, operand->shape.size());
      if (!reads) return std::nullopt;
      if (is_one_for_a_row(*reads, member) || is_one_for_a_vector(*reads)) continue;
      if (!reads_at_own_place(*operand, op)) return std::nullopt;
      const auto inlined = costs_.find(operand.get());
      ++rows;
      if (inlined == costs_.end()) continue;
      cost += inlined->second * static_cast<int64_t>(reads->all.size());
    }
    cost += instructions_of(op);
    if (rows > 1) cost += kAsALoad;  // each of these is loaded
    return cost <= kMost ? std::optional(cost) : std::nullopt;
  }

  // Whether vectors of what reads it are vectors of it: no quotients of a reshape say where, nor of
  // more axes than two that are merged, whose quotients cancel in what is read, but not further on.
  bool keeps_vectors(const Op& op) const {
    constexpr size_t kMostMerged = 2;
    const std::vector<const Op*>& reading = readers_.readers_of(op);
    return std::all_of(reading.begin(), reading.end(), [&](const Op* reader) {
      if (!reads_of(op, *reader, op.shape.size())) return false;
      const Op* sums = sums_of(*reader);
      const auto merged = sums ? merge_reduction_axes(*sums, target_) : std::nullopt;
      return !merged || merged->merged.size() <= kMostMerged;
    });
  }

  bool is_one_for_a_row(const Reads& reads, const RowGroup::Member& member) const {
    return std::all_of(reads.all.begin(), reads.all.end(), [&](const std::vector<Affine>& read) {
      for (size_t at = 0; at < reads.axes.size(); ++at) {
        if (std::count(member.axes.begin(), member.axes.end(), at) > 0) continue;
        const std::string& name = reads.axes[at].name();
        const auto moves = [&](const Affine& index) { return index.coefficients.count(name) > 0; };
        if (std::any_of(read.begin(), read.end(), moves)) return false;
      }
      return true;
    });
  }

  // Whether each read is of one value for all places along the last axis, at those of its others.
  static bool is_one_for_a_vector(const Reads& reads) {
    return std::all_of(reads.all.begin(), reads.all.end(), [&](const std::vector<Affine>& read) {
      return std::all_of(read.begin(), read.end(), [&](const Affine& index) {
        if (index.coefficients.empty()) return true;
        return std::any_of(reads.axes.begin(), reads.axes.end() - 1,
                           [&](const Axis& axis) { return is_axis(index, axis); });
      });
    });
  }

  const Readers& readers_;
  const Target& target_;
  RowGroup& group_;
  std::unordered_map<const Op*, int64_t> costs_;  // of those that are inline
  std::unordered_set<const Op*> along_rows_;      // of those that differ along rows
};

// Which members are computed with each vector of the reader, where there are results beside it:
// they have its elements, and what is read of them is read there, at the same place.
class MembersWithReader {
 public:
  MembersWithReader(const Readers& readers, const Target& target, RowGroup* group)
      : readers_(readers), target_(target), group_(*group) {}

  void mark() {
    const auto is_result = [&](const RowGroup::Member& member) {
      return member.is_kept && member.op->shape == group_.reader().shape;
    };
    if (std::none_of(group_.members.begin(), group_.members.end(), is_result)) return;
    if (!is_first_of_one_axis() || !goes_along(group_.members.front())) return;
    found_ = {&group_.reader()};
    bool any = false;
    for (size_t i = 1; i < group_.members.size(); ++i) {  // each behind all that read it
      const RowGroup::Member& member = group_.members[i];
      if (!goes_along(member) || has_borders(*member.op)) continue;
      if (!is_read_with_them(*member.op)) continue;
      found_.insert(member.op);
      any = any || is_result(member);
    }
    if (!any || !lasts_fit()) return;
    for (RowGroup::Member& member : group_.members) {
      member.is_with_reader =
          found_.count(member.op) > 0 && !member.is_inline && member.op != &group_.reader();
    }
  }

 private:
  // That a row is a few vectors of one axis.
  bool is_first_of_one_axis() const {
    const Op& reader = group_.reader();
    const size_t rows = group_.axes().size();
    if (!are_first(group_) || reader.shape.size() != rows + 1) return false;
    return reader.shape.back().as_constant().value_or(0) > lanes();
  }

  bool goes_along(const RowGroup::Member& member) const {
    const Op& op = *member.op;
    return sums_of(op) == nullptr && member.whole_rows && op.shape == group_.reader().shape &&
           vector_axis(result_of(op), target_) + 1 == op.shape.size() && !crosses(op, target_);
  }

  // By members that have been found, or by none.
  bool is_read_with_them(const Op& op) const {
    const std::vector<const Op*>& reading = readers_.readers_of(op);
    return std::all_of(reading.begin(), reading.end(), [&](const Op* reader) {
      return !is_member(*reader) || (found_.count(reader) > 0 && reads_at_own_place(op, *reader));
    });
  }

  bool is_member(const Op& op) const {
    return std::any_of(group_.members.begin(), group_.members.end(),
                       [&](const RowGroup::Member& member) { return member.op == &op; });
  }

  // No element is stored twice: the last vector has masks, where it is not a whole one.
  bool lasts_fit() const {
    if (group_.reader().shape.back().exact_quotient(lanes())) return true;
    return std::none_of(found_.begin(), found_.end(),
                        [&](const Op* op) { return lacks_masks(result_of(*op), target_); });
  }

  int64_t lanes() const { return value_lanes(result_of(group_.reader()), target_); }

  const Readers& readers_;
  const Target& target_;
  RowGroup& group_;
  std::unordered_set<const Op*> found_;
};

}  // namespace

RowGroup build_row_group(const Op& reader, const std::vector<size_t>& axes, bool in_pieces,
                         const Readers& readers, const Target& target,
                         const std::unordered_set<const Op*>& taken, const MayKeep& may_keep,
                         const std::vector<const Op*>& others) {
  RowGroup group =
      RowGroupBuilder(in_pieces, readers, target, taken, may_keep).build(reader, axes, others);
  InlineMembers(readers, target, &group).mark();
  MembersWithReader(readers, target, &group).mark();
  return group;
}

}  // namespace emulsion
