#ifndef EMULSION_PASSES_DERIVE_STAGE_DIRECTIVES_H_
#define EMULSION_PASSES_DERIVE_STAGE_DIRECTIVES_H_

// What has been said of a stage so far.
// Private to passes/derive/.

#include <functional>
#include <string>
#include <vector>

#include "dsl/schedule.h"

namespace emulsion {

bool has_any(const std::vector<Directive>& directives,
             const std::function<bool(const Directive& d)>& is_meant);
bool has_kind(const std::vector<Directive>& directives, DirectiveKind kind);

// Whether a stage has a specialization for that condition.
bool has_case(const StageSchedule& stage, const Expr& condition);
// Whether a loop of it is cut near its ends already.
bool is_partitioned(const StageSchedule& stage, const Axis& loop);
// Whether it is computed inline; by name, also where nothing is said of it, and it is not.
bool is_inline(const StageSchedule& stage);
bool is_inline(const Schedule& schedule, const std::string& name);

}  // namespace emulsion

#endif  // EMULSION_PASSES_DERIVE_STAGE_DIRECTIVES_H_
