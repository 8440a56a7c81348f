// Groups of rows of a run-time length, which may be short. Of a long row each operation walks all
// before the next one does, and the group has the memory of its output; of short ones several are
// computed at a time, in a little memory of their own, or those of a few elements in a lane each.
// Each call decides.

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dsl/expr.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/graph_reads.h"
#include "passes/rewrite/graph_names.h"

namespace emulsion {
namespace {

// Rows up to this long have a lane each, and others that are as short as so many vectors are
// computed several at a time.
constexpr int64_t kFewElements = 8, kShortVectors = 8;

// Other axes that rows may have.
constexpr int64_t kMostOthers = 4;

// The run-time size that all rows of a group are as long as; nothing where there is none, or
// several.
std::optional<std::string> size_of_rows(const RowGroup& group) {
  std::set<std::string> sizes;
  bool plain = true;
  const auto note = [&](const Extent& extent) {
    if (extent.as_constant().value_or(kMostOthers + 1) <= kMostOthers) return;
    const bool is_size = extent.coefficients().size() == 1 &&
                         extent == Extent::size(extent.coefficients().begin()->first);
    plain = plain && is_size;
    if (is_size) sizes.insert(extent.coefficients().begin()->first);
  };
  for (const Op* op : members_of(group)) {
    std::for_each(op->shape.begin() + static_cast<std::ptrdiff_t>(group.rows), op->shape.end(),
                  note);
    if (const Op* sums = sums_of(*op)) {
      for (const Axis& axis : sums->reduction_axes) note(axis.extent());
    }
  }
  return plain && sizes.size() == 1 ? std::optional(*sizes.begin()) : std::nullopt;
}

bool is_output(const Op& reader, const Schedule& schedule) {
  const OpPtr* output = schedule.graph().find(reader.name);
  return output != nullptr && schedule.graph().is_output(**output);
}

bool is_inline(const StageSchedule& stage) {
  const std::vector<Directive>& all = stage.directives();
  return std::any_of(all.begin(), all.end(),
                     [](const Directive& d) { return d.kind == DirectiveKind::compute_inline; });
}

// The directives of a schedule of its own, of stages by other names.
void add_renamed(const Schedule& made, const std::map<std::string, std::string>& names,
                 Schedule* schedule) {
  const auto renamed = [&](const std::string& name) {
    const auto found = names.find(name);
    return found == names.end() ? name : found->second;
  };
  for (const auto& [name, stage] : made.stages()) {
    const StageSchedule* there = schedule->find(name);
    if (is_inline(stage) && there != nullptr && is_inline(*there)) continue;
    for (Directive d : stage.directives()) {
      d.target = renamed(d.target);
      (*schedule)[renamed(name)].add(std::move(d));
    }
  }
}

// The same by their own names: `reader` has nothing to do where one of the conditions holds.
void add_where_none(const Schedule& made, const std::string& reader,
                    const std::vector<Expr>& conditions, Schedule* schedule) {
  for (const auto& [name, stage] : made.stages()) {
    StageSchedule& own = (*schedule)[name];
    bool chosen = name != reader;
    const auto choose = [&] {
      if (chosen) return;
      for (const Expr& condition : conditions) own.specialize(condition);
      chosen = true;
    };
    for (const Directive& d : stage.directives()) {
      if (d.kind == DirectiveKind::specialize) choose();
      own.add(d);
    }
    choose();
  }
}

// One way to compute a group, where a condition holds: with stages of its own.
struct Way {
  std::string suffix;
  Expr condition;
  Schedule schedule;
  std::map<std::string, std::string> names = {};

  // `chosen`: of which that of `reader` is an alternative.
  void name_stages(const std::string& reader, const std::string& chosen, Schedule* all) {
    const std::set<std::string> written = names_of(all->graph());
    for (const auto& [name, stage] : schedule.stages()) {
      if (is_inline(stage)) continue;
      names[name] = fresh_stage(*all, name + suffix);
      if (written.count(name) == 0) continue;
      (*all)[name == reader ? chosen : name].alternative(condition, names[name]);
    }
  }
};

// Vectors across the rows are for as many as fill several.
bool has_rows_for_lanes(const Op& reader, size_t rows, const Target& target) {
  const int64_t least = 2 * value_lanes(reader, target);
  return reader.axes[rows - 1].extent().as_constant().value_or(least) >= least;
}

}  // namespace

void derive_group_by_length(const RowGroup& group, const Target& target, Schedule* schedule) {
  const Op& reader = result_of(*group.reader);
  const std::optional<std::string> size = size_of_rows(group);
  if (!size || !is_output(reader, *schedule)) return derive_rows(group, target, schedule);
  std::vector<Way> ways;
  const auto add_way = [&](const std::string& suffix, int64_t most) -> Schedule& {
    ways.push_back({suffix, size_value(*size) <= int_constant(most), Schedule(schedule->graph())});
    return ways.back().schedule;
  };
  if (has_rows_for_lanes(reader, group.rows, target)) {
    derive_rows_in_each_lane(group, target, &add_way("_few", kFewElements));
  }
  const int64_t lanes = value_lanes(reader, target);
  derive_rows(group, target, &add_way("_short", kShortVectors * lanes), nullptr, true);
  Schedule of_long(schedule->graph());
  derive_rows(group, target, &of_long);

  // An output chooses itself, but for a reduction: that is computed in its memory in every case.
  const bool is_reduction = !reader.reduction_axes.empty();
  const std::string chosen =
      is_reduction ? fresh_stage(*schedule, reader.name + "_long") : reader.name;
  if (is_reduction) (*schedule)[reader.name].cache_write(chosen);
  for (Way& way : ways) {
    way.name_stages(reader.name, chosen, schedule);
  }
  std::vector<Expr> conditions;
  for (const Way& way : ways) conditions.push_back(way.condition);
  if (is_reduction) {
    (*schedule)[chosen].store_in_output(reader.name);
    for (const Expr& condition : conditions) (*schedule)[reader.name].specialize(condition);
    add_renamed(of_long, {{reader.name, chosen}}, schedule);
  } else {
    add_where_none(of_long, reader.name, conditions, schedule);
  }
  for (const Way& way : ways) {
    (*schedule)[way.names.at(reader.name)].store_in_output(reader.name);
    add_renamed(way.schedule, way.names, schedule);
  }
}

}  // namespace emulsion
