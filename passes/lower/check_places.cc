#include <algorithm>
#include <utility>

#include "dsl/error.h"
#include "dsl/nearest_name.h"
#include "passes/lower/refusal.h"
#include "passes/lower/stage_plan.h"
#include "passes/nest/read_indices.h"

namespace emulsion {
namespace {

// The directive that says this place.
std::string at_loop(DirectiveKind kind, const NestPlan& nest, const LoopLevel& level) {
  return fmt::format("{}({}, {})", to_string(kind), nest.name_of(level.stage),
                     nest.loop(level).name);
}

// No loop that is a vector's or a tile's may be around a place: of `loops`, those up to `level`.
void check_outside_vectors(const NestPlan& nest, const std::string& name, const Directive& d,
                           const std::vector<ScheduledLoop>& loops, const LoopLevel& level) {
  for (size_t i = 0; i <= level.loop; ++i) {
    const ScheduledLoop& outer = loops[i];
    const std::string legal = i > 0 ? at_loop(d.kind, nest, {level.stage, i - 1})
                              : d.kind == DirectiveKind::compute_at ? "compute_root()"
                                                                    : "store_root()";
    if (outer.kind == LoopKind::vectorized) {
      refuse(name, d,
             fmt::format("expected a loop outside the vectorized loop {} of {}, got {}; legal: {}",
                         outer.name, d.target, d.axes[0], legal));
    }
    if (outer.kind == LoopKind::tile) {
      refuse(name, d,
             fmt::format("expected a loop outside the tile of {}, which is one uOp from {} on, got "
                         "{}; legal: {}",
                         d.target, outer.name, d.axes[0], legal));
    }
  }
}

void check_loop(const NestPlan& nest, const std::string& name, const Directive& d,
                const LoopLevel& level) {
  const ScheduledStage& target = nest.stages[level.stage];
  check_outside_vectors(nest, name, d, target.loops, level);
  for (size_t i = 0; i < target.specialized_loops.size(); ++i) {
    if (!keeps_loops(target, i, level.loop + 1)) {
      refuse(
          name, d,
          fmt::format("expected a loop that {} has in every case, inside the same loops, got {}, "
                      "which specialize({}) changes; legal: compute_root()",
                      d.target, d.axes[0], to_string(target.stage.specializations[i].condition)));
    }
    check_outside_vectors(nest, name, d, target.specialized_loops[i], level);
  }
}

// Whether `reader` could be computed inline instead, and then nothing but `target` would read for
// it: what it has by itself is a value of each point.
bool may_be_inline(const ScheduledStage& reader, StageId target) {
  return !reader.is_output && !reader.stage.is_reduction() && reader.directives.empty() &&
         reader.readers == std::vector<StageId>{target};
}

// Every reader of a stage must be inside the loop where the stage is computed.
void check_place(const NestPlan& nest, StageId id) {
  const ScheduledStage& plan = nest.stages[id];
  if (!plan.compute_at) return;
  const Directive d = plan.source_directive(DirectiveKind::compute_at);
  const auto& [target, loop] = *plan.compute_at;
  check_loop(nest, plan.stage.name, d, *plan.compute_at);
  if (target < id) {
    refuse(plan.stage.name, d,
           fmt::format("expected an operation that needs {}, got {}, which comes before it; legal: "
                       "compute_root()",
                       plan.stage.name, d.target));
  }
  if (plan.kept_whole) return;
  for (StageId reader : plan.readers) {
    if (reader == target) continue;
    const std::optional<size_t> around = loop_around(nest, reader, target);
    if (around >= loop) continue;
    const std::string& name = nest.name_of(reader);
    refuse(plan.stage.name, d,
           fmt::format("expected a loop around everything that reads {}, got {}, which is not "
                       "around {}; legal: {}{}",
                       plan.stage.name, nest.variable(*plan.compute_at), name,
                       around ? at_loop(d.kind, nest, {target, *around}) : "compute_root()",
                       may_be_inline(nest.stages[reader], target)
                           ? fmt::format(", or {}.compute_inline()", name)
                           : ""));
  }
}

std::string loops_text(const NestPlan& nest, const std::vector<LoopLevel>& loops) {
  std::vector<std::string> variables;
  variables.reserve(loops.size());
  for (const LoopLevel& level : loops) variables.push_back(nest.variable(level));
  return joined(variables);
}

// What a window keeps follows from the loops around it and from those of its readers: there may be
// only one case of each.
void check_kept_in_one_case(const NestPlan& nest, StageId id, const Directive& d,
                            const std::vector<LoopLevel>& around) {
  const std::string& name = nest.name_of(id);
  const auto refuse_cases = [&](StageId other) {
    if (nest.stages[other].specialized_loops.empty()) return;
    refuse(name, d,
           fmt::format("expected operations without specialize where storage is kept, got {}; "
                       "legal: store it where it is computed",
                       nest.name_of(other)));
  };
  refuse_cases(id);
  for (const LoopLevel& level : around) refuse_cases(level.stage);
  for (StageId reader : nest.stages[id].readers) refuse_cases(reader);
}

// Storage must be around the place where its values are computed, and no loop in between may run
// its iterations at once: they would share what they write.
void check_store(const NestPlan& nest, StageId id) {
  const ScheduledStage& plan = nest.stages[id];
  if (!plan.outlives_compute_loop() || plan.kept_whole) return;
  const Directive d = plan.source_storage_directive();
  const std::vector<LoopLevel> around = loops_around(nest, id);
  const std::string place = nest.variable(*plan.compute_at);
  if (!plan.store_root) {
    check_loop(nest, plan.stage.name, d, *plan.store_at);
    if (!position_of(around, *plan.store_at)) {
      refuse(plan.stage.name, d,
             fmt::format("expected a loop around {}, where it is computed ({}), got {}; legal: {}",
                         place, loops_text(nest, around), nest.variable(*plan.store_at),
                         at_loop(d.kind, nest, *plan.compute_at)));
    }
  }
  check_kept_in_one_case(nest, id, d, around);
  if (plan.compute_with || !plan.sharing.empty()) {
    refuse(plan.stage.name, d,
           "expected an operation that shares no loops (compute_with), got storage that is kept; "
           "legal: store it where it is computed");
  }
  for (size_t i = loops_outside_storage(plan, around); i < around.size(); ++i) {
    if (nest.loop(around[i]).kind != LoopKind::parallel) continue;
    refuse(plan.stage.name, d,
           fmt::format("expected no parallel loop between the storage and {}, where it is "
                       "computed, got {}: its iterations would share what they write; legal: "
                       "{} or an inner loop",
                       place, nest.variable(around[i]),
                       at_loop(DirectiveKind::store_at, nest, around[i])));
  }
}

void check_hoist(const NestPlan& nest, StageId id) {
  const ScheduledStage& plan = nest.stages[id];
  if (!plan.hoist_at) return;
  const Directive d = plan.source_directive(DirectiveKind::hoist_storage);
  const std::vector<LoopLevel> around = loops_around(nest, id);
  const auto place = position_of(around, *plan.hoist_at);
  const size_t outside = loops_outside_storage(plan, around);
  if (!place || *place + 1 > outside) {
    const std::vector<LoopLevel> legal(around.begin(),
                                       around.begin() + static_cast<std::ptrdiff_t>(outside));
    refuse(plan.stage.name, d,
           fmt::format("expected a loop around its storage ({}), got {}; legal: {}",
                       legal.empty() ? "none: it is at the root" : loops_text(nest, legal),
                       nest.variable(*plan.hoist_at),
                       legal.empty() ? "no hoist_storage" : at_loop(d.kind, nest, legal.back())));
  }
  if (nest.stages[plan.hoist_at->stage].stage.is_reduction() &&
      !nest.loop(*plan.hoist_at).is_reduction) {
    refuse(plan.stage.name, d,
           fmt::format("expected a loop of one nest, got {}, a loop of the start value and of "
                       "the update; legal: a loop of a reduction axis, or one around {}",
                       nest.variable(*plan.hoist_at), d.target));
  }
  for (size_t i = *place + 1; i < outside; ++i) {
    if (nest.loop(around[i]).kind != LoopKind::parallel) continue;
    refuse(plan.stage.name, d,
           fmt::format("expected no parallel loop between the allocation and the storage, got {0}: "
                       "its iterations would share the memory; legal: {0} or an inner loop",
                       nest.variable(around[i])));
  }
}

// The loop that the directive of that kind names, when the stage has one: both are there, unless
// the other operation is computed inline (schedule_axes.h).
std::optional<LoopLevel> find_place(const LoopedNest& nest, StageId id, DirectiveKind kind) {
  const Directive* d = nest.stages[id].find_directive(kind);
  if (!d) return std::nullopt;
  const std::string& name = nest.name_of(id);
  const std::optional<StageId> target = nest.find(d->target);
  if (!target) {
    std::vector<std::string> others = stage_names(nest.stages);
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(id));
    refuse(name, *d, expected_name("another operation", others, d->target));
  }
  return LoopLevel{*target, position_of(nest.stages[*target].loops, d->axes[0]).value()};
}

// What store_in_output names.
std::optional<StageId> named_output(const LoopedNest& nest, StageId id) {
  const Directive* d = nest.stages[id].find_directive(DirectiveKind::store_in_output);
  return d ? nest.find(d->target) : std::nullopt;
}

// The output that store_in_output names, or what is stored in one itself.
std::optional<StageId> find_output(const LoopedNest& nest, StageId id) {
  const Directive* d = nest.stages[id].find_directive(DirectiveKind::store_in_output);
  if (!d) return std::nullopt;
  const std::optional<StageId> target = named_output(nest, id);
  std::optional<StageId> last = target;
  for (size_t i = 0; last && !nest.stages[*last].is_output && i < nest.stages.size(); ++i) {
    last = named_output(nest, *last);
  }
  if (last && nest.stages[*last].is_output) return target;
  std::vector<std::string> outputs;
  for (const LoopedStage& plan : nest.stages) {
    if (plan.is_output) outputs.push_back(plan.stage.name);
  }
  refuse(nest.name_of(id), *d, expected_name("an output", outputs, d->target));
}

// The loops that compute_with names are the same ones of both stages; of a stage and what it reads,
// of which the loops around may have other names, only the named one.
std::optional<LoopLevel> find_shared_loop(const LoopedNest& nest, StageId id) {
  const LoopedStage& plan = nest.stages[id];
  const Directive* d = plan.find_directive(DirectiveKind::compute_with);
  if (!d) return std::nullopt;
  const std::optional<StageId> leader = nest.find(d->target);
  if (!leader) {  // it is computed inline
    refuse(plan.stage.name, *d,
           fmt::format("expected another operation with loops, got {}; legal: {}", d->target,
                       joined(stage_names(nest.stages))));
  }
  // From the outermost to the one named; all when that one is not there.
  auto names_to = [&](const LoopedStage& stage) {
    std::vector<std::string> names = names_of(stage.loops);
    const std::optional<size_t> last = position_of(stage.loops, d->axes[0]);
    if (last) names.resize(*last + 1);
    return names;
  };
  const std::vector<std::string> mine = names_to(plan), theirs = names_to(nest.stages[*leader]);
  const bool is_read = reads(plan.stage.body, nest.name_of(*leader));
  const bool same = is_read && mine.size() == theirs.size() && !mine.empty()
                        ? mine.back() == theirs.back()
                        : mine == theirs;
  if (!same || mine.empty() || mine.back() != d->axes[0]) {
    refuse(plan.stage.name, *d,
           fmt::format("expected the same loops from the outermost to {}, got {} of {} and {} of "
                       "{}; legal: split, name and reorder the loops of one as those of the other",
                       d->axes[0], joined(mine), plan.stage.name, joined(theirs), d->target));
  }
  return LoopLevel{*leader, mine.size() - 1};
}

}  // namespace

