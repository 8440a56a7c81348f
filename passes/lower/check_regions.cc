// What is illegal of a stage's region, by where it is computed. Called by infer_regions, stage by
// stage, before the stage's tails are settled and after those of its readers.

#include <fmt/format.h>

#include <algorithm>

#include "dsl/affine.h"
#include "passes/lower/refusal.h"
#include "passes/lower/stage_region.h"

namespace emulsion {
namespace {

// Whether the place at loop `innermost` is inside a loop that runs 0 times when `axis` is empty.
// The same in every specialization: check_places has seen to that.
bool is_inside(const ScheduledStage& plan, size_t innermost, const std::string& axis) {
  std::set<std::string> empty = {axis};
  for (const LoopTransform& t : plan.stage.transforms) {
    const bool fuse = t.kind == LoopTransform::Kind::fuse;
    if (fuse ? empty.count(t.outer) + empty.count(t.inner) > 0 : empty.count(t.axis) > 0) {
      empty.insert(fuse ? t.axis : t.outer);
    }
  }
  return std::any_of(plan.loops.begin(),
                     plan.loops.begin() + static_cast<std::ptrdiff_t>(innermost) + 1,
                     [&](const ScheduledLoop& loop) { return empty.count(loop.name) > 0; });
}

}  // namespace

// It is computed from clamped reads. When the domain can be empty at run time there is nothing to
// clamp to, so the loops around it must be empty then too.
void check_partial_axis(const NestPlan& nest, StageId id, const Axis& axis) {
  const Extent& extent = axis.extent();
  if (extent.is_constant() || extent.lower_bound().value_or(0) > 0) return;
  for (auto at = nest.stages[id].compute_at; at; at = nest.stages[at->stage].compute_at) {
    const ScheduledStage& walker = nest.stages[at->stage];
    for (const std::vector<Axis>* axes : {&walker.stage.axes, &walker.stage.reduction_axes}) {
      for (const Axis& around : *axes) {
        const Extent longer = extent - around.extent();
        const bool never_shorter = never_negative(longer);
        if (never_shorter && is_inside(walker, at->loop, around.name())) return;
      }
    }
  }
  const ScheduledStage& plan = nest.stages[id];
  refuse(plan.stage.name, plan.source_directive(DirectiveKind::compute_at),
         fmt::format("expected a loop that runs 0 times whenever {} is empty, or one inside such a "
                     "loop, got {} while axis {} has the run-time extent {}; legal: compute_root()",
                     plan.stage.name, nest.variable(*plan.compute_at), axis.name(),
                     extent.to_string()));
}

}  // namespace emulsion
