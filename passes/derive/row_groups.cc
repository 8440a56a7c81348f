#include "passes/derive/row_groups.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "dsl/error.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/graph_reads.h"
#include "passes/derive/merge_axes.h"
#include "passes/fuse/fused_group.h"
#include "passes/index/index_arithmetic.h"

namespace emulsion {
namespace {

// What comes behind what, in a graph of which some operations are computed together: of these
// nothing is there before all are.
class Order {
 public:
  explicit Order(const Readers& readers) : readers_(readers) {}

  // Only those of groups that keep something matter: of all others the last one alone is read.
  void add(const RowGroup& group) {
    std::vector<const Op*> read;  // outside
    for (const RowGroup::Member& member : group.members) {
      if (member.is_kept || member.op == &group.reader()) read.push_back(member.op);
    }
    if (read.size() < 2) return;
    for (const RowGroup::Member& member : group.members) read_with_[member.op] = read;
  }

  // Whether the group needs something outside of it that needs `op`: then the two cannot be
  // computed together.
  bool needs_behind(const RowGroup& group, const Op& needed) const {
    const std::vector<const Op*> members = members_of(group);
    const std::unordered_set<const Op*> inside(members.begin(), members.end());
    const size_t end = readers_.position_of(group.reader());
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
      if (with == read_with_.end() && readers_.position_of(op) > end) continue;
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
    return std::move(best_);
  }

  // What the last one would have been, if anything.
  std::optional<DeclinedRows> declined() { return std::move(refused_); }

