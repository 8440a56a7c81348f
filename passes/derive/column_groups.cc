#include "passes/derive/column_groups.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "dsl/error.h"
#include "dsl/index_arithmetic.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/row_groups.h"
#include "passes/fuse/fused_group.h"
#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

// Whether vectors lie along its last axis, in memory too.
bool has_vectors_along_columns(const Op& op, const Target& target) {
  if (op.shape.empty()) return false;
  const Op& result = result_of(op);
  const Op* sums = sums_of(op);
  if (sums == nullptr) {
    return vector_axis(result, target) + 1 == result.axes.size() && !crosses(op, target);
  }
  // Of sums that something is fused onto, this reads them at its own places.
  return sums->shape == op.shape && vector_axis(*sums, target) + 1 == sums->axes.size() &&
         keeps_sums_in_registers(*sums, target);
}

class ColumnGroupBuilder {
 public:
  ColumnGroupBuilder(const Readers& readers, const Target& target,
                     const std::unordered_set<const Op*>& taken)
      : readers_(readers), target_(target), taken_(taken) {}

  ColumnGroup build(const Op& reader, const std::vector<size_t>& axes) {
    // As of row_groups.h: derived and lowered in time that grows with a chain, group by group.
    constexpr size_t kMostMembers = 33;
    add({&reader, axes, false});
    std::vector<const Op*> open = {&reader};
    for (size_t next = 0; next < open.size(); ++next) {
      for (const OpPtr& operand : operands(*open[next])) {
        if (group_.members.size() == kMostMembers) return std::move(group_);
        if (place_.count(operand.get()) > 0) continue;
        std::optional<std::vector<size_t>> shared = shared_axes_of(*operand);
        if (!shared) continue;
        const bool is_inline = sums_of(*operand) == nullptr && is_read_once(*operand, readers_);
        add({operand.get(), *std::move(shared), is_inline});
        open.push_back(operand.get());
      }
    }
    return std::move(group_);
  }

 private:
  void add(ColumnGroup::Member member) {
    place_[member.op] = group_.members.size();
    group_.members.push_back(std::move(member));
  }

  // When all that read it are in the group and read it at their own place along the shared axes.
  std::optional<std::vector<size_t>> shared_axes_of(const Op& op) const {
    const auto is_inside = [&](const Op& reader) { return place_.count(&reader) > 0; };
    if (taken_.count(&op) > 0 || readers_.why_not_only(op, is_inside)) return std::nullopt;
    if (why_not_in_rows(op) || !has_vectors_along_columns(op, target_)) return std::nullopt;
    std::optional<std::vector<size_t>> shared;
    for (const Op* reader : *readers_.only_readers(op)) {
      const std::optional<Reads> reads = reads_of(op, *reader, op.shape.size());
      if (!reads) return std::nullopt;
      std::optional<std::vector<size_t>> by_reader =
          shared_axes_in(op, group_.members[place_.at(reader)], *reads);
      if (!by_reader || (shared && *shared != *by_reader)) return std::nullopt;
      shared = std::move(by_reader);
    }
    return shared;
  }

  static std::optional<std::vector<size_t>> shared_axes_in(const Op& op,
                                                           const ColumnGroup::Member& reader,
                                                           const Reads& reads) {
    std::vector<size_t> shared;
    for (const size_t at : reader.axes) {
      const bool is_last = at == reader.axes.back();
      size_t position = is_last ? op.shape.size() - 1 : 0;
      while (position < op.shape.size() && !reads_same_place(op, position, *reader.op, at, reads)) {
        ++position;
      }
      if (position == op.shape.size()) return std::nullopt;
      shared.push_back(position);
    }
    return shared;
  }

  const Readers& readers_;
  const Target& target_;
  const std::unordered_set<const Op*>& taken_;
  ColumnGroup group_;
  std::unordered_map<const Op*, size_t> place_;  // of its members
};

bool walks_columns(const ColumnGroup::Member& member) {
  const Shape own = extents_beside(*member.op, member.axes);
  return sums_of(*member.op) != nullptr ||
         std::any_of(own.begin(), own.end(), [](const Extent& e) { return e != Extent(1); });
}

// The points of a column of the operation that has most of them; nothing when a run-time size
// decides.
std::optional<int64_t> rows_of_column(const ColumnGroup& group) {
  int64_t most = 0;
  for (const ColumnGroup::Member& member : group.members) {
    const std::optional<int64_t> rows = points_beside(*member.op, member.axes);
    if (!rows) return std::nullopt;
    most = std::max(most, *rows);
  }
  return most;
}

