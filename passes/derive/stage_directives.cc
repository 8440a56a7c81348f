#include "passes/derive/stage_directives.h"

#include <algorithm>

namespace emulsion {

bool has_any(const std::vector<Directive>& directives,
             const std::function<bool(const Directive& d)>& is_meant) {
  return std::any_of(directives.begin(), directives.end(), is_meant);
}

bool has_kind(const std::vector<Directive>& directives, DirectiveKind kind) {
  return has_any(directives, [kind](const Directive& d) { return d.kind == kind; });
}

bool has_case(const StageSchedule& stage, const Expr& condition) {
  return has_any(stage.directives(), [&](const Directive& d) {
    return d.kind == DirectiveKind::specialize && equal(d.condition, condition);
  });
}

bool is_partitioned(const StageSchedule& stage, const Axis& loop) {
  return has_any(stage.directives(), [&](const Directive& d) {
    return d.kind == DirectiveKind::partition && d.axes[0] == loop.name();
  });
}

bool is_inline(const StageSchedule& stage) {
  return has_kind(stage.directives(), DirectiveKind::compute_inline);
}

bool is_inline(const Schedule& schedule, const std::string& name) {
  const StageSchedule* stage = schedule.find(name);
  return stage != nullptr && is_inline(*stage);
}

}  // namespace emulsion
