#include "passes/lower.h"

#include "dsl/error.h"
#include "dsl/schedule_axes.h"
#include "passes/stage_plan.h"
#include "passes/tile_grids.h"
#include "passes/verify_nest.h"

namespace emulsion {

LoopNest lower(const Graph& graph, const Schedule& schedule) {
  axes_after(schedule);  // every directive has its axes, and names loops that are there
  NestPlan plan = plan_stages(graph);
  apply_structure(schedule, &plan);
  apply_directives(&plan);
  const std::map<std::string, Contraction> tiled = tiled_contractions(plan);
  infer_regions(&plan);

  LoopNest nest;
  nest.name = plan.name;
  nest.sizes = plan.sizes;
  nest.root = build_tree(plan);
  nest.tile_grids = tile_grids(plan, tiled);
  for (StagePlan& stage : plan.stages) {
    if (!stage.is_output) {
      Shape domain;
      for (const Axis& axis : stage.stage.axes) domain.push_back(axis.extent());
      plan.buffers.push_back(
          {stage.stage.name, stage.stage.dtype, BufferRole::internal, domain, nullptr});
    }
    nest.stages.push_back(std::move(stage.stage));
  }
  // Arguments, then constants, then internal ones.
  for (BufferRole role :
       {BufferRole::input, BufferRole::output, BufferRole::constant, BufferRole::internal}) {
    for (const Buffer& buffer : plan.buffers) {
      bool weight = buffer.role == BufferRole::weight && role == BufferRole::input;
      if (buffer.role == role || weight) nest.buffers.push_back(buffer);
    }
  }
  nest.packs = std::move(plan.packs);
#ifndef NDEBUG
  verify_nest(nest);
#endif
  return nest;
}

}  // namespace emulsion
