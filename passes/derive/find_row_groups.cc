// The groups of rows of a graph: which pay, and which are wider with several results.

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "dsl/index_arithmetic.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/graph_reads.h"
#include "passes/derive/row_groups.h"
#include "passes/derive/waiting_sums.h"
#include "passes/fuse/fused_group.h"

namespace emulsion {
namespace {

// The reader, and what is kept.
std::vector<const Op*> results_of(const RowGroup& group) {
  std::vector<const Op*> results;
  for (const RowGroup::Member& member : group.members) {
    if (group.is_read_outside(member)) results.push_back(member.op);
  }
  return results;
}

// What comes behind what, in a graph of which some operations are computed together: of these
// nothing is there before all are.
class Order {
 public:
  explicit Order(const Readers& readers) : readers_(readers) {}

  // Only those of groups that keep something matter: of all others the last one alone is read.
  void add(const RowGroup& group) {
    const std::vector<const Op*> read = results_of(group);
    for (const RowGroup::Member& member : group.members) read_with_.erase(member.op);
    if (read.size() < 2) return;
    for (const RowGroup::Member& member : group.members) {
      read_with_[member.op] = read;
      last_ = std::max(last_, readers_.position_of(*member.op));
    }
  }

  // Whether the group needs something outside of it that needs `op`: then the two cannot be
  // computed together.
  bool needs_behind(const RowGroup& group, const Op& needed) const {
    const std::vector<const Op*> members = members_of(group);
    const std::unordered_set<const Op*> inside(members.begin(), members.end());
    // Behind it nothing comes before the group.
    const size_t end = std::max(last_, readers_.position_of(group.reader()));
    std::vector<const Op*> open;
    std::unordered_set<const Op*> seen;
    const auto add = [&](const Op* op) {
      if (seen.insert(op).second) open.push_back(op);
    };
    for (const Op* reader : readers_.readers_of(needed)) {
      if (inside.count(reader) == 0) add(reader);
    }
    while (!open.empty()) {
      const Op& op = *open.back();
      open.pop_back();
      if (inside.count(&op) > 0) return true;
      const auto with = read_with_.find(&op);
      if (readers_.position_of(op) > end) continue;
      const std::vector<const Op*> alone = {&op};
      for (const Op* read : with == read_with_.end() ? alone : with->second) {
        for (const Op* reader : readers_.readers_of(*read)) add(reader);
      }
    }
    return false;
  }

 private:
  const Readers& readers_;
  std::unordered_map<const Op*, std::vector<const Op*>> read_with_;  // of members
  size_t last_ = 0;                                                  // the position of one of these
};

// Groups that end in one operation after another, of which the best is wanted.
class GroupFinder {
 public:
  GroupFinder(const Readers& readers, const Target& target)
      : readers_(readers), target_(target), order_(readers) {}

  void add(const RowGroup& group) { order_.add(group); }

  // `taken`: what is in groups.
  std::optional<RowGroup> ending_in(const Op& op, const std::unordered_set<const Op*>& taken) {
    best_.reset();
    refused_.reset();
    // Most axes say which row, and least is there at a time, unless fewer axes join more.
    for (size_t rows = op.shape.size(); rows > 0; --rows) {
      try_axes(op, first_axes(rows), false, taken);
    }
    // Or one wherever it is, and all that every operation has beside it.
    for (size_t at = 0; at < op.shape.size(); ++at) {
      if (!try_axes(op, {at}, true, taken)) continue;
      for (size_t other = 0; other < op.shape.size(); ++other) {
        std::vector<size_t> axes = best_->axes();
        const auto place = std::lower_bound(axes.begin(), axes.end(), other);
        if (place != axes.end() && *place == other) continue;
        axes.insert(place, other);
        RowGroup narrower = build(op, axes, true, taken);
        if (narrower.members.size() < best_->members.size()) continue;
        if (!why_not_worth_rows(narrower, target_)) best_ = std::move(narrower);
      }
    }
    widen_rows(op, taken);
    if (best_ && is_sums_alone(*best_)) best_.reset();
    return std::move(best_);
  }

  // What the last one would have been, if anything.
  std::optional<DeclinedRows> declined() { return std::move(refused_); }

  // The group of these results, the last one first, where it pays: whole rows of the others are
  // computed with its vectors.
  std::optional<RowGroup> with_results(const std::vector<const Op*>& results,
                                       const std::vector<size_t>& axes,
                                       const std::unordered_set<const Op*>& taken) {
    RowGroup group =
        build(*results.front(), axes, false, taken, {results.begin() + 1, results.end()});
    if (!combines_rows(group)) return std::nullopt;
    for (const RowGroup::Member& member : group.members) {
      if (member.is_kept && !member.is_with_reader &&
          why_not_worth_keeping(member, group, target_)) {
        return std::nullopt;
      }
      if (group.is_read_outside(member) && order_.needs_behind(group, *member.op)) {
        return std::nullopt;
      }
    }
    if (why_not_worth_rows(group, target_)) return std::nullopt;
    return group;
  }

