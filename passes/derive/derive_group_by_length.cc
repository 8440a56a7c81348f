// Groups of rows of a run-time length, which may be short. Of a long row each operation walks all
// before the next one does, and the group has the memory of its output; of short ones several are
// computed at a time, in a little memory of their own. Which of the two, each call decides.

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

// Rows up to this long, in vectors.
constexpr int64_t kShortVectors = 8;

// The run-time size that all rows of a group are as long as; nothing where there is none, or
// several.
std::optional<std::string> size_of_rows(const RowGroup& group) {
  std::set<std::string> sizes;
  bool plain = true;
  const auto note = [&](const Extent& extent) {
    if (extent == Extent(1)) return;
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

// An output that is no reduction can be computed in one of two ways, each in its memory.
bool chooses_where_it_is(const Op& reader, const Schedule& schedule) {
  const OpPtr* output = schedule.graph().find(reader.name);
  return output != nullptr && schedule.graph().is_output(**output) && reader.reduction_axes.empty();
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
    if (is_inline(stage)) continue;
    for (Directive d : stage.directives()) {
      d.target = renamed(d.target);
      (*schedule)[renamed(name)].add(std::move(d));
    }
  }
}

// The same by their own names: `reader` has nothing to do where the condition holds.
void add_where_not(const Schedule& made, const std::string& reader, const Expr& condition,
                   Schedule* schedule) {
  for (const auto& [name, stage] : made.stages()) {
    StageSchedule& own = (*schedule)[name];
    bool chosen = name != reader;
    for (const Directive& d : stage.directives()) {
      if (!chosen && d.kind == DirectiveKind::specialize) {
        own.specialize(condition);
        chosen = true;
      }
      own.add(d);
    }
    if (!chosen) own.specialize(condition);
  }
}

}  // namespace

void derive_group_by_length(const RowGroup& group, const Target& target, Schedule* schedule) {
  const Op& reader = result_of(*group.reader);
  const std::optional<std::string> size = size_of_rows(group);
  if (!size || !chooses_where_it_is(reader, *schedule)) {
    return derive_rows(group, target, schedule);
  }
  const Expr is_short =
      size_value(*size) <= int_constant(kShortVectors * value_lanes(reader, target));
  Schedule of_short(schedule->graph()), of_long(schedule->graph());
  derive_rows(group, target, &of_short, nullptr, true);
  derive_rows(group, target, &of_long);

  const std::set<std::string> written = names_of(schedule->graph());
  std::map<std::string, std::string> names;
  for (const auto& [name, stage] : of_short.stages()) {
    if (is_inline(stage)) continue;
    names[name] = fresh_stage(*schedule, name + "_short");
    if (written.count(name) > 0) (*schedule)[name].alternative(is_short, names[name]);
  }
  (*schedule)[names.at(reader.name)].store_in_output(reader.name);
  add_where_not(of_long, reader.name, is_short, schedule);
  add_renamed(of_short, names, schedule);
}

}  // namespace emulsion
