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

class GroupBuilder {
 public:
  GroupBuilder(bool in_pieces, const Readers& readers, const Target& target,
               const std::unordered_set<const Op*>& taken)
      : in_pieces_(in_pieces), readers_(readers), target_(target), taken_(taken) {}

  RowGroup build(const Op& reader, const std::vector<size_t>& axes) {
    // A chain of any length is derived and lowered in time that grows with it, group by group.
    constexpr size_t kMostMembers = 33;
    add({&reader, axes});
    std::vector<const Op*> open = {&reader};
    for (size_t next = 0; next < open.size(); ++next) {
      for (const OpPtr& operand : operands(*open[next])) {
        if (group_.members.size() == kMostMembers) return std::move(group_);
        if (place_.count(operand.get()) > 0) continue;
        std::optional<RowGroup::Member> producer = producer_of(*operand);
        if (!producer) continue;
        add(*std::move(producer));
        open.push_back(operand.get());
      }
    }
    return std::move(group_);
  }

 private:
  void add(RowGroup::Member member) {
    place_[member.op] = group_.members.size();
    group_.members.push_back(std::move(member));
  }

  // When all that read it are in the group and read it by rows.
  std::optional<RowGroup::Member> producer_of(const Op& op) const {
    const auto is_inside = [&](const Op& reader) { return place_.count(&reader) > 0; };
    if (taken_.count(&op) > 0 || readers_.why_not_only(op, is_inside)) return std::nullopt;
    RowGroup::Member producer{&op, {}};
    for (const Op* reading : *readers_.only_readers(op)) {
      const RowGroup::Member& reader = group_.members[place_.at(reading)];
      if (why_not_by_rows(op, *reader.op, reader.axes)) return std::nullopt;
      std::vector<size_t> axes = row_axes_of(op, *reader.op, reader.axes).value();
      if (!in_pieces_ && !are_first(axes)) return std::nullopt;
      if (!producer.axes.empty() && axes != producer.axes) return std::nullopt;
      producer.axes = std::move(axes);
      const std::optional<Reads> reads = reads_of(op, *reader.op, op.shape.size());
      producer.whole_rows =
          producer.whole_rows && reader.whole_rows && reads && reads_whole(op, *reads, 0);
    }
    if (!has_vectors_in_rows(producer, target_)) return std::nullopt;
    return producer;
  }

  const bool in_pieces_;
  const Readers& readers_;
  const Target& target_;
  const std::unordered_set<const Op*>& taken_;
  RowGroup group_;
  std::unordered_map<const Op*, size_t> place_;  // of its members
};

// Groups that end in one operation after another, of which the best is wanted.
class GroupFinder {
 public:
  GroupFinder(const Readers& readers, const Target& target) : readers_(readers), target_(target) {}

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
        RowGroup narrower = build_row_group(op, axes, true, readers_, target_, taken);
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
    RowGroup group = build_row_group(op, axes, in_pieces, readers_, target_, taken);
    if (!combines_rows(group)) {
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

  const Readers& readers_;
  const Target& target_;
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

// Which members are computed where they are read.
class InlineMembers {
 public:
  InlineMembers(const Readers& readers, const Target& target, RowGroup* group)
      : readers_(readers), target_(target), group_(*group) {}

  void mark() {
    for (size_t i = group_.members.size(); i-- > 1;) {  // what is read first
      RowGroup::Member& member = group_.members[i];
      const std::optional<int64_t> cost = cost_of(member);
      if (!cost || !keeps_vectors(*member.op)) continue;
      member.is_inline = *cost <= kAsALoad || is_read_once(*member.op, readers_);
      if (member.is_inline) costs_[member.op] = *cost;
    }
  }

 private:
  // In instructions: what takes less time than to store an element and to load it again, and what
  // an expression may grow to.
  static constexpr int64_t kAsALoad = 2, kMost = 16;

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
      if (is_one_for_a_row(*reads, member)) continue;
      if (!reads_at_own_place(*operand, op)) return std::nullopt;
      const auto inlined = costs_.find(operand.get());
      ++rows;
      if (inlined == costs_.end()) continue;
      cost += inlined->second * static_cast<int64_t>(reads->all.size());
    }
    const auto add = [&](const Op& computed) {
      visit(computed.body, [&](const Expr& e) { cost += cost_of(e.node()); });
    };
    if (op.kind == OpKind::compute) add(op);
    for (const OpPtr& inner : op.members) add(*inner);
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

  static int64_t cost_of(const ExprNode& e) {
    switch (e.op) {
      case ExprOp::constant:
      case ExprOp::axis:
      case ExprOp::size:
      case ExprOp::read:
        return 0;
      case ExprOp::neg:
      case ExprOp::abs:
      case ExprOp::add:
      case ExprOp::sub:
      case ExprOp::mul:
      case ExprOp::min:
      case ExprOp::max:
        return 1;
      default:
        return kAsALoad + 1;
    }
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

  const Readers& readers_;
  const Target& target_;
  RowGroup& group_;
  std::unordered_map<const Op*, int64_t> costs_;  // of those that are inline
};

}  // namespace

std::vector<const Op*> members_of(const RowGroup& group) {
  std::vector<const Op*> members;
  for (const RowGroup::Member& member : group.members) members.push_back(member.op);
  return members;
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

RowGroup build_row_group(const Op& reader, const std::vector<size_t>& axes, bool in_pieces,
                         const Readers& readers, const Target& target,
                         const std::unordered_set<const Op*>& taken) {
  RowGroup group = GroupBuilder(in_pieces, readers, target, taken).build(reader, axes);
  InlineMembers(readers, target, &group).mark();
  return group;
}

bool combines_rows(const RowGroup& group) {
  return group.members.size() > 1 &&
         std::any_of(group.members.begin(), group.members.end(),
                     [](const RowGroup::Member& m) { return sums_of(*m.op) != nullptr; });
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
    groups.push_back(*std::move(group));
  }
  return groups;
}

}  // namespace emulsion
