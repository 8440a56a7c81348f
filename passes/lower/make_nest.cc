#include "passes/lower/lower.h"

#include "dsl/error.h"
#include "dsl/schedule_axes.h"
#include "passes/lower/check_loop_groups.h"
#include "passes/lower/join_loops.h"
#include "passes/lower/refusal.h"
#include "passes/lower/stage_plan.h"
#include "passes/lower/stage_region.h"
#include "passes/lower/stage_storage.h"
#include "passes/lower/tile_grids.h"
#include "passes/nest/nest_passes.h"
#include "passes/nest/verify_nest.h"

namespace emulsion {
namespace {

LoopNest make_nest_or_refuse(const Graph& graph, const Schedule& schedule) {
  const ScheduleLoops loops = replay(graph, schedule);  // every directive names what is there
  NestPlan plan = apply_directives(
      apply_structure(bound_exponents(plan_stages(graph)), schedule, loops), loops.after);
  std::vector<StageRegion> regions = infer_regions(plan);
  const std::vector<StageStorage> storage = infer_storage(plan, regions);
  check_growth(plan, regions, storage);
  check_outputs(plan, regions, storage);

  LoopNest nest;
  nest.name = plan.name;
  nest.sizes = plan.sizes;
  nest.root = join_loops(build_tree(plan, regions, storage), plan, regions);
  nest.tile_grids = tile_grids(plan, regions);
  for (const ScheduledStage& stage : plan.stages) {
    if (stage.is_output) continue;
    Shape domain;
    for (const Axis& axis : stage.stage.axes) domain.push_back(axis.extent());
    plan.buffers.push_back(
        {stage.stage.name, stage.stage.dtype, BufferRole::internal, domain, nullptr});
  }
  for (StageRegion& region : regions) nest.stages.push_back(std::move(region.stage));
  // Arguments, then constants, then internal ones.
  for (BufferRole role :
       {BufferRole::input, BufferRole::output, BufferRole::constant, BufferRole::internal}) {
    for (const Buffer& buffer : plan.buffers) {
      bool weight = buffer.role == BufferRole::weight && role == BufferRole::input;
      if (buffer.role == role || weight) nest.buffers.push_back(buffer);
    }
  }
  nest.packs = std::move(plan.packs);
  return nest;
}

LoopNest nest_before(const Graph& graph, const Schedule& schedule, const ScheduleRefusal& refusal) {
  const std::vector<Schedule> candidates = schedules_before(schedule, refusal);
  for (const Schedule& candidate : candidates) {
    try {
      return run_nest_passes(make_nest_or_refuse(graph, candidate));
    } catch (const ScheduleError&) {  // another directive is illegal too; its turn comes
      continue;
    }
  }
  EMULSION_CHECK(false, "a graph without a schedule is refused: {}", refusal.what());
  return {};
}

}  // namespace

LoopNest make_nest(const Graph& graph, const Schedule& schedule) {
  try {
    LoopNest nest = make_nest_or_refuse(graph, schedule);
    check_loop_groups(graph, nest);
    return nest;
  } catch (const ScheduleRefusal& refusal) {
    throw explain(refusal, nest_before(graph, schedule, refusal));
  }
}

LoopNest lower(const Graph& graph, const Schedule& schedule) {
  LoopNest nest = run_nest_passes(make_nest(graph, schedule));
#ifndef NDEBUG
  verify_nest(nest);
#endif
  return nest;
}

}  // namespace emulsion
