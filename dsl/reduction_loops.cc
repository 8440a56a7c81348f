#include "dsl/reduction_loops.h"

#include <utility>

#include "dsl/directive_table.h"
#include "dsl/error.h"

namespace emulsion {
namespace {

std::set<std::string> names_for(DirectiveKind kind, const StageLoops& loops) {
  if (form_of(kind).scope == DirectiveScope::layout) return {};
  if (has_argument(kind, ArgumentKind::axis)) {
    return {loops.reduction().begin(), loops.reduction().end()};
  }
  return loops.reduction_loops();
}

}  // namespace

ReductionLoops::ReductionLoops(const Schedule& schedule) : after_(initial_loops(schedule.graph())) {
  for (const std::string& stage : stage_order(schedule.graph(), schedule.stages())) {
    for (const Directive& directive : schedule.find(stage)->directives()) {
      Entry entry;
      if (has_argument(directive.kind, ArgumentKind::consumer)) entry.target = directive.target;
      auto record = [&] {
        auto loops = after_.find(stage);
        if (loops != after_.end()) entry.names.merge(names_for(directive.kind, loops->second));
      };
      record();
      try {
        apply_to_loops(stage, directive, schedule.graph(), &after_);
        record();
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
  return target != after_.end() && target->second.reduction_loops().count(axis) > 0;
}

}  // namespace emulsion