std::optional<size_t> loop_around(const NestPlan& nest, StageId id, StageId consumer) {
  while (const std::optional<LoopLevel>& at = nest.stages[id].compute_at) {
    if (at->stage == consumer) return at->loop;
    if (at->stage <= id) break;  // refused when its own place is checked
    id = at->stage;
  }
  return std::nullopt;
}

bool keeps_loops(const ScheduledStage& plan, size_t specialization, size_t count) {
  std::vector<std::string> around = names_of(plan.loops);
  around.resize(count);
  const std::vector<std::string> loops = names_of(plan.specialized_loops[specialization]);
  if (loops.size() < around.size() || !std::equal(around.begin(), around.end(), loops.begin())) {
    return false;
  }
  const std::vector<LoopTransform>& all = plan.stage.specializations[specialization].transforms;
  return std::none_of(
      all.begin() + static_cast<std::ptrdiff_t>(plan.stage.transforms.size()), all.end(),
      [&](const LoopTransform& t) { return std::count(around.begin(), around.end(), t.axis) > 0; });
}

std::string loops_outside(const ScheduledStage& plan, size_t loop, const std::string& leader) {
  if (loop == 0) return "loops of its own";
  return fmt::format("compute_with({}, {})", leader, plan.loops[loop - 1].name);
}