 private:
  // Whether it is nothing but sums of many rows, in memory, that are walked through faster where
  // the last axis of the rows is a part of them, as that of pictures is.
  bool has_wider_rows(const RowGroup& group) const {
    if (group.members.size() != 2 || !are_first(group)) return false;
    const Op& sums = *group.members.back().op;
    const size_t last = group.axes().size() - 1;
    return sums_of(sums) == &sums && reads_at_own_place(sums, group.reader()) &&
           combines_many_rows(sums, target_, last) && lies_within(sums, sums.axes[last]);
  }

  // Those have none at all where nothing is left that says which row.
  void widen_rows(const Op& op, const std::unordered_set<const Op*>& taken) {
    while (best_ && has_wider_rows(*best_)) {
      if (best_->axes().size() == 1) return best_.reset();
      RowGroup wider = build(op, first_axes(best_->axes().size() - 1), false, taken);
      const bool is_same = wider.members.size() == best_->members.size();
      if (!is_same || why_not_worth_rows(wider, target_)) return;
      best_ = std::move(wider);
    }
  }

  // Whether it is nothing but sums and what reads them at their own places, and rows are of no use:
  // sums that wait in registers are stored nowhere (waiting_sums.h), and those of one row are all.
  bool is_sums_alone(const RowGroup& group) const {
    if (group.members.size() != 2) return false;
    const Op& sums = *group.members.back().op;
    if (!why_not_wait(sums, group.reader(), target_)) return true;
    const std::vector<size_t>& rows = group.axes();
    return sums_of(sums) != nullptr && reads_at_own_place(sums, group.reader()) &&
           std::all_of(rows.begin(), rows.end(),
                       [&](size_t at) { return group.reader().shape[at] == Extent(1); });
  }

  // Whether the group is the best one so far.
  bool try_axes(const Op& op, const std::vector<size_t>& axes, bool in_pieces,
                const std::unordered_set<const Op*>& taken) {
    if (hopeless_.count({&op, in_pieces, axes}) > 0) return false;
    keeps_elsewhere_ = false;
    RowGroup group = build(op, axes, in_pieces, taken);
    if (!combines_rows(group)) {
      if (keeps_elsewhere_) return false;
      for (RowGroup::Member& member : group.members) {
        hopeless_.emplace(member.op, in_pieces, std::move(member.axes));
      }
      return false;
    }
    if (best_ && group.members.size() <= best_->members.size()) return false;
    if (std::optional<std::string> reason = why_not_worth_rows(group, target_)) {
      if (!refused_ || group.members.size() > refused_->members.size()) {
        refused_ = DeclinedRows{members_of(group), *std::move(reason)};
      }
      return false;
    }
    best_ = std::move(group);
    return true;
  }

  // Whether it is rather kept by a reader that has whole rows, from the group of one that has none:
  // that one can as well come behind.
  bool is_better_kept(const RowGroup::Member& kept, const RowGroup& group) const {
    if (!is_one_in_a_row(group.reader(), group.axes())) return false;
    const std::vector<const Op*>& reading = readers_.readers_of(*kept.op);
    return std::any_of(reading.begin(), reading.end(), [&](const Op* reader) {
      return reader->shape.size() > kept.axes.size() &&
             !why_not_by_rows(*kept.op, *reader, kept.axes) && !is_one_in_a_row(*reader, kept.axes);
    });
  }

  RowGroup build(const Op& op, const std::vector<size_t>& axes, bool in_pieces,
                 const std::unordered_set<const Op*>& taken,
                 const std::vector<const Op*>& others = {}) {
    const auto may_keep = [&](const RowGroup::Member& kept, const RowGroup& group) {
      if (why_not_worth_keeping(kept, group, target_) || is_better_kept(kept, group)) return false;
      const bool is_behind = order_.needs_behind(group, *kept.op);
      keeps_elsewhere_ = keeps_elsewhere_ || is_behind;
      return !is_behind;
    };
    return build_row_group(op, axes, in_pieces, readers_, target_, taken, may_keep, others);
  }

