#include "dsl/reduction_loops.h"

#include <utility>

#include "dsl/error.h"

namespace emulsion {
namespace {

bool is_place(DirectiveKind kind) {
  return kind == DirectiveKind::compute_at || kind == DirectiveKind::store_at ||
         kind == DirectiveKind::hoist_storage || kind == DirectiveKind::compute_with;
}

bool is_layout(DirectiveKind kind) {
  return kind == DirectiveKind::fold_storage || kind == DirectiveKind::reorder_storage ||
         kind == DirectiveKind::align_storage;
}

std::set<std::string> names_for(DirectiveKind kind, const StageAxes& axes) {
  if (is_layout(kind)) return {};
  if (kind == DirectiveKind::pack) return {axes.reduction.begin(), axes.reduction.end()};
  return axes.reduction_loops;
}

}  // namespace

ReductionLoops::ReductionLoops(const Schedule& schedule) : after_(initial_axes(schedule.graph())) {
  for (const std::string& stage : stage_order(schedule.graph(), schedule.stages())) {
    for (const Directive& directive : schedule.find(stage)->directives()) {
      Entry entry;
      if (is_place(directive.kind)) entry.target = directive.target;
      auto note = [&] {
        auto axes = after_.find(stage);
        if (axes != after_.end()) entry.names.merge(names_for(directive.kind, axes->second));
      };
      note();
      try {
        apply_axes(stage, directive, schedule.graph(), &after_);
        note();
      } catch (const ScheduleError&) {
        // Whoever uses the schedule says so; here it makes no loops.
      }
      entries_[stage].push_back(std::move(entry));
    }
  }
}

const std::set<std::string>& ReductionLoops::own(const std::string& stage, size_t index) const {
  return entries_.at(stage).at(index).names;
}

bool ReductionLoops::has(const std::string& stage, size_t index, const std::string& axis) const {
  const Entry& entry = entries_.at(stage).at(index);
  if (entry.target.empty()) return entry.names.count(axis) > 0;
  auto target = after_.find(entry.target);
  return target != after_.end() && target->second.reduction_loops.count(axis) > 0;
}

}  // namespace emulsion
