#include "passes/derive/alternative_ways.h"

#include <algorithm>
#include <map>
#include <set>

#include "passes/derive/contraction_operands.h"
#include "passes/derive/derive_stage.h"
#include "passes/derive/stage_directives.h"
#include "passes/index/size_facts.h"

namespace emulsion {
namespace {

bool has_tile_that_starts_earlier(const Schedule& schedule, const std::string& name) {
  const StageSchedule* stage = schedule.find(name);
  return stage != nullptr && has_any(stage->directives(), [](const Directive& d) {
           return d.tail == Tail::shift_inwards;
         });
}

bool is_choice(const Directive& d) { return d.kind == DirectiveKind::alternative; }

// A weight is packed by one stage: all others that read it find it so.
bool is_packed_already(const Directive& d, const Schedule& schedule) {
  return d.kind == DirectiveKind::pack && packed_already(schedule, d.target).has_value();
}

using Names = std::map<std::string, std::string>;

std::string renamed(const std::string& name, const Names& names) {
  const auto found = names.find(name);
  return found == names.end() ? name : found->second;
}

// The directives of a schedule of its own, of stages by other names. `condition`: where it is
// taken, if not everywhere else; cases that never hold there are left out.
void add_renamed(const Schedule& made, const Names& names, const Expr& condition,
                 Schedule* schedule) {
  for (const auto& [name, stage] : made.stages()) {
    const StageSchedule* there = schedule->find(name);
    if (is_inline(stage) && there != nullptr && is_inline(*there)) continue;
    bool is_never = false;
    for (Directive d : stage.directives()) {
      if (is_choice(d)) continue;  // of beside_way()
      if (d.kind == DirectiveKind::specialize) {
        is_never = condition.defined() && never_holds(condition && d.condition);
      }
      if (is_never) continue;
      if (is_packed_already(d, *schedule)) continue;
      d.target = renamed(d.target, names);
      (*schedule)[renamed(name, names)].add(std::move(d));
    }
  }
}

bool has_way(const std::vector<AlternativeWay>& ways, const Expr& condition) {
  return std::any_of(ways.begin(), ways.end(),
                     [&](const AlternativeWay& way) { return equal(way.condition, condition); });
}

// The same of an output that has nothing to do where one of the conditions holds.
void add_where_none(const Schedule& made, const Names& names, const std::string& reader,
                    const std::vector<AlternativeWay>& ways, Schedule* schedule) {
  bool left_out = false;  // the cases of the ways, which come first
  const auto leave_out = [&] {
    if (left_out) return;
    for (const AlternativeWay& way : ways) (*schedule)[reader].specialize(way.condition);
    left_out = true;
  };
  for (const auto& [name, stage] : made.stages()) {
    bool is_never = false;  // in a case that a way takes
    for (Directive d : stage.directives()) {
      if (is_choice(d)) continue;  // of beside_way()
      if (name == reader && d.kind == DirectiveKind::specialize) {
        leave_out();
        is_never = has_way(ways, d.condition);
      }
      if (is_never || is_packed_already(d, *schedule)) continue;
      d.target = renamed(d.target, names);
      (*schedule)[renamed(name, names)].add(std::move(d));
    }
  }
  leave_out();
}

// Names the stages of a way, as alternatives where the graph has them. `chosen`: of which that of
// `reader` is an alternative.
Names name_stages(const AlternativeWay& way, const std::string& reader, const std::string& chosen,
                  Schedule* all) {
  Names names;
  for (const auto& [name, stage] : way.schedule.stages()) {
    if (is_inline(stage)) continue;
    names[name] = fresh_stage(*all, name + way.suffix);
    if (!all->graph().has_name(name)) continue;
    (*all)[name == reader ? chosen : name].alternative(way.condition, names[name]);
  }
  return names;
}

// Names for the stages that a schedule of its own adds to the graph's, where others have theirs.
Names names_of_added(const Schedule& made, const Schedule& all) {
  Names names;
  for (const auto& [name, stage] : made.stages()) {
    const bool is_taken = !all.graph().has_name(name) && all.find(name) != nullptr;
    if (is_taken) names[name] = fresh_stage(all, name);
  }
  return names;
}

}  // namespace

bool can_have_ways(const Op& reader, const Schedule& schedule) {
  const StageSchedule* stage = schedule.find(reader.name);
  const bool has_ways = stage != nullptr && has_any(stage->directives(), is_choice);
  return is_output(reader, schedule) && !has_ways;
}

Schedule beside_way(const Op& reader, const AlternativeWay& way, const Schedule& schedule) {
  Schedule result = schedule.without_directives();
  result[reader.name].alternative(way.condition, reader.name + way.suffix);
  return result;
}

bool inline_the_same(const Schedule& a, const Schedule& b) {
  const auto names = [](const Schedule& schedule) {
    std::set<std::string> inlined;
    for (const auto& [name, stage] : schedule.stages()) {
      if (is_inline(stage)) inlined.insert(name);
    }
    return inlined;
  };
  return names(a) == names(b);
}

void add_ways(const Op& reader, const std::vector<AlternativeWay>& all, const Schedule& otherwise,
              Schedule* schedule) {
  // Of two for one condition the second is never taken.
  std::vector<AlternativeWay> ways;
  for (const AlternativeWay& way : all) {
    if (!has_way(ways, way.condition)) ways.push_back(way);
  }
  // An output chooses itself, but for a reduction, and for one whose last tile starts earlier: that
  // is computed in its memory in every case.
  const bool is_apart =
      !reader.reduction_axes.empty() || has_tile_that_starts_earlier(otherwise, reader.name);
  const std::string chosen = is_apart ? fresh_stage(*schedule, reader.name + "_long") : reader.name;
  if (is_apart) (*schedule)[reader.name].cache_write(chosen);
  Names of_otherwise = names_of_added(otherwise, *schedule);
  std::vector<Names> names;
  for (const AlternativeWay& way : ways) {
    names.push_back(name_stages(way, reader.name, chosen, schedule));
  }
  if (is_apart) {
    (*schedule)[chosen].store_in_output(reader.name);
    for (const AlternativeWay& way : ways) (*schedule)[reader.name].specialize(way.condition);
    of_otherwise[reader.name] = chosen;
    add_renamed(otherwise, of_otherwise, Expr(), schedule);
  } else {
    add_where_none(otherwise, of_otherwise, reader.name, ways, schedule);
  }
  for (size_t i = 0; i < ways.size(); ++i) {
    (*schedule)[names[i].at(reader.name)].store_in_output(reader.name);
    add_renamed(ways[i].schedule, names[i], ways[i].condition, schedule);
  }
}

}  // namespace emulsion
