// Groups of rows of a run-time length, which may be short. Of a long row each operation walks all
// before the next one does, and the group has the memory of its output; of short ones several are
// computed at a time, in a little memory of their own, or those of a few elements in a lane each.
// The same of pictures, which may be small. Each call decides.

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dsl/expr.h"
#include "passes/derive/alternative_ways.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/graph_reads.h"
#include "passes/derive/merge_row_axes.h"
#include "passes/derive/rows_at_a_time.h"
#include "passes/derive/stage_directives.h"
#include "passes/index/size_facts.h"

namespace emulsion {
namespace {

// Rows up to this long have a lane each.
constexpr int64_t kFewElements = 8;

// Rows of fewer vectors have memory of their own, unless they are whole vectors
// (may_be_in_output_memory).
constexpr int64_t kApart = 8;

// Other axes that rows may have.
constexpr int64_t kMostOthers = 4;

// What the rows of a group extend over, beside axes of a few steps: the same for all members that
// have more than one element in a row. Nothing where that is not so, or a row lies in pieces.
std::optional<std::vector<Extent>> extents_of_rows(const RowGroup& group) {
  if (!are_first(group)) return std::nullopt;
  std::vector<Extent> extents;
  bool is_same = true;
  const auto note = [&](const std::vector<Extent>& all, size_t rows) {
    std::vector<Extent> found;
    std::copy_if(all.begin() + static_cast<std::ptrdiff_t>(rows), all.end(),
                 std::back_inserter(found), [](const Extent& extent) {
                   return extent.as_constant().value_or(kMostOthers + 1) > kMostOthers;
                 });
    if (found.empty()) return;
    is_same = is_same && (extents.empty() || extents == found);
    extents = std::move(found);
  };
  for (const Op* op : members_of(group)) {
    note(op->shape, group.axes().size());
    const Op* sums = sums_of(*op);
    if (sums == nullptr) continue;
    std::vector<Extent> summed;
    for (const Axis& axis : sums->reduction_axes) summed.push_back(axis.extent());
    note(summed, 0);
  }
  return is_same ? std::optional(extents) : std::nullopt;
}

// The run-time length that all rows of a group have, a size or what is left of one; nothing where
// there is none, or several, or where a row lies in many pieces.
std::optional<Extent> length_of_rows(const RowGroup& group) {
  const std::optional<std::vector<Extent>> extents = extents_of_rows(group);
  if (!extents || extents->size() != 1) return std::nullopt;
  const Extent& length = extents->front();
  return is_what_is_left_of_a_size(length) ? std::optional(length) : std::nullopt;
}

// The bytes that are stored for an element of a row.
int64_t stored_bytes(const RowGroup& group) {
  int64_t bytes = 0;
  for (size_t i = 1; i < group.members.size(); ++i) {
    const RowGroup::Member& member = group.members[i];
    if (member.is_inline || elements_of_row(*member.op, member.axes)) continue;
    bytes += size_in_bytes(member.op->dtype);
  }
  return bytes;
}

// Rows of a run-time length that are short: how many vectors they have at most, and how many rows
// are computed at a time, while the sums of one wait for its last lanes. The memory for them, of
// each operation that is stored, is in the first cache, and half of that is for what they read.
struct ShortRows {
  int64_t vectors, at_a_time;
};

ShortRows short_rows(const RowGroup& group, int64_t lanes, const Target& target) {
  constexpr int64_t kLeast = 8, kMost = 32, kMoreRows = 2 * kRowsAtATime;
  const int64_t bytes = lanes * stored_bytes(group);  // of a step through a row
  const auto vectors = [&](int64_t rows) {
    return target.l1_bytes / 2 / std::max<int64_t>(rows * bytes, 1);
  };
  if (vectors(kMoreRows) >= kMost) return {kMost, kMoreRows};
  return {std::clamp(vectors(kRowsAtATime), kLeast, kMost), kRowsAtATime};
}

// Where the rows are pictures that may be small: the condition under which several of them are in
// the first cache, with what is stored of each. Sums alone walk each picture once.
std::optional<Expr> are_small_pictures(const RowGroup& group, const Target& target) {
  if (are_sums_of_rows(group)) return std::nullopt;
  const std::optional<std::vector<Extent>> extents = extents_of_rows(group);
  if (!extents || extents->size() < 2 || extents->back().is_constant()) return std::nullopt;
  const int64_t bytes = size_in_bytes(group.reader().dtype) + stored_bytes(group);
  const int64_t most = target.l1_bytes / 2 / (kRowsAtATime * bytes);
  const std::optional<Expr> more = reaches(*extents, most + 1);
  if (!more || !more->defined()) return std::nullopt;  // none is larger, or all are
  return Expr((*more)->args[0]) < Expr((*more)->args[1]);
}

// Vectors across the rows are for as many as fill several.
bool has_rows_for_lanes(const Op& reader, size_t rows, const Target& target) {
  const int64_t least = 2 * value_lanes(reader, target);
  return reader.axes[rows - 1].extent().as_constant().value_or(least) >= least;
}

bool stores_in_output(const Schedule& schedule) {
  const auto& stages = schedule.stages();
  return std::any_of(stages.begin(), stages.end(), [](const auto& named) {
    return has_kind(named.second.directives(), DirectiveKind::store_in_output);
  });
}

void derive_in_ways(const RowGroup& group, const Target& target, Schedule* schedule) {
  const Op& reader = result_of(group.reader());
  const std::optional<Extent> length = length_of_rows(group);
  const std::optional<Expr> are_small = are_small_pictures(group, target);
  const std::optional<FewRows> few = few_rows_in_step(group, target);
  // What is kept is stored in one way.
  if ((!length && !are_small && !few) || keeps_any(group) || !can_have_ways(reader, *schedule)) {
    return derive_rows(group, target, schedule);
  }
  std::vector<AlternativeWay> ways;
  const auto add_way = [&](const std::string& suffix, const Expr& condition) -> Schedule& {
    ways.push_back({suffix, condition, schedule->without_directives()});
    return ways.back().schedule;
  };
  const auto add_way_up_to = [&](const std::string& suffix, int64_t most) -> Schedule& {
    return add_way(suffix, extent_value(*length) <= int_constant(most));
  };
  if (length && has_rows_for_lanes(reader, group.axes().size(), target)) {
    derive_rows_in_each_lane(group, extent_value(*length), target,
                             &add_way_up_to("_few", kFewElements));
  }
  const int64_t lanes = value_lanes(reader, target);
  if (few) {
    derive_rows(few->group, target, &add_way("_apart", few->condition));
  } else if (are_small) {
    derive_rows(group, target, &add_way("_small", *are_small), nullptr, kRowsAtATime);
  } else {
    const auto [vectors, rows] = short_rows(group, lanes, target);
    Schedule of_short = schedule->without_directives();
    derive_rows(group, target, &of_short, nullptr, rows, vectors > kApart && !group.is_merged);
    if (stores_in_output(of_short)) {
      const Expr elements = extent_value(*length);
      const Expr is_uneven = elements % int_constant(lanes) != int_constant(0);
      derive_rows(group, target,
                  &add_way("_uneven", elements < int_constant(kApart * lanes) && is_uneven),
                  nullptr, rows);
    }
    add_way_up_to("_short", lanes * vectors) = of_short;
  }
  Schedule of_long = schedule->without_directives();
  derive_rows(group, target, &of_long);
  const bool are_alike = std::all_of(ways.begin(), ways.end(), [&](const AlternativeWay& way) {
    return inline_the_same(way.schedule, of_long);
  });
  if (!are_alike) return derive_rows(group, target, schedule);
  add_ways(reader, ways, of_long, schedule);
}

}  // namespace

void derive_group_by_length(const RowGroup& group, const Target& target, Schedule* schedule) {
  const auto at_a_time = [&](const RowGroup& rows) -> double {
    const Extent& all = rows.reader().shape[rows.axes().back()];
    return static_cast<double>(rows_at_a_time(rows, all, false, 0, target));
  };
  const auto derive = [&](const RowGroup& rows, Schedule* of_rows) {
    derive_in_ways(rows, target, of_rows);
  };
  derive_with_merged_axes(group, at_a_time, derive, schedule);
}

}  // namespace emulsion