 private:
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
                 const std::unordered_set<const Op*>& taken) {
    const auto may_keep = [&](const RowGroup::Member& kept, const RowGroup& group) {
      if (why_not_worth_keeping(kept, group, target_) || is_better_kept(kept, group)) return false;
      const bool is_behind = order_.needs_behind(group, *kept.op);
      keeps_elsewhere_ = keeps_elsewhere_ || is_behind;
      return !is_behind;
    };
    return build_row_group(op, axes, in_pieces, readers_, target_, taken, may_keep);
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

// The elements of a row that lie one after another in memory, and come after others of other rows;
// nothing when a run-time size decides.
std::optional<int64_t> elements_of_piece(const RowGroup& group) {
  int64_t most = 1;
  for (const RowGroup::Member& member : group.members) {
    const std::optional<int64_t> piece = elements_from(*member.op, behind_rows(member));
    if (!piece) return std::nullopt;
    most = std::max(most, *piece);
  }
  return most;
}

// A value of which there is one in a row has no vectors: of a series each takes as long as a vector
// of them would, which counts where the rest of the row is a few vectors.
std::optional<std::string> why_not_worth_series(const RowGroup& group, const Target& target) {
  constexpr int64_t kFewVectors = 16;
  const RowGroup::Member* alone = nullptr;
  int64_t most = 1;
  for (const RowGroup::Member& member : group.members) {
    const std::optional<int64_t> points = points_beside(*member.op, member.axes);
    if (!points) return std::nullopt;
    most = std::max(most, *points);
    if (!takes_series(*member.op)) continue;
    if (!is_one_in_a_row(*member.op, member.axes)) return std::nullopt;
    alone = &member;
  }
  const int64_t least = kFewVectors * target.vector_lanes(group.reader().dtype);
  if (alone == nullptr || most >= least) return std::nullopt;
  return fmt::format("expected rows of at least {} elements beside one {}, got {}", least,
                     alone->op->name, most);
}

// Of rows that lie in pieces. Each piece is a walk of its own, and where memory decides, long walks
// are faster: they have to save what would go through memory, or all is to stay in a near cache.
// The rows `batch_norm_..` of `//benchmarks:fusion` measure it.
std::optional<std::string> why_not_worth_pieces(const RowGroup& group, const Target& target) {
  constexpr int64_t kLeastBytes = 192;  // three vectors: the last one may be nearly empty
  const Op& reader = group.reader();
  const std::optional<int64_t> piece = elements_of_piece(group);
  if (piece && *piece * size_in_bytes(reader.dtype) < kLeastBytes) {
    return fmt::format("expected rows of {} in pieces of at least {} bytes, got {} elements",
                       reader.name, kLeastBytes, *piece);
  }
  const auto is_saved = [&](const RowGroup::Member& member) {
    return member.op != &reader && !is_one_in_a_row(*member.op, member.axes);
  };
  if (std::any_of(group.members.begin(), group.members.end(), is_saved)) return std::nullopt;
  const std::optional<int64_t> elements = element_count(reader.shape);
  const int64_t most = 4 * target.l2_bytes;
  if (elements && saturated_product(*elements, size_in_bytes(reader.dtype)) <= most) {
    return std::nullopt;
  }
  return fmt::format(
      "expected rows in pieces that save what would be stored, or at most {} bytes of {}", most,
      reader.name);
}

}  // namespace

std::vector<const Op*> members_of(const RowGroup& group) {
  std::vector<const Op*> members;
  for (const RowGroup::Member& member : group.members) members.push_back(member.op);
  return members;
}

bool keeps_any(const RowGroup& group) {
  return std::any_of(group.members.begin(), group.members.end(),
                     [](const RowGroup::Member& member) { return member.is_kept; });
}

std::optional<int64_t> elements_of_row(const Op& op, const std::vector<size_t>& axes) {
  return element_count(extents_beside(op, axes));
}

bool is_one_in_a_row(const Op& op, const std::vector<size_t>& axes) {
  return elements_of_row(op, axes) == 1;
}

size_t behind_rows(const RowGroup::Member& member) {
  return *std::max_element(member.axes.begin(), member.axes.end()) + 1;
}

std::vector<size_t> first_axes(size_t count) {
  std::vector<size_t> axes(count);
  std::iota(axes.begin(), axes.end(), size_t{0});
  return axes;
}

bool are_first(const std::vector<size_t>& axes) { return axes == first_axes(axes.size()); }

bool are_first(const RowGroup& group) {
  return std::all_of(group.members.begin(), group.members.end(),
                     [](const RowGroup::Member& member) { return are_first(member.axes); });
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

std::optional<std::vector<size_t>> row_axes_of(const Op& producer, const Op& reader,
                                               const std::vector<size_t>& axes) {
  if (are_first(axes) && !why_not_same_rows(producer, reader, axes.size())) return axes;
  const std::optional<Reads> reads = reads_of(producer, reader, producer.shape.size());
  if (!reads || axes.empty()) return std::nullopt;
  std::vector<size_t> positions;
  for (const size_t at : axes) {
    size_t position = 0;
    while (position < producer.shape.size() &&
           !reads_same_place(producer, position, reader, at, *reads)) {
      ++position;
    }
    if (position == producer.shape.size()) return std::nullopt;
    positions.push_back(position);
  }
  return positions;
}

std::optional<std::string> why_not_by_rows(const Op& producer, const Op& reader,
                                           const std::vector<size_t>& axes) {
  for (const Op* op : {&producer, &reader}) {
    if (std::optional<std::string> reason = why_not_in_rows(*op)) return reason;
  }
  if (row_axes_of(producer, reader, axes)) return std::nullopt;
  if (are_first(axes)) return why_not_same_rows(producer, reader, axes.size());
  std::string names;
  for (const size_t at : axes) {
    names += (names.empty() ? "" : ", ") + result_of(reader).axes[at].name();
  }
  return fmt::format("expected reads of {} at the same {}", producer.name, names);
}

bool combines_rows(const RowGroup& group) {
  return group.members.size() > 1 &&
         std::any_of(group.members.begin(), group.members.end(),
                     [](const RowGroup::Member& m) { return sums_of(*m.op) != nullptr; });
}

std::optional<std::string> why_not_worth_keeping(const RowGroup::Member& kept,
                                                 const RowGroup& group, const Target& target) {
  constexpr int64_t kFewVectors = 16, kCaches = 4;
  if (!is_one_in_a_row(*kept.op, kept.axes)) {
    return fmt::format("expected one value of {} in a row, for what is stored is read again anyway",
                       kept.op->name);
  }
  int64_t of_row = 1, bytes = 0;
  bool is_known = true;
  for (const RowGroup::Member& member : {kept, group.members.front()}) {
    const std::optional<int64_t> points = points_beside(*member.op, member.axes);
    if (!points) {
      return fmt::format("expected rows of {} of a known length, which {} is kept for",
                         member.op->name, kept.op->name);
    }
    of_row = std::max(of_row, *points);
    const std::optional<int64_t> all = points_beside(*member.op, {});
    is_known = is_known && all;
    if (all) bytes = std::max(bytes, saturated_product(*all, size_in_bytes(member.op->dtype)));
  }
  const int64_t least = kFewVectors * target.vector_lanes(group.reader().dtype);
  if (of_row >= least || !is_known || bytes > kCaches * target.l2_bytes) return std::nullopt;
  return fmt::format(
      "expected rows of at least {} elements, or more than {} bytes of them, for which {} is kept, "
      "got {} and {}",
      least, kCaches * target.l2_bytes, kept.op->name, of_row, bytes);
}

bool has_vectors_in_rows(const RowGroup::Member& member, const Target& target) {
  const Op& result = result_of(*member.op);
  const Op* sums = sums_of(*member.op);
  const auto goes_along = [&](const Op& op) {
    return vector_axis(op, target) >= behind_rows(member);
  };
  const bool is_one = is_one_in_a_row(result, member.axes);
  const bool along = is_one || goes_along(result);
  if (sums == nullptr) return along && (is_one || !crosses(*member.op, target));
  if (!keeps_sums_in_registers(*sums, target)) return has_sums_in_lanes(*sums, target);
  return along && sums->axes.size() > member.axes.size() && goes_along(*sums);
}

std::optional<std::string> why_not_worth_rows(const RowGroup& group, const Target& target) {
  for (const RowGroup::Member& member : group.members) {
    if (has_vectors_in_rows(member, target)) continue;
    return fmt::format("expected vectors along the rows of {}", member.op->name);
  }
  if (std::optional<std::string> reason = why_not_worth_series(group, target)) return reason;
  if (!are_first(group)) {
    if (std::optional<std::string> reason = why_not_worth_pieces(group, target)) return reason;
  }
  if (!wakes_threads(members_of(group), target)) return std::nullopt;
  Shape rows;
  for (const size_t at : group.axes()) rows.push_back(group.reader().shape[at]);
  const int64_t least = int64_t{2} * target.cores;
  const int64_t count = element_count(rows).value_or(least);
  if (count >= least) return std::nullopt;
  return fmt::format("expected at least {} rows of {} for threads to share, got {}", least,
                     group.reader().name, count);
}

KeptBefore kept_before(const Graph& grouped, const std::vector<RowGroup>& groups) {
  std::unordered_map<const Op*, size_t> group_of;  // that keeps something
  for (size_t i = 0; i < groups.size(); ++i) {
    if (!keeps_any(groups[i])) continue;
    for (const RowGroup::Member& member : groups[i].members) group_of[member.op] = i;
  }
  KeptBefore kept;
  const auto count = [&](const Op& op, const Op& reader) {
    const auto own = group_of.find(&reader);
    for (const OpPtr& operand : operands(op)) {
      const auto group = group_of.find(operand.get());
      const bool is_behind =
          group != group_of.end() && (own == group_of.end() || own->second != group->second);
      kept[&reader] = std::max(kept[&reader], kept[operand.get()] + (is_behind ? 1 : 0));
    }
  };
  for (const OpPtr& op : grouped.ops()) {
    kept[op.get()];
    const auto group = group_of.find(op.get());
    if (group == group_of.end()) {
      count(*op, *op);
    } else {  // of a group, whose members stand together, all come behind what any of them does
      for (const Op* member : members_of(groups[group->second])) count(*member, *op);
    }
  }
  return kept;
}

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
  return groups;
}

}  // namespace emulsion