  const Readers& readers_;
  const Target& target_;
  Order order_;
  bool keeps_elsewhere_ = false;  // whether a smaller group might keep what this one does not
  // Of an operation in a group that combines nothing, the group would be a part of that one.
  std::set<std::tuple<const Op*, bool, std::vector<size_t>>> hopeless_;
  std::optional<RowGroup> best_;
  std::optional<DeclinedRows> refused_;
};

// Groups that go through the same rows, and what else does, made one.
class ResultJoiner {
 public:
  // `taken`: what is in groups, these and others.
  ResultJoiner(const Readers& readers, GroupFinder* finder, std::unordered_set<const Op*> taken,
               std::vector<RowGroup> groups)
      : readers_(readers), finder_(*finder), taken_(std::move(taken)), groups_(std::move(groups)) {
    for (size_t at = 0; at < groups_.size(); ++at) place(at);
  }

  std::vector<RowGroup> joined() {
    for (size_t at = 0; at < groups_.size(); ++at) {
      while (!groups_[at].members.empty() && join_one(at)) continue;
    }
    groups_.erase(std::remove_if(groups_.begin(), groups_.end(),
                                 [](const RowGroup& group) { return group.members.empty(); }),
                  groups_.end());
    return std::move(groups_);
  }

 private:
  // Each a stream to memory; and ends that are looked at for a group, or a stream of it.
  static constexpr std::ptrdiff_t kMostResults = 8;
  static constexpr size_t kMostEnds = 16;

  void place(size_t at) {
    for (const Op* op : members_of(groups_[at])) group_of_[op] = at;
  }

  // Another result for a group. False where there is none.
  bool join_one(size_t at) {
    for (const std::vector<const Op*>& ends : ends_beside(groups_[at])) {
      std::optional<RowGroup> wider = together(groups_[at], ends);
      if (!wider) continue;
      for (const Op* end : ends) {
        const auto other = group_of_.find(end);
        if (other != group_of_.end()) groups_[other->second].members.clear();
      }
      groups_[at] = *std::move(wider);
      place(at);
      finder_.add(groups_[at]);
      const std::vector<const Op*> members = members_of(groups_[at]);
      taken_.insert(members.begin(), members.end());
      return true;
    }
    return false;
  }

  // The group that an operation is the last one of, as far as there is one: or itself.
  RowGroup group_at(const Op& end, const RowGroup& beside) const {
    const auto group = group_of_.find(&end);
    if (group != group_of_.end()) return groups_[group->second];
    return RowGroup{{{&end, beside.axes()}}};
  }

  // What goes through whole rows that the group goes through, too: where groups, or single
  // operations, end that read these, and where a group ends that makes them; each alone, and all.
  std::vector<std::vector<const Op*>> ends_beside(const RowGroup& group) const {
    const std::vector<const Op*> members = members_of(group);
    const std::unordered_set<const Op*> inside(members.begin(), members.end());
    std::vector<std::vector<const Op*>> ends, together;
    std::unordered_set<const Op*> streams, seen;
    const auto add_ends = [&](const Op& stream) {
      if (!streams.insert(&stream).second) return;
      std::vector<const Op*> of_stream;
      const auto add = [&](const Op& op) {
        if (inside.count(&op) > 0 || (group_of_.count(&op) == 0 && taken_.count(&op) > 0)) return;
        const Op* end = &group_at(op, group).reader();
        if (std::count(of_stream.begin(), of_stream.end(), end) == 0) of_stream.push_back(end);
      };
      if (is_computed(stream)) add(stream);
      for (const Op* reading : readers_.readers_of(stream)) {
        if (of_stream.size() == kMostEnds) break;
        add(*reading);
      }
      for (const Op* end : of_stream) {
        if (ends.size() < kMostEnds && seen.insert(end).second) ends.push_back({end});
      }
      if (of_stream.size() > 1) together.push_back(std::move(of_stream));
    };
    for (const Op* member : members) {
      if (!is_one_in_a_row(*member, group.axes())) add_ends(*member);
      for (const OpPtr& operand : operands(*member)) {
        if (goes_through(*member, *operand, group)) add_ends(*operand);
      }
    }
    ends.insert(ends.end(), together.begin(), together.end());
    return ends;
  }

  // Whether an operation reads several elements of a row of another one, of the row that it
  // computes.
  static bool goes_through(const Op& reader, const Op& op, const RowGroup& group) {
    const std::vector<size_t>& axes = group.axes();
    return !why_not_same_rows(op, reader, axes.size()) && !is_one_in_a_row(op, axes);
  }