// The elements of a column that are stored, in bytes; nothing when a run-time size decides.
std::optional<int64_t> bytes_of_column(const ColumnGroup& group) {
  int64_t bytes = 0;
  for (size_t i = 1; i < group.members.size(); ++i) {
    const ColumnGroup::Member& member = group.members[i];
    if (member.is_inline) continue;
    const std::optional<int64_t> elements = element_count(extents_beside(*member.op, member.axes));
    if (!elements) return std::nullopt;
    bytes += saturated_product(*elements, size_in_bytes(member.op->dtype));
  }
  return bytes;
}

// The bytes from the first row of a column to behind its last one.
std::optional<int64_t> bytes_of_all_rows(const ColumnGroup& group) {
  const ColumnGroup::Member& last = group.members.front();
  size_t first = 0;
  while (std::count(last.axes.begin(), last.axes.end(), first) > 0) ++first;
  const Shape& shape = last.op->shape;
  const std::optional<int64_t> elements = element_count(Shape(
      shape.begin() + static_cast<std::ptrdiff_t>(std::min(first, shape.size())), shape.end()));
  if (!elements) return std::nullopt;
  return saturated_product(*elements, size_in_bytes(last.op->dtype));
}

// All that the last operation writes; nothing when a run-time size decides.
std::optional<int64_t> bytes_of_result(const ColumnGroup& group) {
  const Op& reader = group.reader();
  const std::optional<int64_t> elements = element_count(reader.shape);
  if (!elements) return std::nullopt;
  return saturated_product(*elements, size_in_bytes(reader.dtype));
}

// Whether the second cache holds the rows of a column and not the results.
bool keeps_rows_alone(const ColumnGroup& group, const Target& target) {
  const bool are_apart = bytes_of_all_rows(group).value_or(INT64_MAX) > target.l2_bytes / 2;
  return !are_apart && bytes_of_result(group).value_or(INT64_MAX) > target.l2_bytes;
}

// Whether the lines of a column, of what is read and of what is written, do not all stay in the
// first cache: steps of many lines meet in a few of its sets.
bool lines_meet(const ColumnGroup& group, const Target& target) {
  const ColumnGroup::Member& last = group.members.front();
  for (size_t at = last.op->shape.size(); at-- > 0;) {
    if (std::count(last.axes.begin(), last.axes.end(), at) > 0) continue;
    const std::optional<int64_t> rows = last.op->shape[at].as_constant();
    return rows && 2 * *rows > lines_in_cache(*last.op, at, target);
  }
  return false;
}

// Whether a walk along columns takes no longer than one along rows: the fewer rows there are, and
// the more walks are saved, the less it matters that each row has other lines and pages of memory.
// Many rows pay only where the second cache holds those of a column and does not hold the results.
// The rows `channel_..` of `//benchmarks:fusion` measure groups that are taken. The limits
// themselves have no rows there.
bool pays_to_walk_columns(const ColumnGroup& group, const Target& target) {
  constexpr int64_t kVeryFewRows = 8, kFewRows = 64, kMostRows = 256;
  const std::optional<int64_t> rows = rows_of_column(group);
  if (!rows || *rows > kMostRows) return false;
  const auto walks =
      std::count_if(group.members.begin(), group.members.end(),
                    [](const ColumnGroup::Member& m) { return !m.is_inline && walks_columns(m); });
  if (walks < 3) return *rows <= kVeryFewRows;
  return *rows <= kFewRows || keeps_rows_alone(group, target);
}

int64_t lanes_of(const ColumnGroup& group, const Target& target) {
  int64_t lanes = 1;
  for (const Op* op : members_of(group)) {
    lanes = std::max(lanes, value_lanes(result_of(*op), target));
    if (const Op* sums = sums_of(*op)) lanes = std::max(lanes, value_lanes(*sums, target));
  }
  return lanes;
}

constexpr int64_t kMostVectors = 8;  // whose sums stay in any machine's registers

struct BlockOfVectors {
  int64_t vectors, lanes;

  int64_t columns() const { return vectors * lanes; }
  // How many columns of `all` are computed. Of a number that blocks do not divide, the last one
  // overlaps the one before.
  int64_t computed(int64_t all) const { return (all + columns() - 1) / columns() * columns(); }
};

// How many vectors of sums stay in registers, beside what is added to them.
int64_t most_sums(const Target& target) {
  constexpr int64_t kOthers = 3;
  return std::min<int64_t>(2 * kMostVectors, target.vector_registers() - kOthers);
}