std::vector<LoopLevel> loops_around(const NestPlan& nest, StageId id) {
  std::vector<LoopLevel> loops;  // innermost first, then turned round
  for (auto at = nest.stages[id].compute_at; at; at = nest.stages[at->stage].compute_at) {
    for (size_t i = at->loop + 1; i-- > 0;) loops.push_back({at->stage, i});
  }
  std::reverse(loops.begin(), loops.end());
  return loops;
}

std::optional<size_t> position_of(const std::vector<LoopLevel>& around, const LoopLevel& level) {
  const auto found = std::find(around.begin(), around.end(), level);
  return found == around.end() ? std::nullopt : std::optional<size_t>(found - around.begin());
}

size_t loops_outside_storage(const ScheduledStage& plan, const std::vector<LoopLevel>& around) {
  if (plan.store_root) return 0;
  if (!plan.outlives_compute_loop()) return around.size();
  return position_of(around, *plan.store_at).value() + 1;
}

std::vector<StagePlaces> find_places(const LoopedNest& nest) {
  std::vector<StagePlaces> all;
  for (StageId id = 0; id < nest.stages.size(); ++id) {
    StagePlaces places;
    places.compute_at = find_place(nest, id, DirectiveKind::compute_at);
    places.store_at = find_place(nest, id, DirectiveKind::store_at);
    places.hoist_at = find_place(nest, id, DirectiveKind::hoist_storage);
    const std::optional<LoopLevel> shared = find_shared_loop(nest, id);
    const bool is_read = shared && reads(nest.stages[id].stage.body, nest.name_of(shared->stage));
    (is_read ? places.joins : places.compute_with) = shared;
    places.in_output = find_output(nest, id);
    all.push_back(places);
  }
  return all;
}

void check_places(const NestPlan& nest) {
  for (StageId id = 0; id < nest.stages.size(); ++id) check_place(nest, id);
  for (StageId id = 0; id < nest.stages.size(); ++id) {
    check_store(nest, id);
    check_hoist(nest, id);
  }
}

}  // namespace emulsion