  // Those that end there and the group as one, if they can be and it pays.
  std::optional<RowGroup> together(const RowGroup& group, const std::vector<const Op*>& ends) {
    std::vector<const Op*> results = results_of(group), all = members_of(group);
    int64_t bytes = 0;
    for (const Op* end : ends) {
      const RowGroup more = group_at(*end, group);
      if (more.axes() != group.axes()) return std::nullopt;
      for (const Op* result : results_of(more)) {
        if (why_not_in_rows(*result)) return std::nullopt;
        results.push_back(result);
      }
      const std::vector<const Op*> members = members_of(more);
      all.insert(all.end(), members.begin(), members.end());
      bytes += bytes_of_row(more);
    }
    const auto is_stream = [&](const Op* op) { return !is_one_in_a_row(*op, group.axes()); };
    if (std::count_if(results.begin(), results.end(), is_stream) > kMostResults) {
      return std::nullopt;
    }
    std::sort(results.begin(), results.end(), [&](const Op* a, const Op* b) {
      return readers_.position_of(*a) > readers_.position_of(*b);
    });
    for (const Op* result : results) {
      if (why_not_beside(*result, *results.front(), group.axes())) return std::nullopt;
    }
    for (const Op* op : all) taken_.erase(op);
    std::optional<RowGroup> wider = finder_.with_results(results, group.axes(), taken_);
    for (const Op* op : all) {
      if (group_of_.count(op) > 0) taken_.insert(op);
    }
    if (!wider || !contains(*wider, all)) return std::nullopt;
    if (!saves_enough(bytes_of_row(group), bytes, bytes_of_row(*wider))) return std::nullopt;
    return wider;
  }

  // Whether few streams are left of what goes between memory and a row: of many, of which few are
  // the same, each part is faster by itself. `norm_and_relu` and others of `//benchmarks:fusion`
  // measure it.
  static bool saves_enough(int64_t of_group, int64_t of_others, int64_t together) {
    constexpr int64_t kLeastOfOthers = 2, kLeastOfAll = 6;
    const int64_t saved = of_group + of_others - together;
    return saved * kLeastOfOthers >= of_others && saved * kLeastOfAll >= of_group + of_others;
  }

  // What goes between memory and a row, but for single values.
  static int64_t bytes_of_row(const RowGroup& group) {
    const std::vector<const Op*> members = members_of(group);
    const std::unordered_set<const Op*> inside(members.begin(), members.end());
    std::unordered_set<const Op*> streams;
    int64_t bytes = 0;
    const auto add = [&](const Op& op) {
      if (is_one_in_a_row(op, group.axes()) || !streams.insert(&op).second) return;
      bytes +=
          saturated_product(elements_of_row(op, group.axes()).value_or(0), size_in_bytes(op.dtype));
    };
    for (const RowGroup::Member& member : group.members) {
      if (group.is_read_outside(member)) add(*member.op);
      for (const OpPtr& operand : operands(*member.op)) {
        if (inside.count(operand.get()) > 0) continue;
        if (goes_through(*member.op, *operand, group)) add(*operand);
      }
    }
    return bytes;
  }

  static bool contains(const RowGroup& group, const std::vector<const Op*>& ops) {
    const std::vector<const Op*> members = members_of(group);
    const std::unordered_set<const Op*> inside(members.begin(), members.end());
    return std::all_of(ops.begin(), ops.end(), [&](const Op* op) { return inside.count(op) > 0; });
  }

  const Readers& readers_;
  GroupFinder& finder_;
  std::unordered_set<const Op*> taken_;
  std::vector<RowGroup> groups_;                    // one that went into another is empty
  std::unordered_map<const Op*, size_t> group_of_;  // of members
};

}  // namespace

std::vector<RowGroup> row_groups(const Graph& grouped, const Target& target,
                                 const std::unordered_set<const Op*>& taken,
                                 std::vector<DeclinedRows>* declined) {
  const Readers readers(grouped);
  GroupFinder finder(readers, target);
  std::vector<RowGroup> groups;
  std::unordered_set<const Op*> in_groups = taken;
  for (size_t i = grouped.ops().size(); i-- > 0;) {
    const Op& op = *grouped.ops()[i];
    if (in_groups.count(&op) > 0 || why_not_in_rows(op)) continue;
    std::optional<RowGroup> group = finder.ending_in(op, in_groups);
    if (!group) {
      std::optional<DeclinedRows> refused = finder.declined();
      if (declined != nullptr && refused) declined->push_back(*std::move(refused));
      continue;
    }
    const std::vector<const Op*> members = members_of(*group);
    in_groups.insert(members.begin(), members.end());
    finder.add(*group);
    groups.push_back(*std::move(group));
  }
  return ResultJoiner(readers, &finder, std::move(in_groups), std::move(groups)).joined();
}

}  // namespace emulsion