// The same where what is added has shorter elements, so that a vector of it is several of sums.
bool keeps_sums(const ColumnGroup& group, const BlockOfVectors& block, const Target& target) {
  const std::vector<const Op*> members = members_of(group);
  return block.vectors == 1 || std::all_of(members.begin(), members.end(), [&](const Op* op) {
           const Op* sums = sums_of(*op);
           return sums == nullptr ||
                  block.columns() < most_sums(target) * target.vector_lanes(sums->dtype);
         });
}

// The blocks that there may be: up to eight vectors, the sums of which stay in registers; or all
// columns, where these are a few vectors more, of half the length if need be. None computes much
// more than another would.
std::vector<BlockOfVectors> blocks_of_vectors(const Target& target, int64_t lanes,
                                              std::optional<int64_t> all) {
  constexpr int64_t kLeastFull = 8;  // in how many of its parts one is full
  std::vector<BlockOfVectors> blocks;
  for (int64_t vectors = kMostVectors; vectors >= 1; --vectors) blocks.push_back({vectors, lanes});
  if (!all) return blocks;
  for (const int64_t length : {lanes, lanes / 2}) {
    const int64_t vectors = length > 1 && *all % length == 0 ? *all / length : 0;
    if (vectors > kMostVectors / 2 && vectors < most_sums(target))
      blocks.push_back({vectors, length});
  }
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const BlockOfVectors& block : blocks) least = std::min(least, block.computed(*all));
  blocks.erase(std::remove_if(blocks.begin(), blocks.end(),
                              [&](const BlockOfVectors& block) {
                                return block.columns() > *all ||
                                       (block.computed(*all) - least) * kLeastFull > least;
                              }),
               blocks.end());
  return blocks;
}

// What a row of all blocks takes, in instructions on vectors: each block's part of it is another
// place in memory, with other lines and pages.
int64_t steps_of_row(const BlockOfVectors& block, int64_t all, bool is_series) {
  constexpr int64_t kOfSeries = 4, kOfPlace = 8;
  const int64_t blocks = block.computed(all) / block.columns();
  return saturated_product(blocks, block.vectors * (is_series ? kOfSeries : 1) + kOfPlace);
}

// Whether the first cache has a line of each row of what is read and of what is written at a time.
// A block that is shorter than two lines leaves parts of lines to the next one; where vectors are
// so short that none is longer, that costs less than to walk again.
bool keeps_lines(const ColumnGroup& group, const BlockOfVectors& block, const Target& target) {
  constexpr int64_t kTwoLines = 128;
  const ColumnGroup::Member& last = group.members.front();
  const int64_t bytes = size_in_bytes(last.op->dtype);
  const int64_t longest = kMostVectors * lanes_of(group, target) * bytes;
  return block.columns() * bytes >= std::min(kTwoLines, longest) || !lines_meet(group, target);
}

// Whether the lines of a block stay in the first cache, or it does not matter that they do not.
// Where the lines of many rows meet there, each walk loads them again from behind it, which the
// processor does ahead of time where the block has long parts of rows; what comes from farther away
// anyway takes longer than that.
bool hides_lines(const ColumnGroup& group, const BlockOfVectors& block, const Target& target) {
  constexpr int64_t kRowsThatMeet = 16;
  const bool is_far =
      bytes_of_result(group).value_or(0) > target.l3_bytes / 2 || keeps_rows_alone(group, target);
  const int64_t longest = kMostVectors * lanes_of(group, target);
  return is_far || block.columns() >= longest || !lines_meet(group, target) ||
         rows_of_column(group).value_or(0) <= kRowsThatMeet;
}

// How many blocks there are; nothing when a run-time size decides.
std::optional<int64_t> count_blocks(const ColumnGroup& group, int64_t columns) {
  int64_t blocks = 1;
  const ColumnGroup::Member& last = group.members.front();
  for (const size_t at : last.axes) {
    const std::optional<int64_t> extent = last.op->shape[at].as_constant();
    if (!extent) return std::nullopt;
    const int64_t steps = at == last.axes.back() ? (*extent + columns - 1) / columns : *extent;
    blocks = saturated_product(blocks, steps);
  }
  return blocks;
}

}  // namespace

std::vector<const Op*> members_of(const ColumnGroup& group) {
  std::vector<const Op*> members;
  for (const ColumnGroup::Member& member : group.members) members.push_back(member.op);
  return members;
}

int64_t points_for_threads(const ColumnGroup& group, const Target& target) {
  constexpr int64_t kTimesOfRows = 4;
  return saturated_product(kTimesOfRows, points_for_threads(members_of(group), target));
}

