#include "passes/derive/few_small_rows.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dsl/expr.h"
#include "passes/derive/alternative_ways.h"
#include "passes/derive/derive_stage.h"
#include "passes/fuse/fused_group.h"

namespace emulsion {
namespace {

// The axis around the last one that says which row; nothing where that is one step, or none.
std::optional<Extent> steps_around(const RowGroup& group) {
  const std::vector<size_t>& axes = group.axes();
  if (axes.size() < 2) return std::nullopt;
  const Extent& steps = group.reader().shape[axes[axes.size() - 2]];
  return steps == Extent(1) ? std::nullopt : std::optional(steps);
}

// Whether vectors along so many steps have few lanes without one.
bool fills_vectors(int64_t steps, int64_t lanes) {
  const int64_t of_vectors = (steps + lanes - 1) / lanes * lanes;
  return 4 * steps >= 3 * of_vectors;
}

}  // namespace

RowGroup along_elements_too(const RowGroup& group, const Readers& readers, const Target& target,
                            const std::unordered_set<const Op*>& taken) {
  if (result_of(group.reader()).shape[group.axes().back()].is_constant()) return group;
  RowGroup along =
      build_row_group(group.reader(), group.axes(), /*in_pieces=*/false, readers, target, taken);
  const std::vector<const Op*> members = members_of(group), others = members_of(along);
  const bool are_same =
      std::is_permutation(members.begin(), members.end(), others.begin(), others.end());
  if (!are_same || why_not_worth_rows(along, target)) return group;
  along.may_go_along = true;
  return along;
}

bool derive_few_or_many(const RowGroup& group, const Target& target, Schedule* schedule) {
  const Op& reader = result_of(group.reader());
  const int64_t lanes = lanes_apart(reader, target);
  const std::optional<Extent> steps = steps_around(group);
  const std::optional<int64_t> known = steps ? steps->as_constant() : std::nullopt;
  std::vector<AlternativeWay> ways;
  const auto add_way = [&](const std::string& suffix, const Extent& many) {
    ways.push_back(
        {suffix, extent_value(many) >= int_constant(lanes), schedule->without_directives()});
  };
  add_way("_across", reader.shape[group.axes().back()]);
  derive_rows_in_each_lane(group, Expr(), target, &ways.back().schedule, /*fills_lanes=*/true);
  Schedule otherwise = schedule->without_directives();
  RowGroup few = group;
  if (steps) {
    few.most_in_step = lanes - 1;
  } else {
    few.are_few = true;
  }
  if (steps && !known) {
    add_way("_apart", *steps);
    derive_rows_in_each_lane(few, Expr(), target, &ways.back().schedule, /*fills_lanes=*/true);
  }
  if (known && fills_vectors(*known, lanes)) {
    derive_rows_in_each_lane(few, Expr(), target, &otherwise);
  } else {
    derive_rows(few, target, &otherwise);
  }
  if (!inline_the_same(ways.front().schedule, otherwise)) return false;
  add_ways(reader, ways, otherwise, schedule);
  return true;
}

}  // namespace emulsion
