#include "passes/lower/make_nest.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dsl/error.h"
#include "dsl/schedule_axes.h"
#include "passes/lower/check_loop_groups.h"
#include "passes/lower/join_loops.h"
#include "passes/lower/refusal.h"
#include "passes/lower/stage_plan.h"
#include "passes/lower/stage_region.h"
#include "passes/lower/stage_storage.h"
#include "passes/lower/tile_grids.h"
#include "passes/nest/narrow_values.h"
#include "passes/nest/simplify_nest.h"

namespace emulsion {
namespace {

WrittenNest stages_of(const Graph& graph) {
  return skip_nan(bound_exponents(choose_remainders(plan_stages(graph))));
}

WrittenNest with_narrow_values(WrittenNest nest) {
  for (WrittenStage& written : nest.stages) {
    written.stage.body = narrow_values(written.stage.body);
  }
  return nest;
}

std::vector<std::string> names_of_outputs(const Graph& graph) {
  std::vector<std::string> names;
  for (const OpPtr& op : graph.outputs()) names.push_back(result_of(*op).name);
  return names;
}

// Else a schedule that says nothing of any stage would be taken for every graph. Which operations
// a graph has between its arguments and its outputs is for rewrites and fusion to choose.
void check_is_of(const Graph& graph, const Schedule& schedule) {
  const std::vector<std::string> own = names_of_outputs(graph);
  const std::vector<std::string> others = names_of_outputs(schedule.graph());
  if (std::is_permutation(own.begin(), own.end(), others.begin(), others.end())) return;
  throw ScheduleError(fmt::format(
      "lower: expected a schedule of a graph with {} {}, got one of a graph with {}",
      own.size() == 1 ? "output" : "outputs", fmt::join(own, ", "), fmt::join(others, ", ")));
}

NestPlan plan_nest(const Graph& graph, const Schedule& schedule) {
  check_is_of(graph, schedule);
  const ScheduleLoops loops = replay(graph, schedule);  // every directive names what is there
  WrittenNest written = apply_structure(stages_of(graph), schedule, loops);
  // Once what is computed inline is part of its readers.
  return apply_directives(merge_fused_axes(with_narrow_values(std::move(written)), loops.after),
                          loops.after);
}

// Arguments, then constants, then internal ones.
NamedList<Buffer> buffers_of(const NestPlan& plan) {
  std::vector<Buffer> all = plan.buffers;
  for (const ScheduledStage& stage : plan.stages) {
    if (stage.is_output) continue;
    Shape domain;
    for (const Axis& axis : stage.stage.axes) domain.push_back(axis.extent());
    all.push_back({stage.stage.name, stage.stage.dtype, BufferRole::internal, domain, nullptr});
  }
  NamedList<Buffer> ordered;
  for (BufferRole role :
       {BufferRole::input, BufferRole::output, BufferRole::constant, BufferRole::internal}) {
    for (const Buffer& buffer : all) {
      const bool weight = buffer.role == BufferRole::weight && role == BufferRole::input;
      if (buffer.role == role || weight) ordered.push_back(buffer);
    }
  }
  return ordered;
}

LoopNest nest_of(const NestPlan& plan) {
  std::vector<StageRegion> regions = infer_regions(plan);
  std::vector<StageStorage> storage = infer_storage(plan, regions);
  check_growth(plan, regions, storage);
  check_outputs(plan, regions, storage);
  const auto tree = [&] { return join_loops(build_tree(plan, regions, storage), plan, regions); };
  NodePtr root = tree();
  if (fit_stack(*root, plan, &storage)) root = tree();

  LoopNest nest;
  nest.name = plan.name;
  nest.sizes = plan.sizes;
  nest.buffers = buffers_of(plan);
  nest.root = std::move(root);
  nest.tile_grids = tile_grids(plan, regions);
  for (StageRegion& region : regions) nest.stages.push_back(std::move(region.stage));
  nest.packs = plan.packs;
  return nest;
}

// The nest of a message, as the directives leave it: its expressions are simplified, its loops
// whole. Nothing: what is stored as a whole without any directive is more than memory may have.
std::optional<LoopNest> nest_before(const Graph& graph, const Schedule& schedule,
                                    const ScheduleRefusal& refusal) {
  const std::vector<Schedule> candidates = schedules_before(schedule, refusal);
  for (const Schedule& candidate : candidates) {
    try {
      return simplify_nest(nest_of(plan_nest(graph, candidate)));
    } catch (const Error&) {  // another directive is illegal too; its turn comes
      continue;
    }
  }
  return std::nullopt;
}

}  // namespace

LoopNest make_nest(const Graph& graph, const Schedule& schedule) {
  try {
    const NestPlan plan = plan_nest(graph, schedule);
    LoopNest nest = nest_of(plan);
    check_loop_groups(graph, plan);
    return nest;
  } catch (const ScheduleRefusal& refusal) {
    throw explain(refusal, nest_before(graph, schedule, refusal));
  }
}

}  // namespace emulsion
