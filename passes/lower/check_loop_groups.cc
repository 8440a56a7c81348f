#include "passes/lower/check_loop_groups.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "dsl/error.h"

namespace emulsion {
namespace {

// The stages that a group has before its last one, those outside of others first. What is computed
// inline is no stage.
std::vector<StageId> stages_before_last(const LoopGroup& group, const NestPlan& nest) {
  std::vector<StageId> stages;
  const auto add = [&](const OpPtr& op) {
    if (const std::optional<StageId> id = nest.find(op->name)) stages.push_back(*id);
  };
  for (const OpPtr& op : group.members) {
    if (op == group.members.back()) continue;
    if (op->kind == OpKind::compute) add(op);
    for (const OpPtr& member : op->members) add(member);
  }
  std::stable_sort(stages.begin(), stages.end(), [&](StageId a, StageId b) {
    return loops_around(nest, a).size() < loops_around(nest, b).size();
  });
  return stages;
}

// The loops around the memory of a stage.
std::vector<LoopLevel> loops_around_memory(const NestPlan& nest, StageId id) {
  const ScheduledStage& plan = nest.stages[id];
  std::vector<LoopLevel> around = loops_around(nest, id);
  const size_t outside = plan.hoist_at ? position_of(around, *plan.hoist_at).value() + 1
                                       : loops_outside_storage(plan, around);
  around.resize(outside, {});
  return around;
}

// Whether a loop is one of the stage, or of what it reads and has joined to its own loops; or of
// what is computed in its memory, in its stead.
bool is_loop_of(const NestPlan& nest, const LoopLevel& level, StageId stage) {
  const std::optional<LoopLevel>& joined = nest.stages[stage].joins;
  return level.stage == stage || (joined && joined->stage == level.stage) ||
         nest.stages[level.stage].in_output == stage;
}

bool is_stored_inside(const NestPlan& nest, StageId id, std::optional<StageId> last) {
  const std::vector<LoopLevel> around =
      nest.stages[id].kept_whole ? loops_around(nest, id) : loops_around_memory(nest, id);
  return last && std::any_of(around.begin(), around.end(),
                             [&](LoopLevel at) { return is_loop_of(nest, at, *last); });
}

// Whether run-time sizes choose between it and one that is: they are together where that pays.
bool has_alternative_inside(const NestPlan& nest, StageId id, std::optional<StageId> last) {
  for (StageId other = 0; other < nest.stages.size(); ++other) {
    const bool is_one = nest.stages[other].alternative_of == nest.name_of(id);
    if (is_one && is_stored_inside(nest, other, last)) return true;
  }
  return false;
}

}  // namespace

void check_loop_groups(const Graph& graph, const NestPlan& nest) {
  for (const LoopGroup& group : graph.loop_groups()) {
    const std::string& name = group.members.back()->name;
    const std::optional<StageId> last = nest.find(name);
    for (StageId id : stages_before_last(group, nest)) {
      if (is_stored_inside(nest, id, last) || has_alternative_inside(nest, id, last)) continue;
      fail(
          "lower: expected {} to be stored in the loops of {}, with which the graph fuses it, got "
          "storage outside of them; legal: a schedule that computes it there, or the graph without "
          "its loop groups, as unfuse gives it",
          nest.name_of(id), name);
    }
  }
}

}  // namespace emulsion
