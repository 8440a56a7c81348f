// Groups of rows of a run-time length, which may be short. Of a long row each operation walks all
// before the next one does, and the group has the memory of its output; of short ones several are
// computed at a time, in a little memory of their own, or those of a few elements in a lane each.
// Each call decides.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "dsl/expr.h"
#include "passes/derive/alternative_ways.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/graph_reads.h"
#include "passes/index/size_facts.h"

namespace emulsion {
namespace {

// Rows up to this long have a lane each.
constexpr int64_t kFewElements = 8;

// Other axes that rows may have.
constexpr int64_t kMostOthers = 4;

// The run-time length that all rows of a group have, a size or what is left of one; nothing where
// there is none, or several, or where a row lies in many pieces.
std::optional<Extent> length_of_rows(const RowGroup& group) {
  if (!are_first(group)) return std::nullopt;
  std::optional<Extent> length;
  bool plain = true;
  const auto note = [&](const Extent& extent) {
    if (extent.as_constant().value_or(kMostOthers + 1) <= kMostOthers) return;
    plain = plain && is_what_is_left_of_a_size(extent) && (!length || *length == extent);
    length = extent;
  };
  for (const Op* op : members_of(group)) {
    std::for_each(op->shape.begin() + static_cast<std::ptrdiff_t>(group.axes().size()),
                  op->shape.end(), note);
    if (const Op* sums = sums_of(*op)) {
      for (const Axis& axis : sums->reduction_axes) note(axis.extent());
    }
  }
  return plain ? length : std::nullopt;
}

// How many vectors the rows have at most that are computed several at a time, while the sums of one
// wait for its last lanes. The memory for them, of each operation that is stored, is in the first
// cache, and half of that is for what they read.
int64_t vectors_of_short_rows(const RowGroup& group, int64_t lanes, const Target& target) {
  constexpr int64_t kLeast = 8, kMost = 32;
  int64_t bytes = 0;  // of a step of a vector's lanes through all rows at a time
  for (size_t i = 1; i < group.members.size(); ++i) {
    const RowGroup::Member& member = group.members[i];
    if (member.is_inline || elements_of_row(*member.op, member.axes)) continue;
    bytes += kRowsAtATime * lanes * size_in_bytes(member.op->dtype);
  }
  return std::clamp(target.l1_bytes / 2 / std::max<int64_t>(bytes, 1), kLeast, kMost);
}

// Vectors across the rows are for as many as fill several.
bool has_rows_for_lanes(const Op& reader, size_t rows, const Target& target) {
  const int64_t least = 2 * value_lanes(reader, target);
  return reader.axes[rows - 1].extent().as_constant().value_or(least) >= least;
}

}  // namespace

void derive_group_by_length(const RowGroup& group, const Target& target, Schedule* schedule) {
  const Op& reader = result_of(group.reader());
  const std::optional<Extent> length = length_of_rows(group);
  // What is kept is stored in one way.
  if (!length || keeps_any(group) || !can_have_ways(reader, *schedule)) {
    return derive_rows(group, target, schedule);
  }
  std::vector<AlternativeWay> ways;
  const auto add_way = [&](const std::string& suffix, int64_t most) -> Schedule& {
    ways.push_back(
        {suffix, extent_value(*length) <= int_constant(most), schedule->without_directives()});
    return ways.back().schedule;
  };
  if (has_rows_for_lanes(reader, group.axes().size(), target)) {
    derive_rows_in_each_lane(group, extent_value(*length), target, &add_way("_few", kFewElements));
  }
  const int64_t lanes = value_lanes(reader, target);
  const int64_t most = lanes * vectors_of_short_rows(group, lanes, target);
  derive_rows(group, target, &add_way("_short", most), nullptr, true);
  Schedule of_long = schedule->without_directives();
  derive_rows(group, target, &of_long);
  add_ways(reader, ways, of_long, schedule);
}

}  // namespace emulsion