std::optional<std::string> why_not_by_columns(const Op& producer, const Op& reader) {
  for (const Op* op : {&producer, &reader}) {
    if (std::optional<std::string> reason = why_not_in_rows(*op)) return reason;
    if (op->shape.empty()) return fmt::format("expected {} to have columns", op->name);
  }
  const std::optional<Reads> reads = reads_of(producer, reader, producer.shape.size());
  if (!reads) return fmt::format("expected indices of {} that are affine", producer.name);
  if (reads->all.empty()) return fmt::format("expected {} to read {}", reader.name, producer.name);
  const size_t last = reader.shape.size() - 1;
  if (!reads_same_place(producer, producer.shape.size() - 1, reader, last, *reads)) {
    return fmt::format("expected reads of {} whose last index is {}", producer.name,
                       reads->axes[last].name());
  }
  return std::nullopt;
}

ColumnGroup build_column_group(const Op& reader, const std::vector<size_t>& axes,
                               const Readers& readers, const Target& target,
                               const std::unordered_set<const Op*>& taken) {
  return ColumnGroupBuilder(readers, target, taken).build(reader, axes);
}

bool combines_columns(const ColumnGroup& group) {
  const auto& members = group.members;
  return std::any_of(members.begin(), members.end(),
                     [](const auto& member) { return sums_of(*member.op) != nullptr; }) &&
         std::count_if(members.begin(), members.end(), walks_columns) > 1;
}

std::optional<int64_t> columns_of_block(const ColumnGroup& group, const Target& target) {
  constexpr int64_t kTasksOfCore = 2, kManyColumns = 4096;
  if (!pays_to_walk_columns(group, target)) return std::nullopt;
  const std::vector<const Op*> members = members_of(group);
  const std::optional<int64_t> all = group.reader().shape.back().as_constant();
  const std::optional<int64_t> bytes = bytes_of_column(group);
  const bool has_threads =
      wakes_threads_from(most_points(members), points_for_threads(group, target), target);
  const bool is_series =
      std::any_of(members.begin(), members.end(), [](const Op* op) { return takes_series(*op); });
  std::optional<BlockOfVectors> best;
  int64_t best_steps = 0;
  for (const BlockOfVectors& block : blocks_of_vectors(target, lanes_of(group, target), all)) {
    const int64_t columns = block.columns();
    if (bytes && saturated_product(*bytes, columns) > target.l2_bytes / 2) continue;
    if (!keeps_lines(group, block, target) || !hides_lines(group, block, target)) continue;
    if (!keeps_sums(group, block, target)) continue;
    const std::optional<int64_t> blocks = count_blocks(group, columns);
    if (has_threads && blocks && *blocks < kTasksOfCore * target.cores) continue;
    const int64_t steps = steps_of_row(block, all.value_or(kManyColumns), is_series);
    if (best && steps >= best_steps) continue;
    best = block;
    best_steps = steps;
  }
  if (!best) return std::nullopt;
  // What is computed for nothing of a series takes longer than what is walked again.
  constexpr int64_t kLeastFull = 4;
  if (is_series && all && (best->computed(*all) - *all) * kLeastFull > *all) return std::nullopt;
  return best->columns();
}

std::vector<ColumnGroup> column_groups(const Graph& grouped, const Target& target,
                                       const std::unordered_set<const Op*>& taken) {
  const Readers readers(grouped);
  std::vector<ColumnGroup> groups;
  std::unordered_set<const Op*> in_groups = taken;
  for (size_t i = grouped.ops().size(); i-- > 0;) {
    const Op& op = *grouped.ops()[i];
    if (in_groups.count(&op) > 0 || why_not_in_rows(op)) continue;
    if (!has_vectors_along_columns(op, target)) continue;
    const size_t last = op.shape.size() - 1;
    std::vector<size_t> axes = {last};
    ColumnGroup group = build_column_group(op, axes, readers, target, in_groups);
    if (!combines_columns(group)) continue;
    // All other axes that every operation has, too: least is there at a time.
    for (size_t at = 0; at < last; ++at) {
      std::vector<size_t> more = axes;
      more.insert(more.end() - 1, at);
      ColumnGroup narrower = build_column_group(op, more, readers, target, in_groups);
      if (narrower.members.size() < group.members.size()) continue;
      axes = std::move(more);
      group = std::move(narrower);
    }
    // Where these are all axes of all, nothing is walked again.
    if (!combines_columns(group) || !columns_of_block(group, target)) continue;
    const std::vector<const Op*> members = members_of(group);
    in_groups.insert(members.begin(), members.end());
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace emulsion
