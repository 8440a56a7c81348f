#include "passes/derive/row_groups.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "dsl/error.h"
#include "dsl/index_arithmetic.h"
#include "passes/derive/choices.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/graph_reads.h"
#include "passes/derive/merge_axes.h"
#include "passes/derive/sums_of_maps.h"
#include "passes/fuse/fused_group.h"
#include "passes/index/simplify_index.h"

namespace emulsion {
namespace {

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

bool wakes_threads(const RowGroup& group, const Target& target) {
  const std::vector<const Op*> members = members_of(group);
  if (!group.is_across_steps()) return wakes_threads(members, target);
  std::vector<Extent> points = most_points(members);
  const auto rows =
      std::find(points.begin(), points.end(), result_of(group.reader()).shape[group.axes().back()]);
  if (rows != points.end()) *rows = group.most_in_step;
  return wakes_threads_from(points, points_for_threads(members, target), target);
}

bool keeps_any(const RowGroup& group) {
  return std::any_of(group.members.begin(), group.members.end(),
                     [](const RowGroup::Member& member) { return member.is_kept; });
}

bool has_results(const RowGroup& group) {
  return std::any_of(group.members.begin(), group.members.end(),
                     [](const RowGroup::Member& member) { return member.is_with_reader; });
}

std::optional<int64_t> elements_of_row(const Op& op, const std::vector<size_t>& axes) {
  return element_count(extents_beside(op, axes));
}

bool is_one_in_a_row(const Op& op, const std::vector<size_t>& axes) {
  return elements_of_row(op, axes) == 1;
}

bool are_sums_of_rows(const RowGroup& group) {
  return std::all_of(group.members.begin(), group.members.end(),
                     [](const auto& member) { return is_one_in_a_row(*member.op, member.axes); });
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
  if (combines_chosen_places(*sums)) {
    return fmt::format("expected {} to combine where no data say, got places that are read",
                       op.name);
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

namespace {

// Whether an index takes a known number of places while the axes that say which row stay: it is no
// data, and moves along no other axis of a run-time length.
bool takes_known_places(const Expr& index, const Op& reader, const std::vector<size_t>& rows) {
  if (reads_data(index)) return false;
  const auto moves = [&](const std::vector<Axis>& axes, bool has_rows) {
    for (size_t at = 0; at < axes.size(); ++at) {
      const bool is_row = has_rows && std::count(rows.begin(), rows.end(), at) > 0;
      if (!is_row && !axes[at].extent().is_constant() && mentions(index, axes[at].name())) {
        return true;
      }
    }
    return false;
  };
  return !moves(reader.axes, true) && !moves(reader.reduction_axes, false);
}

// Of rows that may be empty a known number of places is not read: there is nothing to clamp them
// to, and the loop over rows runs all the same.
std::optional<std::string> why_not_along_rows(const Op& producer, const Op& reader,
                                              const std::vector<size_t>& rows,
                                              const std::vector<size_t>& rows_of_reader) {
  std::vector<const Op*> parts = {&reader};
  for (const OpPtr& member : reader.members) parts.push_back(member.get());
  for (size_t at = 0; at < producer.shape.size(); ++at) {
    const Extent& extent = producer.shape[at];
    if (extent.is_constant() || extent.lower_bound().value_or(0) > 0) continue;
    if (std::count(rows.begin(), rows.end(), at) > 0) continue;
    bool any = false, are_known = true;
    for (const Op* part : parts) {
      if (!part->body.defined()) continue;
      for (const Expr& read : reads_in(part->body, &producer)) {
        any = true;
        are_known = are_known && takes_known_places(read->args[at], *part, rows_of_reader);
      }
    }
    if (!any || !are_known) continue;
    return fmt::format("expected reads of all {} of {}, of which there may be none",
                       result_of(producer).axes[at].name(), producer.name);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> why_not_by_rows(const Op& producer, const Op& reader,
                                           const std::vector<size_t>& axes) {
  for (const Op* op : {&producer, &reader}) {
    if (std::optional<std::string> reason = why_not_in_rows(*op)) return reason;
  }
  if (const auto rows = row_axes_of(producer, reader, axes)) {
    return why_not_along_rows(producer, reader, *rows, axes);
  }
  if (are_first(axes)) return why_not_same_rows(producer, reader, axes.size());
  std::string names;
  for (const size_t at : axes) {
    names += (names.empty() ? "" : ", ") + result_of(reader).axes[at].name();
  }
  return fmt::format("expected reads of {} at the same {}", producer.name, names);
}

std::optional<std::string> why_not_beside(const Op& other, const Op& reader,
                                          const std::vector<size_t>& axes) {
  if (!are_first(axes)) return fmt::format("expected rows of {} in one piece", reader.name);
  const auto rows = static_cast<std::ptrdiff_t>(axes.size());
  if (other.shape.size() >= axes.size() &&
      std::equal(other.shape.begin(), other.shape.begin() + rows, reader.shape.begin())) {
    return std::nullopt;
  }
  return fmt::format("expected {} to have as many rows as {}", other.name, reader.name);
}

bool combines_rows(const RowGroup& group) {
  return group.members.size() > 1 &&
         std::any_of(group.members.begin(), group.members.end(),
                     [](const RowGroup::Member& m) { return sums_of(*m.op) != nullptr; });
}

std::optional<std::string> why_not_worth_keeping(const RowGroup::Member& kept,
                                                 const RowGroup& group, const Target& target) {
  constexpr int64_t kFewVectors = 16, kCaches = 4;
  constexpr int64_t kShortRow = 24;  // faster operation by operation, whatever their number is
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
  if (!is_known && of_row <= kShortRow) {
    return fmt::format("expected rows of more than {} elements, which {} is kept for, got {}",
                       kShortRow, kept.op->name, of_row);
  }
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
  for (const RowGroup::Member& member : group.members) {
    const Op* sums = sums_of(*member.op);
    if (sums == nullptr || !sums_of_maps(*sums, target)) continue;
    return fmt::format("expected maps of more pixels, or fewer of each channel, in {}", sums->name);
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

}  // namespace emulsion
